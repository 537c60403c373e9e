# New generations of workers: what they take over, and that nothing is lost on the way.

test_that("dr_reload() takes over what the session has now", {
  model <- "one"
  app <- dr_get(dr_app(), "/model", function(req) model)
  server <- serve_workers(app, 2L)
  old <- dr_status()$pid
  model <- "two"
  expect_identical(fetch(server, "/model")$text, "one")
  expect_identical(withVisible(dr_reload()), list(value = NULL, visible = FALSE))
  expect_identical(fetch(server, "/model")$text, "two")
  expect_true(within(function() identical(dr_status()$generation, c(2L, 2L))))
  expect_true(within(function() !any(is_alive(old))))
})

test_that("an app may change while its workers serve, and dr_reload() takes that over", {
  app <- dr_get(dr_app(), "/old", function(req) "old")
  server <- serve_workers(app, 2L)
  dr_get(app, "/new", function(req) "new")
  expect_identical(fetch(server, "/new")$status, 404L)
  dr_reload()
  expect_identical(fetch(server, "/new")$text, "new")
  expect_identical(fetch(server, "/old")$text, "old")
})

test_that("no request fails while generations change", {
  server <- serve_workers(pid_app(), 2L)
  # one request after the other until a file is there
  load <- processx::process$new("sh", c("-c", sprintf(
    "while [ ! -e '%s/load.open' ]; do curl -s -o /dev/null -w '%%{http_code}\\n' http://127.0.0.1:%d/pid; done",
    server$marks, server$port
  )), stdout = "|")
  withr::defer(load$kill())
  codes <- ""
  read <- function() codes <<- paste0(codes, load$read_output())
  for (i in 1:10) {
    before <- nchar(read())
    dr_reload()
    expect_true(within(function() nchar(read()) > before))
  }
  open_gate(server, "load")
  expect_true(within(function() !load$is_alive()))
  read()
  expect_identical(unique(strsplit(trimws(codes), "\n")[[1L]]), "200")
})

test_that("a new generation whose workers do not start leaves the old one serving", {
  fail <- FALSE
  app <- pid_app()
  dr_on_worker_start(app, function() if (fail) stop("no database today"))
  server <- serve_workers(app, 2L)
  old <- dr_status()$pid
  fail <- TRUE
  expect_error(dr_reload(), "no database today", class = "drover_error_reload")
  expect_true(within(function() setequal(dr_status()$pid, old)))
  expect_identical(fetch(server, "/pid")$status, 200L)
  # a worker of the old generation that has to be replaced is one as it was
  tools::pskill(old[[1]], tools::SIGKILL)
  expect_true(idle_until(function() {
    status <- dr_status()
    nrow(status) == 2L && !old[[1]] %in% status$pid && all(status$state == "idle")
  }))
  fail <- FALSE
  dr_reload()
  expect_identical(fetch(server, "/pid")$status, 200L)
})

test_that("an app that does not compile is not loaded", {
  app <- dr_get(dr_app(), "/", function(req) "here")
  server <- serve_workers(app, 2L)
  gone <- withr::local_tempdir()
  dr_static(app, "/static", gone)
  unlink(gone, recursive = TRUE)
  expect_error(dr_reload(), "must be an existing folder", class = "drover_error_reload")
  expect_identical(fetch(server, "/")$text, "here")
})

test_that("an app that does not compile does not replace that of a session", {
  expect_error(dr_reload(), class = "drover_error_not_running")
  withr::defer(dr_stop())
  app <- pid_app()
  suppressMessages(dr_serve(app, port = 0L, block = FALSE, log = "none"))
  gone <- withr::local_tempdir()
  dr_static(app, "/static", gone)
  unlink(gone, recursive = TRUE)
  expect_error(dr_reload(), "must be an existing folder", class = "drover_error_reload")
  expect_true(dr_running())
})

# TERM twice at once is once: programs send it to a process and to its group. A request is held meanwhile, so that the
# server is not through with the first, and with R, before the second has come.
expect_ends_once <- function(server) {
  held <- raw_client(server$port)
  client_send(held, request_bytes("/held"))
  expect_true(marked(server, "held"))
  system2("kill", c("-TERM", server$pid, server$pid))
  open_gate(server, "held")
  expect_identical(client_response(held)$text, "held")
  expect_true(within(function() !server$process$is_alive()))
  expect_identical(server$process$get_exit_status(), 0L)
  expect_identical(server$out(), c("hook", "after FALSE"))
}

test_that("SIGHUP reloads and SIGTERM stops a server that blocks", {
  server <- local_script(c(
    "started <- 0", "app <- dr_app()", "dr_get(app, '/', function(req) as.character(started))",
    "dr_get(app, '/held', function(req) { stand_at('held'); 'held' })",
    "dr_on_stop(app, function() writeLines('hook'))",
    # in the session only: workers have the number that it had when they were forked
    "session <- Sys.getpid()", "tick <- function() {", "  if (Sys.getpid() != session) return()",
    "  started <<- started + 1", "  if (started == 3) message('ticked')", "  later::later(tick, 0.01)", "}", "tick()",
    "dr_serve(app, port = 0L, workers = 2L, block = TRUE)", "writeLines(paste('after', dr_running()))"
  ))
  ask <- function() as.integer(fetch(server, "/")$text)
  before <- ask()
  expect_true(within(function() any(grepl("ticked", server$log()))))
  tools::pskill(server$pid, tools::SIGHUP)
  expect_true(within(function() any(grepl("reloaded: generation 2", server$log()))))
  expect_gt(ask(), before)
  expect_ends_once(server)
})

test_that("SIGTERM and SIGHUP are heard by a session that is its own worker", {
  server <- local_script(c(
    "app <- dr_get(dr_app(), '/', function(req) 'ok')", "dr_on_stop(app, function() writeLines('hook'))",
    "dr_get(app, '/held', function(req) { stand_at('held'); 'held' })",
    "dr_get(app, '/add', function(req) { dr_get(app, '/added', function(req) 'added'); 'ok' })",
    "dr_serve(app, port = 0L, block = TRUE)", "writeLines(paste('after', dr_running()))"
  ))
  expect_identical(fetch(server, "/")$text, "ok")
  fetch(server, "/add")
  expect_identical(fetch(server, "/added")$status, 404L)
  tools::pskill(server$pid, tools::SIGHUP)
  expect_true(within(function() any(grepl("reloaded: the app is as it is now", server$log()))))
  expect_identical(fetch(server, "/added")$text, "added")
  expect_ends_once(server)
})

test_that("Ctrl-C stops a server that blocks, and no process is left", {
  server <- local_script(c(
    "app <- dr_get(dr_app(), '/', function(req) as.character(Sys.getpid()))",
    "dr_serve(app, port = 0L, workers = 2L, block = TRUE)", "writeLines(paste('after', dr_running()))"
  ))
  worker <- as.integer(fetch(server, "/")$text)
  zygote <- parent_of(worker)
  tools::pskill(server$pid, tools::SIGINT)
  expect_true(within(function() !server$process$is_alive()))
  expect_identical(server$out(), "after FALSE")
  expect_false(any(is_alive(c(worker, zygote))))
})
