# What the log says of limits that are reached and of workers that do not start.

test("the limit of open files lowers max_connections: the log says so at the start", function() {
  server <- serve(workers = 1, wrapper = c("sh", "-c", "ulimit -n 200; exec \"$@\"", "sh"))
  expect(logged(server, "at most 136 connections at a time and not `max_connections` = 10000: .*ulimit -n. is 200"),
    "the log says nothing")
  other <- serve(workers = 1, max_connections = 100)
  expect(ask(other, "/text")$status == "200", "another status")
  expect(!any(grepl("at most", other$log())), "it is said where nothing was lowered")
})

test("max_connections is reached: the log says so, once in a while", function() {
  server <- serve(workers = 1, max_connections = 3)
  before <- descriptors(server$pid)
  connect <- function() {
    open <- lapply(1:6, function(i) socketConnection("127.0.0.1", server$port, open = "r+b", blocking = TRUE))
    expect(within(function() descriptors(server$pid) >= before + 3L), "they are not accepted")
    open
  }
  said <- function() sum(grepl("new connections wait", server$log()))
  begun <- Sys.time()
  open <- connect()
  expect(logged(server, "WARN new connections wait: 3 are open, as many as `max_connections` = 3 allows"), "not said")
  for (connection in open) close(connection)
  expect(ask(server, "/text")$status == "200", "another status")
  open <- connect()
  is_once <- never(function() said() > 1L, 0.3)
  for (connection in open) close(connection)
  # it may be said again after ten seconds
  expect(is_once || Sys.time() - begun > 10, "it is said again and again")
})

test("a failing on_worker_start is logged as what it is, and before the end of the worker", function() {
  app <- write_app(c("app <- dr_app()", "dr_get(app, '/', function(req) 'x')",
    "dr_on_worker_start(app, function() stop('no database'))", "app"))
  ran <- run_to_end(command_of(app, workers = 2))
  expect(identical(ran$status, 1L), "exit status ", ran$status)
  reason <- grep("ERROR worker [0-9]+ cannot start: on_worker_start failed: no database", ran$log)
  shown <- paste(ran$log, collapse = "\n    ")
  ended <- grep("INFO worker", ran$log)
  expect(length(reason) >= 1L && length(ended) >= 1L && all(ended > reason[1L]), shown)
  # what the server ends itself it says so of, and why
  expect(!any(grepl("killed by signal", ran$log)), shown)
})

test_every_worker("the start line names what is bound where that is more than the address to click", function(start) {
  server <- start(file.path(here, "app.R"), host = "0.0.0.0")
  line <- grep("drover listening on", server$log(), value = TRUE)
  expect(grepl(sprintf("on http://127.0.0.1:%d (bound=0.0.0.0:%d, ", server$port, server$port), line, fixed = TRUE), line)
  expect(ask(server, "/text")$status == "200", "it does not answer where it says that it does")
  server <- start(file.path(here, "app.R"))
  expect(!any(grepl("bound=", server$log())), "what is bound is named twice")
})

test_every_worker("a line about a C handler names its request and what it did", function(start) {
  server <- start(c_app())
  answer <- ask(server, "/c/throw", "-H", "Accept: text/plain")
  expect(answer$status == "500", "status ", answer$status)
  id <- sub(".*\\(request ([0-9a-f]{16})\\).*", "\\1", answer$body)
  pattern <- paste0("ERROR id=", id, " 127.0.0.1 GET /c/throw 500 C handler: it threw the model")
  expect(logged(server, pattern), paste(server$log(), collapse = "\n"))
})
