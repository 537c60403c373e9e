# Handlers that return promises, in every way of starting: they hold no worker, and what happens to other requests
# happens to theirs: deadlines, clients that leave, errors, the end of a worker or of the server.

async_app <- file.path(here, "async-app.R")

# The status of each answer, after waiting for all.
statuses_of <- function(asked) vapply(asked, function(answer) answer()$status, "")

test_every_way("200 promises of a second are under way at once, and each answers its own request", function(start) {
  server <- start(async_app, max_streams = 250L)
  expect(ask(server, "/text")$body == "text", "no answer")
  account <- load(server, "/later/1000/{n}", echo = TRUE, connections = 200, requests = 200)
  expect_account(account)
  # one after the other they would take 200 s
  expect(account[["s200"]] == 200 && account[["max_us"]] < 20e6, attr(account, "line"))
  folder <- tempfile("answers-")
  dir.create(folder)
  begun <- Sys.time()
  client <- start_client("curl", c("-s", "--parallel", "--parallel-immediate", "--parallel-max", "200",
    "--http2-prior-knowledge", "--max-time", "30", "-o", file.path(folder, "#1"), paste0(server$url,
    "/later/1000/[1-200]")))
  client$wait(40000)
  took <- as.numeric(Sys.time() - begun, units = "secs")
  answers <- vapply(1:200, function(n) readChar(file.path(folder, n), 10L), "")
  expect(identical(answers, as.character(1:200)), "HTTP/2: answers to other requests")
  expect(took < 20, "HTTP/2: they took ", took, " s")
  # all on one connection, which not every curl can
  if (nzchar(Sys.which("h2load"))) {
    said <- processx::run("h2load", c("-n", "200", "-c", "1", "-m", "200", paste0(server$url, "/later/1000/1")))$stdout
    expect(grepl("finished in [0-9]\\.", said) && grepl("200 2xx", said), "HTTP/2, one connection: ", said)
  }
})

test_every_way("promises hold up no plain request, and a worker that waits for them sleeps", function(start) {
  server <- start(async_app)
  pid <- as.integer(ask(server, "/pid")$body)
  asked <- lapply(1:30, function(n) ask_later(server, paste0("/later/4000/", n, "?q=", n)))
  expect(within(function() noted(server, "begun") == 30L), "they were not all begun")
  before <- cpu_time(pid)
  took <- vapply(1:5, function(i) {
    Sys.sleep(0.2)
    answer <- ask(server, "/pid")
    expect(answer$body == pid, "another worker")
    answer$seconds
  }, 0)
  expect(max(took) < 2, "a request took ", max(took), " s")
  expect(noted(server, "ended") == 0L, "they ended before")
  expect(cpu_time(pid) - before < 0.5, "the worker spins")
  answers <- lapply(asked, function(answer) answer())
  expect(identical(vapply(answers, `[[`, "", "body"), as.character(1:30)), "answers to other requests")
  expect(identical(vapply(answers, field, "", "x-query"), as.character(1:30)), "another request's query")
})

test_every_way("requests have their turn between callbacks that are due at the same moment", function(start) {
  server <- start(async_app)
  ask(server, "/crowd/200")
  expect(within(function() noted(server, "begun") > 0L), "none was called")
  answers <- lapply(1:3, function(i) ask(server, "/text")$body)
  expect(all(answers == "text"), "other answers")
  expect(noted(server, "begun") < 200L, "they were all called before")
  expect(within(function() noted(server, "begun") == 200L), "some are lost")
})

test_every_way("a promise reads its request's body after others were served", function(start) {
  server <- start(async_app)
  asked <- lapply(1:5, function(n) ask_later(server, "/body/500", "-d", paste("body", n)))
  for (i in 1:5) ask(server, "/text")
  expect(identical(vapply(asked, function(answer) answer()$body, ""), paste("body", 1:5)), "another body")
})

test_every_way("a client that leaves costs its own answer and no other", function(start) {
  server <- start(async_app)
  pid <- ask(server, "/pid")$body
  left <- open_stream(server, "/later/1000/left")
  stays <- ask_later(server, "/later/1500/stays")
  expect(within(function() noted(server, "begun") == 2L), "they were not begun")
  close(left)
  expect(stays()$body == "stays", "another answer")
  expect(noted(server, "ended") == 2L, "the promise was broken off")
  expect(ask(server, "/pid")$body == pid, "the worker was replaced")
})

test_every_way("a promise that is over its time gets 504, and harms no other", function(start) {
  server <- start(async_app)
  pid <- ask(server, "/pid")$body
  ask(server, "/later/10/first")
  stays <- ask_later(server, "/later/4000/stays")
  for (flag in c("--http1.1", "--http2-prior-knowledge")) {
    answer <- ask(server, "/impatient/2500", flag)
    expect(answer$status == "504" && answer$seconds < 2.4, flag, ": ", answer$status, " after ", answer$seconds)
  }
  expect(stays()$body == "stays", "another answer")
  expect(within(function() noted(server, "ended") == 4L), "the promises were broken off")
  expect(ask(server, "/pid")$body == pid, "the worker was replaced")
})

test_every_way("a promise that is rejected is answered and logged like a handler that fails", function(start) {
  server <- start(async_app)
  answer <- ask(server, "/reject/50")
  expect(answer$status == "500" && !grepl("on purpose", answer$body), answer$status, ": ", answer$body)
  expect(logged(server, "GET /reject/50 .*on purpose"), "the log does not say why")
  expect(ask(server, "/abort/50")$status == "409", "dr_abort() in a promise")
  answer <- ask(server, "/outer/reject/50")
  expect(answer$status == "500" && answer$body == "caught: on purpose", "dr_on_error(): ", answer$body)
  answer <- ask(server, "/outer/later/50")
  expect(answer$body == "later" && field(answer, "x-outer") == "yes", "middleware: ", answer$body)
  expect(ask(server, "/stream/50")$body == "xxxxx", "a promise of a stream")
})

test_every_way("a worker that is killed: requests of its promises get 502, others go to the next", function(start) {
  server <- start(async_app)
  pid <- as.integer(ask(server, "/pid")$body)
  asked <- lapply(1:4, function(n) ask_later(server, paste0("/later/5000/", n)))
  expect(within(function() noted(server, "begun") == 4L), "they were not begun")
  send_signal(pid, tools::SIGKILL)
  expect(all(statuses_of(asked) == "502"), "other statuses")
  expect(within(function() ask(server, "/later/50/next")$body == "next"), "nobody answers")
}, of = setdiff(names(starts), "the session"))

test_every_way("a reload and the server's end wait for promises under way", function(start) {
  server <- start(async_app)
  first <- ask_later(server, "/later/2000/first")
  expect(within(function() noted(server, "begun") == 1L), "it was not begun")
  send_signal(server$pid, 1L)
  expect(within(function() ask(server, "/later/10/new")$body == "new"), "the new app does not answer")
  expect(first()$body == "first", "the reload broke it off")
  second <- ask_later(server, "/later/1500/second")
  expect(within(function() sum(readLines(file.path(server$marks, "begun")) == "second") == 1L), "it was not begun")
  send_signal(server$pid, tools::SIGTERM)
  expect(second()$body == "second", "the end broke it off")
  expect(identical(exit_status(server), 0L), "status ", exit_status(server))
})

test_every_way("a promise that has no end keeps no worker from ending, once its time is over", function(start) {
  server <- start(async_app, timeout = 1)
  pid <- as.integer(ask(server, "/pid")$body)
  never <- ask_later(server, "/never")
  expect(within(function() noted(server, "begun") == 1L), "it was not begun")
  send_signal(server$pid, 1L)
  expect(never()$status == "504", "another status")
  expect(within(function() !is_alive(pid), 8), "the worker before stays")
  expect(ask(server, "/text")$body == "text", "nobody answers")
  expect(!any(grepl(paste0("worker ", pid, " .*killed"), server$log())), "it had to be killed")
}, of = setdiff(names(starts), "the session"))

test_every_way("max_async: more wait in the queue, without an error", function(start) {
  server <- start(async_app, max_async = 3L)
  asked <- lapply(1:12, function(i) ask_later(server, "/counted/300"))
  expect(all(statuses_of(asked) == "200"), "not all were answered")
  expect(ask(server, "/most")$body == "3", ask(server, "/most")$body, " were under way at once")
  # a promise whose client has left is under way as before
  never <- lapply(1:3, function(i) ask_later(server, "/never", wait = 1))
  expect(within(function() sum(readLines(file.path(server$marks, "begun")) == "never") == 3L), "they were not begun")
  waits <- ask_later(server, "/text", wait = 2)
  expect(waits()$status == "000", "it went beyond max_async")
})

test_every_way("max_async: a promise that is over its time gives its place back", function(start) {
  server <- start(async_app, max_async = 2L, timeout = 1)
  never <- lapply(1:2, function(i) ask_later(server, "/never"))
  expect(within(function() noted(server, "begun") == 2L), "they were not begun")
  Sys.sleep(0.5)
  answer <- ask(server, "/text")
  expect(answer$status == "200", "it got ", answer$status, " after ", answer$seconds, " s")
  expect(all(statuses_of(never) == "504"), "other statuses")
})

for (threads in 1:2) local({
  threads <- threads
  name <- paste0("promises under way take no place in the queue (", threads, " threads)")
  test_every_way(name, function(start) {
    server <- start(async_app, max_queue = 2L, threads = threads)
    asked <- list()
    for (n in 1:20) {
      asked[[n]] <- ask_later(server, paste0("/later/4000/", n))
      expect(within(function() noted(server, "begun") == n), "number ", n, " was not begun")
    }
    expect(ask(server, "/text")$status == "200", "a plain request is refused")
    expect(all(statuses_of(asked) == "200"), "not all were answered")
  }, of = c("the session", "drover serve"))
})

test_every_way("max_requests: a worker is replaced when its promises have ended", function(start) {
  server <- start(async_app, max_requests = 10L)
  account <- load(server, "/later/300/{n}", echo = TRUE, connections = 20, requests = 200)
  expect_account(account)
}, of = setdiff(names(starts), "the session"))

test_every_way("a thread of compiled code resolves a promise, and need not wait for another request", function(start) {
  server <- start(async_app)
  answer <- ask(server, "/thread/300")
  expect(answer$body == "by a thread" && answer$seconds < 3, answer$status, " after ", answer$seconds, " s")
})

test("a callback of a promise that takes its time holds up no request that another worker can take", function() {
  server <- serve(async_app, workers = "2-2")
  wait_for_workers(server, 2)
  slow <- ask_later(server, "/busy/3000")
  stays <- ask_later(server, "/later/3000/stays")
  expect(within(function() noted(server, "begun") == 2L), "it was not begun")
  took <- vapply(1:10, function(i) ask(server, "/text")$seconds, 0)
  expect(max(took) < 2, "a request took ", max(took), " s")
  expect(slow()$body == "busy" && stays()$body == "stays", "another answer")
})

test("a callback of a promise that does not return ends with its worker, once a request has waited in vain", function() {
  server <- serve(async_app, workers = "1-1", timeout = 1, kill_after = 0.5)
  wait_for_workers(server, 1)
  hangs <- ask_later(server, "/hang")
  expect(within(function() noted(server, "begun") == 1L), "it was not begun")
  expect(ask(server, "/text")$status %in% c("503", "504"), "it was answered")
  expect(hangs()$status == "504", "the promise: another status")
  expect(within(function() ask(server, "/text")$status == "200"), "nobody answers")
  expect(logged(server, "for a stream or a promise, did not return"), "the log does not say why")
})
