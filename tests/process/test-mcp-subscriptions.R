# Changes of resources, of which clients hear: those of the newer version by a stream that they ask for, older ones by
# that of their session. Neighbours: test-mcp.R; test-mcp-waiting.R, whose client this uses.

changing_app <- function() {
  write_app(c(
    "app <- dr_app()",
    "state <- dr_state('changes of a test')",
    "visits <- dr_mcp_resource('count://visits', function() format(state$get('visits', 0)), 'visits')",
    "other <- dr_mcp_resource('count://other', 'never', 'other')",
    "each <- dr_mcp_resource('count://of/{name}', function(name) name, 'each')",
    "visit <- dr_tool(function(uri) { n <- state$add('visits'); dr_mcp_updated(uri); n }, 'visit', 'Counts',",
    "  list(uri = dr_chr(default = 'count://visits')))",
    "dr_mcp(app, tools = list(visit), resources = list(visits, other, each))", "app"
  ))
}

NEWEST <- "2026-07-28"
newest_meta <- list(`io.modelcontextprotocol/protocolVersion` = NEWEST,
  `io.modelcontextprotocol/clientCapabilities` = structure(list(), names = character()))
newest_fields <- function(method) c("-H", paste("MCP-Protocol-Version:", NEWEST), "-H", paste("Mcp-Method:", method))

listening_to <- function(id, notifications) {
  list(jsonrpc = "2.0", id = id, method = "subscriptions/listen",
    params = list(notifications = notifications, `_meta` = newest_meta))
}

open_listening <- function(server, id, notifications) {
  body <- drover::dr_to_json(listening_to(id, notifications), auto_unbox = TRUE)
  open_events(newest_fields("subscriptions/listen"), "-H", "Accept: application/json, text/event-stream",
    "--json", body, paste0(server$url, "/mcp"))
}

uris_in <- function(events) {
  changes <- Filter(function(one) identical(one$method, "notifications/resources/updated"), events)
  vapply(changes, function(one) one$params$uri, "")
}

visit_by <- function(server, uri = "count://visits") tell(server, call_of("visit", list(uri = uri)))

test_every_worker("a client hears of what it follows, with the id of its stream, and of nothing else", function(start) {
  server <- start(changing_app())
  followed <- list("count://visits", "count://of/a%20b", "count://none")
  all <- open_listening(server, "s\"1", list(toolsListChanged = TRUE, resourceSubscriptions = followed))
  one <- open_listening(server, 2L, list(resourceSubscriptions = list("count://other")))
  none <- open_listening(server, 3L, structure(list(), names = character()))
  for (stream in list(all, one, none)) expect(within(function() length(stream$events()) == 1L), "no acknowledgement")
  expect(identical(all$events()[[1L]], list(
    jsonrpc = "2.0", method = "notifications/subscriptions/acknowledged",
    params = list(`_meta` = list(`io.modelcontextprotocol/subscriptionId` = "s\"1"),
      notifications = list(resourceSubscriptions = followed[1:2]))
  )), "another acknowledgement")
  expect(identical(none$events()[[1L]]$params$notifications, structure(list(), names = character())), "more than asked")
  visit_by(server)
  expect(within(function() identical(uris_in(all$events()), "count://visits")), "no change")
  expect(identical(all$events()[[2L]]$params[["_meta"]][[1L]], "s\"1"), "another id")
  visit_by(server, "count://of/a%20b")
  expect(within(function() identical(uris_in(all$events())[-1L], "count://of/a%20b")), "no second change")
  visit_by(server, "count://other")
  expect(within(function() length(one$events()) == 2L), "no change of the other one")
  expect(identical(one$events()[[2L]]$params[["_meta"]][[1L]], 2L), "another id")
  expect(length(all$events()) == 3L && length(none$events()) == 1L, "what was not asked for")
})

test("a client that wants to follow what cannot be followed is told so", function() {
  server <- serve(changing_app(), workers = 2)
  said <- function(notifications, accept = "application/json, text/event-stream") {
    answer <- do.call(tell, c(list(server, listening_to(1L, notifications), "-H", paste("Accept:", accept)),
      newest_fields("subscriptions/listen")))
    paste(answer$status, answer$json$error$code, answer$json$error$message)
  }
  expect(said("all") == "400 -32602 `params.notifications` must be an object", said("all"))
  wrong <- "400 -32602 `params.notifications.resourceSubscriptions` must be an array of at most 100 strings"
  for (uris in list("count://visits", list(1L), list(a = "b"), as.list(rep("count://visits", 101L)))) {
    expect(said(list(resourceSubscriptions = uris)) == wrong, said(list(resourceSubscriptions = uris)))
  }
  bare <- said(list(resourceSubscriptions = list()), "application/json")
  expect(bare == "400 -32600 a client that listens must accept text/event-stream", bare)
  # not one of the older versions
  old <- tell(server, list(jsonrpc = "2.0", id = 1L, method = "subscriptions/listen"))
  expect(identical(old$json$error$code, -32601L), old$body)
})

test_every_worker("an older client hears of what its session follows, from then on", function(start) {
  server <- start(changing_app())
  client <- greeted_client(server)
  follow <- function(uri, method = "resources/subscribe", who = client) {
    who$call(list(jsonrpc = "2.0", id = 1L, method = method, params = list(uri = uri)))$json
  }
  visit_by(server)
  expect(identical(follow("count://visits")$result, structure(list(), names = character())), "refused")
  # a change before the stream is there is not lost
  visit_by(server)
  stream <- open_events("-H", paste("Mcp-Session-Id:", client$session), "-H", "MCP-Protocol-Version: 2025-11-25",
    "-H", "Accept: text/event-stream", paste0(server$url, "/mcp"))
  expect(within(function() identical(uris_in(stream$events()), "count://visits")), "no change")
  expect(identical(stream$events()[[1L]],
    list(jsonrpc = "2.0", method = "notifications/resources/updated", params = list(uri = "count://visits"))), "another")
  follow("count://other")
  follow("count://visits", "resources/unsubscribe")
  visit_by(server)
  visit_by(server, "count://other")
  expect(within(function() length(stream$events()) == 2L), "no change of the other one")
  expect(identical(uris_in(stream$events())[[2L]], "count://other"), "one that is not followed any more")
  expect(identical(follow("count://none")$error$code, -32002L), "there is no such resource")
  expect(identical(follow(1L)$error$code, -32602L), "a number is no URI")
  nobody <- tell(server, list(jsonrpc = "2.0", id = 1L, method = "resources/subscribe",
    params = list(uri = "count://visits")))$json$error$message
  expect(grepl("^without the `Mcp-Session-Id`", nobody), nobody)
})

test("there is a stream by GET for sessions alone, and for pages of nobody else", function() {
  server <- serve(changing_app(), workers = 1)
  session <- greeted_client(server)$session
  status <- function(...) ask(server, "/mcp", ..., "-m", "1", "-i")
  for (fields in list(
    character(), c("-H", "Mcp-Session-Id: made-up"), c("-H", paste("Mcp-Session-Id:", session), "-H", "Accept: text/html"),
    c("-H", paste("Mcp-Session-Id:", session), "-H", paste("MCP-Protocol-Version:", NEWEST))
  )) {
    if (!any(grepl("^Accept", fields))) fields <- c(fields, "-H", "Accept: text/event-stream")
    answer <- do.call(status, as.list(fields))
    expect(grepl("^HTTP/1.1 405", answer$body) && grepl("allow: POST", answer$body, ignore.case = TRUE), answer$body)
  }
  evil <- status("-H", paste("Mcp-Session-Id:", session), "-H", "Accept: text/event-stream", "-H",
    "Origin: http://evil.example:8000", "-H", "Host: evil.example:8000")
  expect(grepl("^HTTP/1.1 403", evil$body), evil$body)
})

test("streams end when the app is loaded anew or their worker dies, and nothing is left of them", function() {
  server <- serve(changing_app(), workers = 2)
  listening <- function(id) {
    stream <- open_listening(server, id, list(resourceSubscriptions = list("count://visits")))
    expect(within(function() length(stream$events()) == 1L), "no acknowledgement")
    stream
  }
  before <- listening(1L)
  send_signal(server$pid, tools::SIGHUP)
  expect(within(function() !before$client$is_alive()), "the stream outlives its app")
  after <- listening(2L)
  for (worker in workers(server)) tools::pskill(worker, 9)
  expect(within(function() !after$client$is_alive()), "the stream outlives its worker")
  again <- listening(3L)
  visit_by(server)
  expect(within(function() identical(uris_in(again$events()), "count://visits")), "no change")
})

test_every_worker("a process has so many streams at a time, and places are free again when clients leave", function(start) {
  server <- start(changing_app())
  folder <- tempfile("streams-")
  dir.create(folder)
  body <- drover::dr_to_json(listening_to(1L, structure(list(), names = character())), auto_unbox = TRUE)
  crowd <- start_client("curl", c("-s", "-N", "-Z", "--parallel-immediate", "--parallel-max", "300", "-o",
    file.path(folder, "#1"), newest_fields("subscriptions/listen"), "-H", "Accept: application/json, text/event-stream",
    "--json", body, paste0(server$url, "/mcp?[1-260]")))
  said <- function() vapply(list.files(folder, full.names = TRUE), function(file) paste(readLines(file), collapse = ""), "")
  heard <- function(what) sum(grepl(what, said(), fixed = TRUE))
  expect(within(function() heard("acknowledged") == 256L && heard("too many clients wait") == 4L),
    heard("acknowledged"), " streams, ", heard("too many clients wait"), " refused")
  crowd$kill()
  expect(within(function() {
    one <- open_listening(server, 1L, structure(list(), names = character()))
    within(function() length(one$events()) == 1L)
    identical(one$events()[[1L]]$method, "notifications/subscriptions/acknowledged")
  }), "no place after the others have left")
})

test("a client of standard input hears of changes, and of the end of its stream", function() {
  server <- converse(changing_app(), "--workers", "2")
  heard <- function(method) Filter(function(one) identical(one$method, method), server$heard())
  expect_heard <- function(n, method) expect(within(function() length(heard(method)) == n), "no ", method)
  server$say(listening_to("s", list(resourceSubscriptions = list("count://visits"))))
  expect_heard(1L, "notifications/subscriptions/acknowledged")
  server$say(calling(1L, "visit"))
  expect_heard(1L, "notifications/resources/updated")
  # loaded anew: it is told, and asks again
  send_signal(server$pid, tools::SIGHUP)
  expect_heard(1L, "notifications/cancelled")
  expect(identical(heard("notifications/cancelled")[[1L]]$params$requestId, "s"), "of another one")
  server$say(listening_to("t", list(resourceSubscriptions = list("count://visits"))))
  expect_heard(2L, "notifications/subscriptions/acknowledged")
  server$say(cancelling("t"))
  never_answered(server, "t")
  # one that listens does not keep the program
  server$say(listening_to("u", list(resourceSubscriptions = list("count://visits"))))
  expect_heard(3L, "notifications/subscriptions/acknowledged")
  server$hang_up()
  expect(within(function() !server$process$is_alive()), "it waits for a stream without end")
})

test("an older client of standard input hears of what it follows, also after the app is loaded anew", function() {
  server <- converse(changing_app(), "--workers", "1")
  server$say(request_of("hello", "initialize", protocolVersion = "2025-11-25",
    capabilities = structure(list(), names = character()), clientInfo = list(name = "t", version = "1")))
  answer_to(server, "hello")
  server$say(request_of(1L, "resources/subscribe", uri = "count://visits"))
  answer_to(server, 1L)
  changes <- function() length(uris_in(server$heard()))
  server$say(calling(2L, "visit"))
  expect(within(function() changes() == 1L), "no change")
  send_signal(server$pid, tools::SIGHUP)
  expect(logged(server, "reloaded: "), "it was not loaded anew")
  before <- changes()
  server$say(calling(3L, "visit"))
  answer_to(server, 3L)
  expect(within(function() changes() > before), "no change after that")
  server$hang_up()
  expect(within(function() !server$process$is_alive()), "it waits for a stream without end")
})
