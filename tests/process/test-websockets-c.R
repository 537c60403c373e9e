# WebSockets whose handlers are in C, in every way of starting: what they are told and can do, and what happens to their
# connections when their process ends.

talk <- function(server, name = "Ann", ...) {
  client <- ws(server, paste0("/c/talk/", name), ...)
  expect(startsWith(ws_next(client), paste("hello", name)), "no hello")
  client
}

test_every_worker("a handler in C hears of a connect, of messages in order, and of the close", function(start) {
  server <- start(c_app())
  client <- ws(server, "/c/talk/a%20b", "Sec-WebSocket-Protocol: v1")
  expect(client$fields[["sec-websocket-protocol"]] == "v1", "another protocol")
  expect(ws_next(client) == "hello a b with v1", "another hello")
  sent <- list("x", "h\u00e9\u20ac", as.raw(0:255), raw(), strrep("x", 70000), raw(2e5))
  for (x in sent) ws_send(client, x)
  for (x in sent) {
    got <- ws_next(client)
    expect(identical(got, x), "another message of ", length(x), " came back")
  }
  expect(ws_ask(client, "count") == "7", "another count")
  expect(ws_ask(client, "data") == "a gift", "another `data`")
  expect(ws_ask(client, "invalid") == "4 4 4 4 4 4 4 1 ", "other codes: ", ws_ask(client, "invalid"))
  # it goes on after what goes wrong, which is logged
  ws_send(client, c("return", "throw"))
  expect(ws_ask(client, "still") == "still", "it does not go on")
  expect(logged(server, "MESSAGE /c/talk/.*it returned 7") && logged(server, "it threw a bad word"), "not logged")
  expect(ws_leave(client, 4001, "why") == 4001, "no close")
  expect(noted_line(server, "^closed a b 4001 why after 12 code 1$"), "the close: ", toString(notes(server)))
  client <- talk(server)
  expect(identical(ws_ask(client, "close 4002"), list(code = 4002, reason = "as you wish")), "another close")
  expect(noted_line(server, "^closed Ann 4002 as you wish after 1 code 1$"), "the close: ", toString(notes(server)))
})

test_every_worker("a handler in C refuses clients, in its own words", function(start) {
  server <- start(c_app())
  refused <- function(todo) ws_open(server, "/c/talk/x", paste("X-Do:", todo))
  answer <- refused("respond")
  expect(answer$status == 401L && answer$fields[["x-why"]] == "so", "another answer: ", answer$status)
  expect(refused("fail")$status == 403L && refused("return")$status == 500L, "another status")
  expect(refused("throw")$status == 500L, "another status")
  expect(refused("later")$status == 101L, "it was put off")
  expect(logged(server, "it threw no more seats"), "not logged")
  first <- ws(server, "/c/few")
  expect(ws_next(first) == "hello", "no hello")
  expect(identical(ws_next(ws(server, "/c/few")), list(code = 1013, reason = "server at capacity")), "not full")
  expect(ws_leave(first) == 1000, "no close")
  expect(within(function() identical(ws_next(ws(server, "/c/few")), "hello")), "its place is not free again")
  expect(ws_code(ws(server, "/c/idle")) == 1001L, "an idle one goes on")
  expect(ws_ask(talk(server), "there") == "there", "nobody is there any more")
})

test_every_worker("rooms are those of R, and threads send when they like", function(start) {
  server <- start(c_app())
  clients <- lapply(c("Ann", "Bob", "Cem"), function(name) talk(server, name))
  for (client in clients) {
    ws_send(client, "join room")
    expect(ws_ask(client, "in") == "in", "not in the room")
  }
  tell <- function(text) ask(server, "/c/room", "-H", "Content-Type: text/plain", "-d", text)$body
  members <- json(ask(server, "/c/room")$body)
  expect(setequal(members$name, c("Ann", "Bob", "Cem")), "others: ", toString(members$name))
  ws_send(clients[[1]], "tell all of you")
  for (client in clients) expect(ws_next(client) == "all of you", "it was not told")
  ws_send(clients[[2]], "others hi")
  expect(ws_next(clients[[1]]) == "hi" && ws_next(clients[[3]]) == "hi", "the others were not told")
  expect(ws_ask(clients[[2]], "x") == "x", "it was told, too")
  expect(tell("from R") == "{\"told\":3}", "R tells others")
  for (client in clients) expect(ws_next(client) == "from R", "R has not told it")
  ws_send(clients[[3]], "leave room")
  expect(ws_ask(clients[[3]], "x") == "x", "it is gone")
  expect(tell("again") == "{\"told\":2}", "it is in the room still")
  # a thread
  client <- clients[[3]]
  ws_send(client, "thread")
  for (i in 0:2) expect(ws_next(client) == paste("tick", i), "no tick")
  ws_leave(client)
  expect(noted_line(server, "^a thread was told 1$"), "it was told otherwise: ", toString(notes(server)))
  # how many a handler in C has reached, nobody has asked
  expect(!any(grepl(" ERROR ", server$log())), paste(server$log(), collapse = "\n"))
})

test_every_worker("a handler that was written for drogonR", function(start) {
  server <- start(c_app())
  client <- ws(server, "/c/old")
  expect(ws_next(client) == "hello", "no hello")
  for (x in list("x", as.raw(0:255), strrep("y", 1e5))) expect(identical(ws_ask(client, x), x), "another echo")
  ws_send(client, "throw")
  expect(ws_ask(client, "still") == "still", "it does not go on")
  expect(logged(server, "it threw a bad word"), "not logged")
  ws_send(client, "thread")
  expect(ws_next(client) == "tick", "no tick")
  ws_send(client, "close")
  expect(ws_code(client) == 1000L, "another code")
  expect(noted_line(server, "^ws closed -1$"), "the close: ", toString(notes(server)))
  expect(noted_line(server, "^a ws thread was told -1$"), "the thread: ", toString(notes(server)))
})

test("a connection with a handler in C is of one worker, and ends with it", function() {
  server <- serve(c_app(), workers = 2)
  clients <- lapply(1:8, function(i) talk(server))
  pids <- vapply(clients, function(client) as.integer(ws_ask(client, "pid")), 1L)
  for (i in seq_along(clients)) expect(ws_ask(clients[[i]], "pid") == pids[[i]], "it has moved")
  ws_send(clients[[1]], "crash")
  expect(ws_code(clients[[1]]) == 1011L, "another code of the one that crashed")
  of_it <- pids == pids[[1]]
  for (i in which(of_it)[-1L]) {
    expect(identical(ws_next(clients[[i]])$code, 1012), "one of its process goes on")
  }
  for (i in which(!of_it)) expect(ws_ask(clients[[i]], "x") == "x", "one of another process has ended")
  # a new worker
  expect(ws_ask(talk(server), "x") == "x", "no new connection")
  # one that is slow holds up what is beside it, and no other worker's
  slow <- talk(server)
  ws_send(slow, "sleep 300")
  expect(ws_ask(slow, "x") == "slept" && ws_next(slow) == "x", "another order")
})

test("a reload ends them with a code to come back, in the session they go on", function() {
  server <- serve(c_app(), workers = 2)
  clients <- lapply(1:4, function(i) talk(server))
  send_signal(server$pid, tools::SIGHUP)
  for (client in clients) expect(identical(ws_next(client)$code, 1012), "another code")
  expect(ws_ask(talk(server), "x") == "x", "no new connection")
})

test("clients that vanish at any time leave nothing with a handler in C", function() {
  server <- serve(c_app(), workers = 2)
  set.seed(4)
  for (i in 1:150) {
    con <- socketConnection("127.0.0.1", server$port, open = "r+b", blocking = TRUE, timeout = 60)
    bytes <- c(charToRaw(paste0(
      "GET /c/talk/x HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n",
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )), frame_bytes(1L, charToRaw("join room")))
    writeBin(bytes[seq_len(sample(length(bytes), 1))], con)
    # one of three stays for a moment
    if (i %% 3 == 0) let_pass(0.005)
    close(con)
  }
  expect(within(function() ask(server, "/c/room")$body == "[]"), "somebody is in the room")
  # each that was taken has heard of its close
  expect(within(function() {
    hello <- talk(server)
    ws_leave(hello)
    TRUE
  }), "nobody is there any more")
  expect(!any(grepl("WARN|ERROR", server$log())), "the log: ", toString(grep("WARN|ERROR", server$log(), value = TRUE)))
})
