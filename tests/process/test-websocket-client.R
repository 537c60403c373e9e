# dr_ws_connect() in the workers of a server, whose connections are to another one.

relay_app <- function(feed, connect = "dr_on_worker_start(app, connect)") {
  write_app(c(
    "app <- dr_app()",
    "said <- character()",
    "client <- NULL",
    "connect <- function() {",
    sprintf("  client <<- dr_ws_connect(%s, reconnect = c(0.1, 1),", deparse(paste0(sub("http", "ws", feed$url), "/feed"))),
    "    on_open = function(client) dr_ws_client_send(client, paste('from', Sys.getpid())),",
    "    on_message = function(msg) {",
    "      if (msg == 'fail') stop('on purpose')",
    "      said <<- c(said, msg)",
    "      dr_ws_broadcast('all', msg)",
    "    }",
    "  )",
    "}",
    connect,
    "dr_ws(app, '/listen', function(conn, msg) NULL, on_connect = function(conn) dr_ws_join(conn, 'all'))",
    "dr_get(app, '/said', function(req) as.list(said))",
    "dr_get(app, '/pid', function(req) as.character(Sys.getpid()))",
    "dr_get(app, '/send/<msg>', function(req) dr_ws_client_send(client, req$params$msg))",
    "app"
  ))
}

feed_app <- function() {
  write_app(c(
    "app <- dr_app()",
    "dr_ws(app, '/feed', function(conn, msg) dr_ws_send(conn, msg),",
    "  on_connect = function(conn) dr_ws_join(conn, 'feed'))",
    "dr_get(app, '/tell/<msg>', function(req) dr_ws_broadcast('feed', req$params$msg))",
    "dr_get(app, '/who', function(req) nrow(dr_ws_members('feed')))",
    "app"
  ))
}

test_every_worker("a worker has a connection to another server, and tells its own clients what comes", function(start) {
  feed <- serve(feed_app(), workers = "1-1")
  # a session has no workers that could start
  in_session <- identical(start, starts[["the session"]])
  server <- start(relay_app(feed, if (in_session) "connect()" else "dr_on_worker_start(app, connect)"))
  said <- function() unlist(json(ask(server, "/said")$body))
  expect(within(function() length(said()) == 1L), "it has not connected: ", toString(said()))
  expect(said() == paste("from", ask(server, "/pid")$body), "another process: ", said())
  listener <- ws(server, "/listen")
  expect(ask(feed, "/tell/news")$body == "1", "another number of listeners")
  expect(identical(ws_next(listener), "news"), "its clients are not told")
  # a callback that fails is logged, and the connection goes on
  ask(feed, "/tell/fail")
  expect(logged(server, "ERROR a function of dr_ws_connect\\(\\) failed: on purpose"), "not logged")
  expect(ask(server, "/send/back")$body == "true", "it is not sent")
  expect(within(function() "back" %in% said()), "no echo: ", toString(said()))
  # plain requests wait for none of it: the connection stays as long as the server
  for (i in 1:5) expect(ask(server, "/pid")$status == "200", "a request is not answered")
  expect(ask(feed, "/who")$body == "1", "the connection has ended")
})

test("a connection of the app's file is not there in its forks, and one of a worker comes back", function() {
  feed <- serve(feed_app(), workers = "1-1")
  # without being asked, a worker would load the file when the connection is there by then
  server <- serve(relay_app(feed, "connect()"), workers = "1-1", start = "fork")
  wait_for_workers(server, 1)
  expect(ask(server, "/send/x")$body == "false", "it was sent")
  again <- serve(relay_app(feed), workers = "1-1")
  expect(within(function() grepl("from", ask(again, "/said")$body)), "it has not connected")
  # its worker dies: the next one connects by itself
  before <- as.integer(ask(again, "/pid")$body)
  send_signal(before, tools::SIGKILL)
  expect(within(function() grepl("from", ask(again, "/said")$body) && ask(again, "/pid")$body != before), "no new one")
  # and so does a connection, when its server is back
  port <- feed$port
  send_signal(feed$pid, tools::SIGTERM)
  expect(exit_status(feed) == 0L, "the other server goes on")
  expect(ask(again, "/send/meanwhile")$body == "true", "it does not wait")
  back <- serve(feed_app(), workers = "1-1", port = port)
  expect(within(function() grepl("meanwhile", ask(again, "/said")$body)), "it does not come back")
})
