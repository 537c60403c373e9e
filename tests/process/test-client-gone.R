# Handlers whose clients leave while they run: what is interrupted, what finishes, and what is never begun. The same in
# every way of starting.

# Handlers that stand at a gate, and say how they end. `/plain` has the server's setting, the others their own.
leaving_app <- function() write_app(c(
  "app <- dr_app()",
  "work <- function(name) function(req) {",
  "  name <- paste0(name, '-', tolower(req$method))",
  "  on.exit(mark(paste0(name, '-exit')))",
  "  stand_at(name)",
  "  mark(paste0(name, '-finished'))",
  "  name",
  "}",
  "dr_any(app, '/plain', work('plain'))",
  "dr_any(app, '/finish', work('finish'), on_client_gone = 'finish')",
  "dr_route(app, c('GET', 'POST'), '/interrupt', work('interrupt'), on_client_gone = 'interrupt')",
  "dr_get(app, '/pid', function(req) as.character(Sys.getpid()))",
  "app"
))

# A client leaves in the middle of a request: "finished" or "interrupted" says what came of the handler. What is not
# interrupted stands at its gate, which is opened when it was `expected` to stay there.
leave <- function(server, method, path, expected) {
  name <- paste0(sub("/", "", path), "-", tolower(method))
  file <- function(what) file.path(server$marks, paste0(name, "-", what))
  connection <- socketConnection("127.0.0.1", server$port, open = "r+b", blocking = TRUE)
  writeBin(charToRaw(paste0(
    method, " ", path, " HTTP/1.1\r\nHost: localhost\r\n", if (method == "POST") "Content-Length: 1\r\n", "\r\n",
    if (method == "POST") "x"
  )), connection)
  begun <- marked(server, name)
  close(connection)
  expect(begun, method, " ", path, " does not begin")
  if (expected == "finished") {
    expect(never(function() file.exists(file("exit")), 0.3), method, " ", path, " is interrupted")
    open_gate(server, name)
  }
  expect(within(function() file.exists(file("exit"))), method, " ", path, ": on.exit() does not run")
  if (file.exists(file("finished"))) "finished" else "interrupted"
}

expect_left <- function(server, expected) {
  for (request in names(expected)) {
    words <- strsplit(request, " ")[[1L]]
    came <- leave(server, words[[1L]], words[[2L]], expected[[request]])
    expect(identical(came, expected[[request]]), request, " was ", came)
  }
}

test_every_worker("a client leaves: GET and HEAD are interrupted, others finish, unless a route says otherwise", function(start) {
  server <- start(leaving_app(), timeout = 600)
  pid <- ask(server, "/pid")$body
  expect_left(server, c(
    "GET /plain" = "interrupted", "HEAD /plain" = "interrupted", "POST /plain" = "finished", "DELETE /plain" = "finished",
    "GET /finish" = "finished", "POST /interrupt" = "interrupted"
  ))
  answer <- ask(server, "/pid")
  expect(answer$status == "200" && answer$body == pid, "afterwards status ", answer$status, " of worker ", answer$body,
    ", not ", pid)
})

test_every_worker("on_client_gone of the server holds for every method", function(start) {
  server <- start(leaving_app(), on_client_gone = "finish")
  expect_left(server, c("GET /plain" = "finished", "POST /interrupt" = "interrupted"))
  server <- start(leaving_app(), on_client_gone = "interrupt")
  expect_left(server, c("POST /plain" = "interrupted", "GET /finish" = "finished"))
}, of = c("the session", "drover serve"))

test_every_worker("a request whose client leaves while it waits is never run, whatever its method", function(start) {
  server <- start(leaving_app(), timeout = 600, metrics = TRUE)
  running <- ask_later(server, "/finish")
  expect(marked(server, "finish-get"), "it does not begin")
  waiting <- start_client("curl", c("-s", "-d", "x", paste0(server$url, "/plain")))
  expect_figure(server, 1, "drover_queue_requests")
  waiting$kill()
  expect_figure(server, 0, "drover_queue_requests")
  open_gate(server, "finish-get")
  expect(running()$status == "200", "another status")
  expect(ask(server, "/pid")$status == "200", "another status")
  expect(!file.exists(file.path(server$marks, "plain-post")), "it was run")
}, of = c("the session", "drover serve"))

test("a handler that finishes for nobody is still ended by its timeout", function() {
  server <- serve(write_app(c(
    "app <- dr_app()",
    "dr_post(app, '/loop', function(req) {",
    "  on.exit(note('ended', format(as.numeric(Sys.time()), digits = 15)))",
    "  mark('begun')",
    "  repeat NULL",
    "}, timeout = 1)",
    "app"
  )), workers = 1, kill_after = 600)
  sent <- Sys.time()
  client <- start_client("curl", c("-s", "-d", "x", paste0(server$url, "/loop")))
  expect(marked(server, "begun"), "it does not begin")
  client$kill()
  expect(within(function() noted(server, "ended") == 1L), "it runs for ever")
  lasted <- as.numeric(note_lines(server, "ended")) - as.numeric(sent)
  expect(lasted > 0.95, "it was interrupted after ", lasted, " s")
})

test("Ctrl-C still ends a session whose server interrupts handlers", function() {
  server <- starts$`the session`(leaving_app())
  expect_left(server, c("GET /plain" = "interrupted"))
  send_signal(server$pid, tools::SIGINT)
  expect(identical(exit_status(server), 0L), "it does not end")
})

test("a worker whose R was left unable to fetch a function by an interrupt is replaced", function() {
  server <- serve(write_app(c(
    "app <- dr_app()", "dr_get(app, '/pid', function(req) as.character(Sys.getpid()))",
    "dr_get(app, '/held', function(req) stand_at('held'))",
    # R says the same then
    "dr_get(app, '/stuck', function(req) (function(x = x) x)())", "app"
  )), workers = "1-1")
  pid <- ask(server, "/pid")$body
  expect(ask(server, "/stuck")$status == "500" && ask(server, "/pid")$body == pid, "replaced without an interrupt")
  leaves <- start_client("curl", c("-s", paste0(server$url, "/held")))
  expect(marked(server, "held"), "it does not begin")
  leaves$kill()
  expect(logged(server, "or its client had gone"), "it was not interrupted")
  expect(ask(server, "/stuck")$status == "500", "another status")
  expect(within(function() {
    answer <- ask(server, "/pid")
    answer$status == "200" && answer$body != pid
  }), "it was not replaced")
  expect(logged(server, "unable to fetch a function"), "the log does not say why")
})

# The same handlers as endpoints of plumber, by themselves or below a path of another app.
leaving_router <- function(mounted) write_app(c(
  "pr <- plumber::pr()",
  "for (method in c('GET', 'POST')) local({",
  "  name <- paste0('routed-', tolower(method))",
  "  pr <<- plumber::pr_handle(pr, method, '/routed', function() {",
  "    on.exit(mark(paste0(name, '-exit')))",
  "    stand_at(name)",
  "    mark(paste0(name, '-finished'))",
  "    name",
  "  })",
  "})",
  if (mounted) {
    c("app <- dr_app()", "dr_get(app, '/plain', function(req) {", "  on.exit(mark('plain-get-exit'))",
      "  stand_at('plain-get')", "  mark('plain-get-finished')", "})", "dr_mount(app, '/', pr)", "app")
  } else {
    "pr"
  }
))

test_every_worker("a router's endpoints finish, as they do with plumber, unless the server was told otherwise", function(start) {
  if (!requireNamespace("plumber", quietly = TRUE)) return(skip("plumber is not installed"))
  server <- start(leaving_router(mounted = FALSE), timeout = 600)
  expect_left(server, c("GET /routed" = "finished", "POST /routed" = "finished"))
  server <- start(leaving_router(mounted = TRUE), timeout = 600)
  expect_left(server, c("GET /routed" = "finished", "GET /plain" = "interrupted"))
  server <- start(leaving_router(mounted = FALSE), timeout = 600, on_client_gone = "interrupt")
  expect_left(server, c("GET /routed" = "interrupted"))
}, of = c("the session", "forks of the session", "dr_run()", "drover serve"))

# An endpoint that goes the whole way through plumber, an app of httpuv, and a file whose annotations are read without
# the package.
test("endpoints of a plumber.R finish, and so do apps of httpuv", function() {
  annotated <- function(kind) {
    file <- file.path(tempfile("annotated-"), "plumber.R")
    dir.create(dirname(file))
    writeLines(c(
      "sys.source(Sys.getenv('GATES'), globalenv())", "#* @get /routed", "function() {",
      "  on.exit(mark('routed-get-exit'))",
      "  stand_at('routed-get')", "  mark('routed-get-finished')", "}"
    ), file)
    serve(file, workers = 1, timeout = 600, kind = kind)
  }
  expect_left(annotated("annotations"), c("GET /routed" = "finished"))
  if (requireNamespace("plumber", quietly = TRUE)) {
    expect_left(annotated("plumber"), c("GET /routed" = "finished"))
    whole <- serve(leaving_router(mounted = FALSE), workers = 1, timeout = 600, plumber = "full")
    expect_left(whole, c("GET /routed" = "finished"))
  }
  httpuv <- serve(write_app(c(
    "list(call = function(req) {", "  on.exit(mark('rook-get-exit'))", "  stand_at('rook-get')",
    "  mark('rook-get-finished')", "  list(status = 200L, headers = list(), body = '')", "})"
  )), workers = 1, timeout = 600)
  expect_left(httpuv, c("GET /rook" = "finished"))
}, ways = 1:2)
