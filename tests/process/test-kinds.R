# What `drover FILE` takes beside apps of its own: each kind as its user has it, from the words of the command to an
# answer.

# A folder with these files.
folder_of <- function(...) {
  folder <- tempfile("kind-")
  dir.create(folder)
  files <- list(...)
  for (name in names(files)) writeLines(files[[name]], file.path(folder, name))
  folder
}

# The body of the answer, and the status before it.
told_by <- function(app, path = "/", ..., words = character()) {
  server <- launch(c(drover_program(), app, "--port", "0", "--workers", "1", words))
  expect(!is.null(server$url), paste(c("it does not listen:", server$log()), collapse = "\n"))
  answer <- ask(server, path, ...)
  paste(answer$status, answer$body)
}

annotated <- c("#* @get /", "#* @serializer text", "function() paste('plumbed in', basename(getwd()))")

test("a file and a folder of plumber's, an entrypoint, and what _server.yml says", function() {
  folder <- folder_of(plumber.R = annotated)
  right <- paste("200 plumbed in", basename(folder))
  expect(told_by(folder) == right, "the folder")
  expect(told_by(file.path(folder, "plumber.R")) == right, "the file")
  folder <- folder_of(entrypoint.R = "pr() |> pr_get('/', function() 'entered', serializer = serializer_text())", plumber.R = annotated)
  expect(told_by(folder) == "200 entered", "the entrypoint")
  folder <- folder_of("_server.yml" = c("engine: plumber", "file: api.R"), api.R = annotated)
  expect(told_by(folder) == paste("200 plumbed in", basename(folder)), "_server.yml")
}, ways = 1)

test("a platform finds launch_server() by what _server.yml says, and gives it address and port", function() {
  folder <- folder_of("_server.yml" = c("engine: drover", "file: api.R"), api.R = c(
    "library(drover)", "app <- dr_app()", "dr_get(app, '/', function(req) paste('launched,', basename(getwd())))", "app"
  ))
  # as platforms write it: nothing but the name of the engine is known to them
  script <- function(settings, ...) {
    lines <- c(
      paste0("settings <- ", deparse(settings)), "engine <- sub('^engine: ', '', readLines(settings)[[1]])",
      "launch_server <- get('launch_server', envir = asNamespace(engine), mode = 'function')",
      paste0("launch_server(settings = settings, ", ..., ")")
    )
    write_app(lines)
  }
  settings <- file.path(folder, "_server.yml")
  rscript <- c(file.path(R.home("bin"), "Rscript"), "--vanilla")
  server <- launch(c(rscript, script(settings, "host = '127.0.0.1', port = '0'")))
  expect(!is.null(server$url), paste(server$log(), collapse = "\n"))
  answer <- ask(server, "/")
  expect(answer$body == paste("launched,", basename(folder)), answer$body)
  ended <- run_to_end(c(rscript, script(settings, "port = 'eighty'")))
  expect(ended$status != 0L && any(grepl("`port` must be", ended$log)), paste(ended$log, collapse = "\n"))
  lines <- c("workers: [2, 2] # both", "health: true", "base_path: /hub", "trusted_proxies: [127.0.0.1, unix]", "port: 1", "no: 1")
  write(lines, settings, append = TRUE)
  server <- launch(c(rscript, script(settings, "port = '0'")))
  expect(ask(server, "/")$body == answer$body, "it is not served")
  expect(endsWith(server$url, "/hub") && any(grepl("workers=2,", server$log())), paste(server$log(), collapse = "\n"))
  expect(ask(server, "/livez")$status == "200", "a setting that is no text counts for nothing")
  writeLines(c("engine: drover", "file: api.R", "workers: many"), settings)
  ended <- run_to_end(c(rscript, script(settings, "port = '0'")))
  expect(ended$status != 0L && any(grepl("`workers` must be", ended$log)), paste(ended$log, collapse = "\n"))
}, ways = 1)

test("which endpoints of plumber are fast, and what --plumber does", function() {
  folder <- folder_of(plumber.R = c(
    "calls <- 0", "#* @get /count", "#* @serializer text", "function() {", "  calls <<- calls + 1", "  paste('call', calls)", "}",
    "", "#* @get /file.<ext>", "function(ext) ext"
  ))
  said <- run_to_end(c(drover_program(), "check", folder))$log
  expect(any(grepl("^GET +/count +fast$", said)), paste(said, collapse = "\n"))
  expect(any(grepl("^GET +/file.<ext> +full: its path is a regular expression$", said)), paste(said, collapse = "\n"))
  expect(told_by(folder, "/count") == "200 call 1", "fast")
  expect(told_by(folder, "/count", words = c("--plumber", "full")) == "200 call 1", "full")
  # both ways, so that the handler has run twice
  expect(told_by(folder, "/count", words = c("--plumber", "verify")) == "200 call 2", "verify")
  expect(run_to_end(c(drover_program(), folder, "--plumber", "quick"))$status == 2L, "no such way")
}, ways = 1)

test("programs that run a router, or an app of httpuv, themselves", function() {
  folder <- folder_of(program.R = c(
    "library(plumber)", "router <- pr()", "router <- pr_get(router, '/', function() stop('shown'))",
    "pr_run(router, port = 1, debug = TRUE, docs = FALSE)", "message('the program goes on')"
  ))
  expect(grepl("shown", told_by(file.path(folder, "program.R"))), "the router, and its arguments of run()")
  expect(grepl("^404", told_by(file.path(folder, "program.R"), "/openapi.json")), "docs = FALSE")
  # with nothing said, all is as the router has it
  folder <- folder_of(program.R = c("library(plumber)", "pr() |> pr_get('/', function() stop('hidden')) |> pr_run(port = 8000)"))
  expect(!grepl("hidden", told_by(file.path(folder, "program.R"))), "not in debug mode")
  expect(grepl("^200", told_by(file.path(folder, "program.R"), "/openapi.json")), "the docs")
  said <- launch(c(drover_program(), file.path(folder, "program.R"), "--port", "0", "--workers", "1"))$log()
  expect(!any(grepl("masked", said)), paste(said, collapse = "\n"))
  folder <- folder_of(program.R = "pr_run(plumber::pr(), docs = FALSE, quiet = TRUE)")
  said <- launch(c(drover_program(), file.path(folder, "program.R"), "--port", "0", "--workers", "1"))$log()
  expect(!any(grepl("not used", said)), "drover's own pr_run(): ", paste(said, collapse = "\n"))
  folder <- folder_of(program.R = "plumber::pr()$run()")
  expect(grepl("^307", told_by(file.path(folder, "program.R"))), "$run(), and the way to the docs page")
  folder <- folder_of(program.R = "httpuv::runServer('127.0.0.1', 1, list(call = function(req) list(status = 200L, body = 'httpuv')))")
  expect(told_by(file.path(folder, "program.R")) == "200 httpuv", "httpuv's")
  # the other form, attached, by position, in an assignment, with the loop of a program that serves by it
  folder <- folder_of(program.R = c(
    "library(httpuv)", "s <- startServer('127.0.0.1', 1, list(call = function(req) list(status = 200L, body = 'started')))",
    "while (TRUE) { service(); Sys.sleep(0.001) }"
  ))
  expect(told_by(file.path(folder, "program.R")) == "200 started", "startServer()")
  # plumber's
  folder <- folder_of(program.R = c(
    "server <- plumber::pr() |> plumber::pr_get('/', function() 'in a loop', serializer = plumber::serializer_text())",
    "repeat tryCatch(server$run(port = 8000), error = function(e) Sys.sleep(1))"
  ))
  expect(told_by(file.path(folder, "program.R")) == "200 in a loop", "a loop")
}, ways = 1)

test("programs that start a server of httpuv go on until they wait, and what they do at their end is not done", function() {
  told <- function(..., path = "/") {
    app <- c("GATES <- Sys.getenv('GATES'); sys.source(GATES, globalenv())", ...)
    told_by(file.path(folder_of(program.R = app), "program.R"), path)
  }
  answer <- "function(req) list(status = 200L, body = paste('ran on', later_on, running))"
  # as fiery, which plumber2 is made with: in a function that loops
  looping <- c(
    "running <- FALSE", "ignite <- function() {", "  running <<- TRUE", "  on.exit({ running <<- FALSE; later_on <<- 'ended' })",
    sprintf("  server <- httpuv::startServer('0.0.0.0', 1, list(call = %s))", answer), "  on.exit(httpuv::stopServer(server), add = TRUE)",
    "  later_on <<- 'its way'", "  while (TRUE) { httpuv::service(); later_on <<- 'in vain' }", "}", "ignite()", "stop('not reached')"
  )
  expect(told(looping) == "200 ran on its way TRUE", "a loop in a function")
  # as ambiorix, which also wants to know of a free port
  waiting <- c(
    "start <- function() {", "  port <- httpuv::randomPort()", sprintf("  server <- httpuv::startServer('0.0.0.0', port, list(call = %s))", answer),
    "  running <<- server$isRunning()", "  on.exit({ server$stop(); running <<- FALSE })", "  later_on <<- server$getPort()",
    "  httpuv::service(timeoutMs = Inf)", "}", "start()"
  )
  expect(told(waiting) == "200 ran on 1024 TRUE", "it waits without an end")
  # as servr, and as people write it: callbacks, and a look whether the port is free
  beside <- c(
    "running <- FALSE", "probe <- httpuv::startServer('127.0.0.1', 1, list())", "httpuv::stopServer(probe)",
    sprintf("httpuv::startDaemonizedServer('127.0.0.1', 1, list(call = %s))", answer), "later_on <- 'callbacks'"
  )
  expect(told(beside, "while (TRUE) later::run_now(Inf)") == "200 ran on callbacks FALSE", "a loop of later's")
  expect(told(beside, "repeat Sys.sleep(1)") == "200 ran on callbacks FALSE", "a loop that sleeps")
  expect(told(beside, "readline('Enter ends it')", "httpuv::stopAllServers()", "stop('not reached')") == "200 ran on callbacks FALSE", "the console")
  expect(told(beside) == "200 ran on callbacks FALSE", "it ends")
  expect(told(beside, "httpuv::stopAllServers()") == "200 ran on callbacks FALSE", "it ends its server")
  # folders that are added to it
  folder <- folder_of(a.txt = "of a folder")
  static <- c(
    "s <- httpuv::startServer('127.0.0.1', 1, list(call = function(req) list(status = 200L, body = 'called')))",
    sprintf("s$setStaticPath('/files' = '%s')", folder), "stopifnot(names(s$getStaticPaths()) == '/files')", "repeat httpuv::service()"
  )
  expect(told(static, path = "/files/a.txt") == "200 of a folder", told(static, path = "/files/a.txt"))
  expect(told(static, path = "/b") == "200 called", "beside the folder")
  two <- sprintf("httpuv::startServer('127.0.0.1', %d, list(call = function(req) list(status = 200L)))", 8001:8002)
  ended <- run_to_end(c(drover_program(), write_app(c(two, "repeat httpuv::service()")), "--port", "0"))
  expect(ended$status == 1L && any(grepl("2 servers of httpuv, on the ports 8001 and 8002", ended$log)), paste(ended$log, collapse = "\n"))
}, ways = 1)

# A package of this name in a library of its own, whose app does what that of plumber2 is known to do: it imports from
# httpuv, starts its server where it blocks, and does something at its end.
library_with_plumber2 <- function() {
  folder <- folder_of(
    DESCRIPTION = c(
      "Package: plumber2", "Version: 0.1", "Title: In the Place of Another", "Description: For tests.", "License: MIT",
      "Imports: httpuv"
    ),
    NAMESPACE = c("export(api)", "importFrom(httpuv, startServer, stopServer, service)")
  )
  dir.create(file.path(folder, "R"))
  writeLines(c(
    "api <- function(settings, env = parent.frame()) {",
    "  lines <- readLines(settings)",
    "  routes <- sub('^routes: ', '', grep('^routes: ', lines, value = TRUE))",
    "  handler <- source(file.path(dirname(settings), routes), local = new.env(parent = env))$value",
    "  self <- new.env()",
    "  self$running <- FALSE",
    "  self$ignite <- function(block = FALSE, showcase = FALSE, ..., silent = FALSE) {",
    "    if (!block) stop('it does not block')",
    "    self$running <- TRUE",
    "    on.exit(self$running <- FALSE)",
    "    server <- startServer('127.0.0.1', 8080, list(call = function(req) {",
    "      list(status = 200L, body = paste(handler(req$PATH_INFO), self$running))",
    "    }))",
    "    on.exit(stopServer(server), add = TRUE)",
    "    repeat service()",
    "  }",
    "  structure(self, class = c('Plumber2', 'Fire'))",
    "}"
  ), file.path(folder, "R", "api.R"))
  library <- tempfile("library-")
  dir.create(library)
  built <- run_to_end(c(file.path(R.home("bin"), "R"), "CMD", "INSTALL", paste0("--library=", library), folder))
  expect(built$status == 0L, paste(built$log, collapse = "\n"))
  library
}

test("an app of fiery, by itself or as plumber2 makes it of _server.yml", function() {
  library <- library_with_plumber2()
  folder <- folder_of("_server.yml" = c("engine: plumber2", "routes: api.R"), api.R = "function(path) paste('asked', path)")
  env <- c(R_LIBS = paste(c(library, .libPaths()), collapse = ":"))
  told <- function(app) {
    server <- launch(c(drover_program(), app, "--port", "0", "--workers", "1"), env = env)
    expect(!is.null(server$url), paste(server$log(), collapse = "\n"))
    ask(server, "/x")$body
  }
  expect(told(folder) == "asked /x TRUE", "_server.yml")
  own <- file.path(folder, "own.R")
  writeLines(c("app <- plumber2::api('_server.yml')", "app"), own)
  expect(told(own) == "asked /x TRUE", "an app that its file leaves to others to run")
  writeLines("plumber2::api('_server.yml')$ignite(block = TRUE)", own)
  expect(told(own) == "asked /x TRUE", "one that it runs")
  writeLines("stop('not today')", file.path(folder, "api.R"))
  ended <- run_to_end(c(drover_program(), folder, "--port", "0"), env = env)
  expect(ended$status == 1L && any(grepl("cannot load .*_server.yml: not today", ended$log)), paste(ended$log, collapse = "\n"))
}, ways = 1)

test("a document of R Markdown whose code runs in sessions of Shiny", function() {
  needs_shiny()
  if (!requireNamespace("rmarkdown", quietly = TRUE)) skip("the package 'rmarkdown' is not installed")
  chunk <- c("```{r, echo=FALSE}", "textInput('name', 'Name', 'Ada')", "renderText(paste0('Hello, ', input$name, '!'))", "```")
  folder <- folder_of(index.Rmd = c("---", "title: A document", "output: html_document", "runtime: shiny", "---", "", chunk))
  server <- launch(c(drover_program(), folder, "--port", "0", "--workers", "1"))
  expect(!is.null(server$url), paste(server$log(), collapse = "\n"))
  expect(ask(server, "/")$status == "200", "no page")
  page <- shiny_page(server, "__reactivedoc__")
  shown <- heard(page, function(said) said$values[["__reactivedoc__"]])
  expect(grepl("A document", shown$html), "not rendered: ", deparse1(shown))
  ready <- c("---", "title: Made before", "output: html_document", "runtime: shiny_prerendered", "---", "", "Text of it.", "",
    "```{r, context='server'}", "output$at <- renderText('now')", "```")
  folder <- folder_of(index.Rmd = ready)
  told <- told_by(file.path(folder, "index.Rmd"))
  expect(grepl("^200", told) && grepl("Text of it", told), substr(told, 1L, 300L))
}, ways = 1)

test("what handlers do with httpuv is httpuv's, and a server that has become drover's is not stopped", function() {
  app <- write_app(c(
    "server <- httpuv::startServer('127.0.0.1', 1, list(call = function(req) {",
    "  if (req$PATH_INFO == '/stop') { server$stop(); return(list(status = 200L, body = 'goes on')) }",
    "  own <- httpuv::startServer('127.0.0.1', httpuv::randomPort(), list(call = function(req) list(status = 200L, body = 'inner')))",
    "  on.exit(own$stop())", "  list(status = 200L, body = paste(class(own)[1:2], collapse = ' '))", "}))", "httpuv::service(Inf)"
  ))
  server <- launch(c(drover_program(), app, "--port", "0", "--workers", "1"))
  expect(ask(server, "/stop")$body == "goes on" && ask(server, "/stop")$body == "goes on", "it was stopped")
  expect(any(grepl("stop\\(\\) of a server of httpuv was called", server$log())), paste(server$log(), collapse = "\n"))
  expect(ask(server, "/")$body == "WebServer Server", "no server of httpuv's own")
}, ways = 1)

test("a function that serves has not ended: a connection that it closes at its end is open", function() {
  if (!requireNamespace("plumber", quietly = TRUE)) skip("the package 'plumber' is not installed")
  file <- c(
    "main <- function() {", "  con <- textConnection('a line')", "  on.exit(close(con))",
    "  plumber::pr_run(plumber::pr_get(plumber::pr(), '/', function() readLines(con), serializer = plumber::serializer_text()))", "}",
    "withCallingHandlers(tryCatch(main(), error = function(e) quit(status = 9)), warning = function(w) quit(status = 8))"
  )
  expect(told_by(write_app(file)) == "200 a line", told_by(write_app(file)))
  # what happens in workers is not for the handlers of the file, nor for those that loaded it
  hooks <- c("app <- dr_app()", "dr_on_worker_start(app, function() warning('of a worker'))", "dr_get(app, '/', function(req) stop('of a handler'))")
  server <- launch(c(drover_program(), write_app(c("library(drover)", hooks, "tryCatch(dr_serve(app), error = function(e) quit(status = 7))")), "--port", "0", "--workers", "1"))
  expect(ask(server, "/")$status == "500" && ask(server, "/")$status == "500", "the file took the error")
  log <- paste(server$log(), collapse = "\n")
  expect(grepl("of a worker", log) && !grepl("line [0-9]+: of a worker", log), log)
}, ways = 1)

test("a program that serves by Rserve, with arguments of its own", function() {
  if (!requireNamespace("Rserve", quietly = TRUE)) skip("the package 'Rserve' is not installed")
  folder <- folder_of(program.R = c(
    "library(Rserve)", ".http.request <- function(path, q, b, h) list(path, 'text/plain')", "run.Rserve(http.port = 8080)"
  ))
  expect(told_by(file.path(folder, "program.R"), "/y") == "200 /y", "Rserve's")
}, ways = 1)

test("programs that start a server of the package Rook", function() {
  if (!requireNamespace("Rook", quietly = TRUE)) skip("the package 'Rook' is not installed")
  app_of <- function(name) {
    sprintf("function(env) list(status = 200L, headers = list(), body = paste('%s', env$SCRIPT_NAME, env$PATH_INFO))", name)
  }
  told <- function(path, ...) told_by(file.path(folder_of(program.R = c(...)), "program.R"), path)
  loop <- "while (TRUE) Sys.sleep(24 * 60 * 60)"
  # as most are written: what follows the start is not evaluated
  begun <- c("library(Rook)", "s <- Rhttpd$new()")
  added <- sprintf("s$add(app = %s, name = 'x')", app_of("x"))
  served <- "200 x /custom/x /a b"
  expect(told("/custom/x/a%20b", begun, added, "s$start(port = 1, quiet = TRUE)", "stop('not reached')") == served, "start()")
  expect(told("/custom/x", begun, added, "s$start()", "s$browse('x')", loop) == "200 x /custom/x ", "with a loop")
  expect(told("/custom/x/a%20b", begun, "s$start(quiet = TRUE)", added, "s$browse(1)", loop) == served, "start() before add()")
  expect(told("/custom/x/a%20b", "rm(list = ls())", begun, "s$start()", added, "suspend_console()") == served, "suspend_console()")
  block <- c("local({", added, "s$start()", sprintf("s$add(app = %s, name = 'y')", app_of("y")), loop, "})")
  expect(told("/custom/y/", begun, block) == "200 y /custom/y /", "in a block that goes on")
  launched <- sprintf("Rook::Rhttpd$new()$launch(name = 'x', app = %s)", app_of("x"))
  expect(told("/custom/x/a%20b", launched, "stop('not reached')") == served, "launch(), without library(Rook)")
  # the way to listen elsewhere
  port <- free_ports(1L)
  direct <- sprintf("stopifnot(.Call(tools:::C_startHTTPD, '127.0.0.1', %dL) == 0L)", port)
  server <- launch(c(drover_program(), write_app(c(begun, direct, added, loop)), "--port", "0", "--workers", "1"))
  expect(ask(server, "/custom/x")$status == "200", "C_startHTTPD")
  second <- tryCatch(suppressWarnings(socketConnection("127.0.0.1", port)), error = function(error) NULL)
  if (!is.null(second)) close(second)
  expect(is.null(second), "R's own server is there, too")
  # for Apache
  file <- c(sprintf("test <- %s", app_of("test")), "Rook::Server$call(test)", "stop('not reached')")
  expect(told("/a", file) == "200 test  /a", "Rook::Server")
  ended <- run_to_end(c(drover_program(), write_app(c(begun, "s$start()", loop)), "--port", "0"))
  expect(ended$status == 1L && any(grepl("line [0-9]+: the server of Rook has no app", ended$log)), paste(ended$log, collapse = "\n"))
}, ways = 1)

test("a Rook app, a script of Rserve, a saved object and a call", function() {
  folder <- folder_of(
    rook.R = "function(req) list(status = 201L, headers = list(), body = req$PATH_INFO)",
    rserve.R = ".http.request <- function(url, query, body, headers) list(url, 'text/plain')"
  )
  expect(told_by(file.path(folder, "rook.R"), "/x") == "201 /x", "Rook")
  expect(told_by(file.path(folder, "rserve.R"), "/y") == "200 /y", "Rserve")
  saved <- file.path(folder, "app.rds")
  saveRDS(function(req) list(status = 200L, body = "saved"), saved)
  expect(told_by(saved) == "200 saved", "the object")
  expect(told_by("drover::dr_rook(function(req) list(status = 200L, body = 'called'))") == "200 called", "the call")
  odd <- folder_of("with a space.R" = c(annotated, "function(req) list(status = 200L, body = 'a script')"))
  expect(told_by(file.path(odd, "with a space.R"), words = c("--kind", "script")) == "200 a script", "--kind")
}, ways = 1)

test("files of a router are answered while R is busy, unless something before them is R's", function() {
  folder <- folder_of(plumber.R = c(
    "sys.source(Sys.getenv('GATES'), globalenv())", "#* @get /busy", "function() stand_at('busy')",
    "#* @assets . /files", "list()"
  ), note.txt = "a note")
  serve_busy <- function(app, ...) {
    server <- launch(c(drover_program(), app, "--port", "0", "--workers", "1", "--timeout", "600", ...))
    busy <- ask_later(server, "/busy")
    expect(marked(server, "busy"), "the handler has not begun")
    c(server, busy = busy)
  }
  server <- serve_busy(folder)
  expect(ask(server, "/files/note.txt")$body == "a note" && !is_over(server$busy), "R was needed")
  server <- serve_busy(folder, "--plumber", "full")
  note <- ask_later(server, "/files/note.txt")
  expect(never(function() is_over(note), 0.5), "plumber was not asked")
  open_gate(server, "busy")
  expect(server$busy()$status == "200" && note()$body == "a note", "plumber has another answer")
  # middleware of drover goes before the router, and so before its files
  guarded <- folder_of(app.R = c(
    sprintf("app <- dr_rook(plumber::plumb('%s'))", file.path(folder, "plumber.R")),
    "dr_use(app, function(req, nxt) if (identical(req$path, '/busy')) nxt() else dr_abort(403))"
  ))
  server <- launch(c(drover_program(), guarded, "--port", "0", "--workers", "1"))
  expect(ask(server, "/files/note.txt")$status == "403", "the file was sent past the middleware")
}, ways = 1)

test("a file of plumber, read without the package", function() {
  folder <- folder_of(plumber.R = c(
    "#* @get /", "#* @serializer text", "function() if (isNamespaceLoaded('plumber')) 'loaded' else 'not loaded'"
  ))
  expect(told_by(folder) == "200 loaded", "with it")
  expect(told_by(folder, words = c("--kind", "annotations")) == "200 not loaded", "without it")
  # what only the package can do is said with its line
  ended <- run_to_end(c(drover_program(), folder_of(plumber.R = c("#* @png", annotated)), "--kind", "annotations", "--port", "0"))
  expect(ended$status == 1L && any(grepl("line 1", ended$log)), paste(ended$log, collapse = "\n"))
}, ways = 1)

# The environment of an R that has all packages of this one but for `package`, which must be in none of R's own folders.
env_without <- function(package) {
  library <- tempfile("library-")
  dir.create(library)
  for (folder in setdiff(.libPaths(), .Library)) {
    names <- setdiff(list.files(folder), c(package, list.files(library)))
    if (length(names)) file.symlink(file.path(folder, names), file.path(library, names))
  }
  c(R_LIBS = library, R_LIBS_SITE = library, R_LIBS_USER = "none")
}

test("where plumber is not installed, what loads it does nothing, and what needs it is told", function() {
  env <- env_without("plumber")
  starts <- function(...) launch(c(drover_program(), folder_of(plumber.R = c(...)), "--port", "0", "--workers", "1"), env)
  server <- starts(
    "rm(list = ls())", "if (!require(plumber)) stop('install it')",
    "suppressPackageStartupMessages({ library('plumber', warn.conflicts = FALSE); library(stats4) })",
    "loaded <- lapply(c('plumber', 'splines'), library, character.only = TRUE)",
    "stopifnot(requireNamespace('plumber', quietly = TRUE), c('package:stats4', 'package:splines') %in% search())",
    "#* @get /", "#* @serializer text", "function() paste('served,', 'plumber' %in% loadedNamespaces(), exists('last', mode = 'function'))",
    "last <- function() 1", "#* @get /with", "function(res) plumber::as_attachment('x', 'y')",
    "#* @get /library", "#* @serializer text", "function() environmentName(environment(library))"
  )
  expect(ask(server, "/")$body == "served, FALSE TRUE", paste(server$log(), collapse = "\n"))
  expect(ask(server, "/library")$body == "base", "handlers have another library()")
  expect(any(grepl("line 11: `plumber::` needs the package 'plumber', which is not installed", server$log())), "no warning")
  ends <- function(pattern, ...) {
    ended <- run_to_end(c(drover_program(), folder_of(plumber.R = c(...)), "--port", "0"), env = env)
    expect(ended$status == 1L && any(grepl(pattern, ended$log)), paste(ended$log, collapse = "\n"))
  }
  hint <- ".*functions of plumber need the package 'plumber', which is not installed: install.packages"
  ends(paste0("line 2: could not find function .options_plumber.", hint), "library(plumber)", "options_plumber(docs = FALSE)", annotated)
  ends(paste0("line 1: there is no package called .plumber.", hint), "plumber::options_plumber(docs = FALSE)", annotated)
  ends("line 2: there is no package called .no.such.package.[^;:]*$", "library(plumber)", "library(no.such.package)", annotated)
  ends("line 1: there is no package called .plumber.", "library(plumber)", "pr_run(pr())")
}, ways = 1)

test("an app that needs plumber starts with the heap that it comes to, others with R's", function() {
  # the app does not see how its R is started
  r <- tempfile("R-")
  writeLines(c("#!/bin/sh", "echo \"$*\" >&2", "exec R \"$@\""), r)
  Sys.chmod(r, "755")
  started <- function(...) {
    server <- launch(c(drover_program(), folder_of(...), "--port", "0", "--workers", "1", "--r", r))
    any(grepl("--min-nsize=1000k", server$log(), fixed = TRUE))
  }
  expect(started(plumber.R = annotated), "plumber")
  expect(!started(app.R = "drover::dr_app()"), "an app of drover")
}, ways = 1)

test("what cannot be served is one error with its line and exit status, and nothing is left running", function() {
  ends <- function(app, code, pattern, words = character(), env = NULL) {
    ended <- run_to_end(c(drover_program(), app, "--port", "0", words))
    expect(ended$status == code, paste(app, "its exit status is", ended$status))
    said <- grep("^(drover|error): ", ended$log, value = TRUE)
    expect(any(grepl(pattern, said)), paste(c(app, ended$log), collapse = "\n"))
  }
  folder <- folder_of(
    syntax.R = c("#* @get /", "function( {"), throws.R = c("#* @get /", "function() 1", "stop('not today')"),
    package.R = c("#* @get /", "function() 1", "library(no.such.package)"), annotation.R = c("#* @get", "function() 1"),
    nothing.R = "x <- 1", entrypoint.txt = "1", broken.rds = "no object"
  )
  at <- function(file) file.path(folder, file)
  ends(at("missing.R"), 4L, "cannot read .*missing.R")
  ends(folder, 1L, "looked for _server.yml, .*; found ")
  ends(folder_of("_server.yml" = "engine: plumber2"), 1L, "_server.yml is for the engine plumber2, and the package .plumber2. is not installed")
  ends(at("syntax.R"), 1L, "line 2, column 11: unexpected '\\{'")
  ends(at("throws.R"), 1L, "line 3: not today")
  ends(at("package.R"), 1L, "line 3: there is no package called .no.such.package.")
  ends(at("annotation.R"), 1L, "line 1: #\\* @get No path specified")
  ends(at("nothing.R"), 1L, "it makes no app: its last value, .* annotations of plumber")
  ends(at("broken.rds"), 1L, "it cannot be read")
  ends("no.such.package::app()", 1L, "there is no package called")
  ends(at("nothing.R"), 2L, "", c("--kind", "other"))
}, ways = 1)

test_every_worker("an app of base R is served without R's other packages, which take longer to load than it does", function(start) {
  server <- start(write_app(c(
    "app <- dr_app()", "dr_get(app, '/loaded', function(req) sort(loadedNamespaces()))", "app"
  )))
  loaded <- jsonlite::fromJSON(ask(server, "/loaded")$body)
  # the compiler is R's own, of functions that are called twice
  expect(setequal(c(loaded, "compiler"), c("base", "compiler", "drover")), "loaded: ", toString(loaded))
})
