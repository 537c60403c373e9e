# Starting and stopping in this session. What clients see is in test-e2e-*.R.
hello <- function(req) "hello"

# Serves on a free port for the length of a test.
serve <- function(app, ..., frame = parent.frame()) {
  withr::defer(dr_stop(), envir = frame)
  suppressMessages(dr_serve(app, port = 0L, block = FALSE, ...))
}

test_that("a server tells where it listens, and starts and stops any number of times", {
  app <- dr_get(dr_app(), "/x", hello)
  for (i in 1:3) {
    expect_false(dr_running())
    expect_message(
      expect_identical(withVisible(dr_serve(app, port = 0L, block = FALSE)), list(value = NULL, visible = FALSE)),
      "^drover listening on http://127.0.0.1:[0-9]+ \\(threads=1, workers=1, routes=1, cpp_routes=0, cpp_stream_routes=0, static=0\\)\n$"
    )
    expect_true(dr_running())
    expect_identical(dr_url(), paste0("http://127.0.0.1:", app$port))
    expect_match(format(app)[[1]], paste("serving on", dr_url()), fixed = TRUE)
    expect_identical(dr_status()$pid, Sys.getpid())
    expect_identical(withVisible(dr_stop()), list(value = NULL, visible = FALSE))
    expect_identical(dr_status(), structure(data.frame(
      pid = integer(), alive = logical(), state = character(), generation = integer(), requests = numeric(),
      errors = numeric(), promises = numeric(), busy = numeric(), memory = numeric(), age = numeric(),
      runs = character()
    ), class = c("dr_status", "data.frame")))
  }
  expect_false(dr_running())
  expect_silent(dr_stop())
  expect_error(dr_url(), "no server runs", class = "drover_error_not_running")
})

test_that("one server runs at a time: another app replaces the one before, on the same port", {
  first <- dr_get(dr_app(), "/x", hello)
  serve(first)
  url <- dr_url()
  other <- dr_get(dr_app(), "/x", hello)
  expect_message(dr_serve(other, port = 0L, block = FALSE), "has the app as it is now")
  expect_identical(dr_url(), url)
  expect_identical(c(first$serving, other$serving), c(FALSE, TRUE))
})

test_that("a start hook can neither start another server nor stop the one that is about to start", {
  app <- dr_get(dr_app(), "/x", hello)
  error <- NULL
  stopped <- 0L
  dr_on_start(app, function() {
    error <<- error_of(dr_serve(app, port = 0L, block = FALSE))
    dr_stop()
  })
  dr_on_stop(app, function() stopped <<- stopped + 1L)
  serve(app)
  expect_s3_class(error, "drover_error_running")
  expect_true(dr_running())
  expect_identical(stopped, 0L)
  dr_stop()
  expect_identical(stopped, 1L)
})

test_that("an app may be changed while it is served, mounted ones too: dr_reload() takes it over", {
  api <- dr_app()
  app <- dr_mount(dr_get(dr_app(), "/x", hello), "/api", api)
  serve(app)
  for (one in list(app, api)) expect_silent(dr_get(one, "/y", hello))
  expect_silent(dr_not_found(app, function(req) dr_response("not here", 404L)))
  expect_null(dr_reload())
  expect_true(all(app$serving, api$serving))
  expect_true(dr_running())
})

test_that("hooks run around the server, start hooks first to last, stop hooks last to first", {
  log <- character()
  note <- function(what) function() log <<- c(log, paste(what, dr_running()))
  api <- dr_on_stop(dr_on_start(dr_app(), note("inner start")), note("inner stop"))
  app <- dr_get(dr_app(), "/x", hello)
  dr_on_start(app, note("start 1"))
  dr_on_start(app, note("start 2"))
  dr_on_stop(app, note("stop 1"))
  dr_on_stop(app, note("stop 2"))
  dr_mount(app, "/a", api)
  dr_mount(app, "/b", api)
  serve(app, on_worker_start = note("worker"))
  dr_stop()
  expect_identical(log, paste(
    c("start 1", "start 2", "inner start", "worker", "inner stop", "stop 2", "stop 1"), FALSE
  ))
})

test_that("a start hook that fails keeps the server from starting", {
  stopped <- 0L
  app <- dr_on_stop(dr_get(dr_app(), "/x", hello), function() stopped <<- stopped + 1L)
  error <- error_of(dr_serve(app, port = 0L, block = FALSE, on_worker_start = function() stop("no database")))
  expect_s3_class(error, "drover_error_hook")
  expect_identical(conditionMessage(error), "on_worker_start failed: no database")
  expect_identical(conditionMessage(error$parent), "no database")
  dr_on_start(app, function() stop("no model"))
  expect_error(dr_serve(app, port = 0L, block = FALSE), "start hook failed: no model", class = "drover_error_hook")
  expect_identical(stopped, 2L)
  expect_false(dr_running())
})

test_that("a stop hook that fails is a warning, and the others run", {
  stopped <- FALSE
  app <- dr_on_stop(dr_get(dr_app(), "/x", hello), function() stopped <<- TRUE)
  dr_on_stop(app, function() stop("oops"))
  serve(app)
  expect_warning(dr_stop(), "stop hook failed: oops")
  expect_true(stopped)
  expect_false(dr_running())
  # also where a request has just come, for which the session will be called
  for (round in 1:5) {
    serve(app)
    client <- raw_client(server$places$port)
    client_send(client, "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n")
    # nothing tells that it is in the queue
    let_pass(0.05)
    expect_warning(dr_stop(), "stop hook failed: oops")
    expect_identical(client_response(client)$status, 200L)
  }
})

test_that("`-` is standard error for logs, as for other programs", {
  withr::local_dir(withr::local_tempdir())
  for (name in c("log", "access_log")) {
    expect_identical(check_setting(name, "-", NULL), "stderr")
    expect_identical(check_setting(name, "none", NULL), "none")
    expect_error(check_setting(name, tempdir(), NULL), "must be \"stderr\", \"none\", or the path", fixed = TRUE)
  }
})

test_that("requests for other hosts than those that are allowed are refused, without R", {
  app <- dr_get(dr_app(), "/x", hello)
  wrong <- "allowed_hosts: must be names such as example.com or *.example.com, or * for all, not 'https://a.example'"
  expect_error(dr_serve(app, port = 0L, block = FALSE, allowed_hosts = c("b", "https://a.example")), wrong, fixed = TRUE)
  expect_false(dr_running())
  serve(app, allowed_hosts = c("shop.example", "*.shop.example"))
  # what needs no R, which is here
  status <- function(host) http(dr_url(), "/nothing", "--header", paste("Host:", host))$status
  expect_equal(vapply(c("evil.example", "shop.example", "www.shop.example:80", "localhost"), status, 0,
    USE.NAMES = FALSE), c(421, 404, 404, 404))
})

test_that("a port in use is a classed error, and the stop hooks run", {
  stopped <- FALSE
  app <- dr_on_stop(dr_get(dr_app(), "/x", hello), function() stopped <<- TRUE)
  other <- local_server({
    app <- dr_app()
    dr_get(app, "/", function(req) "x")
  })
  withr::defer(dr_stop())
  expect_error(dr_serve(app, port = other$port, block = FALSE), class = "drover_error_listen")
  expect_true(stopped)
  expect_false(dr_running())
  expect_silent(dr_get(app, "/again", hello))
})

test_that("an app that answers nothing gives a warning", {
  expect_warning(serve(dr_app()), "`app` has no routes")
})

test_that("wrong settings are named, and the server does not start", {
  app <- dr_get(dr_app(), "/x", hello)
  expect_argument_error(dr_serve(1), "`app` must be an app")
  for (wrong in list(-1, 65536, 1.5, "80", NA, NULL, c(80, 81))) {
    expect_argument_error(dr_serve(app, wrong), "`port` must be a single integer in 0..65535")
  }
  counts <- c("threads", "max_queue", "cpp_workers", "max_body", "max_async", "max_streams")
  for (name in c(counts, "timeout", "keep_alive")) {
    for (wrong in list(-1, "one", NA, NULL, 1:2, Inf)) {
      arguments <- list(app, 0L)
      arguments[name] <- list(wrong)
      expect_argument_error(do.call(dr_serve, arguments), paste0("`", name, "` must be a single "))
    }
  }
  expect_argument_error(dr_serve(app, max_queue = 0), "`max_queue` must be a single integer >= 1")
  expect_argument_error(dr_serve(app, timeout = -1), "`timeout` must be a single number of seconds >= 0")
  for (wrong in list(0, -1, 1.5, "1", NA, NULL, c(3, 1), c(0, 2), 1:3, Inf, 1025, c(1, NA), factor(2))) {
    expect_argument_error(dr_serve(app, 0L, workers = wrong), "`workers` must be a single integer in 1..1024, or two")
  }
  for (wrong in list("thread", c("spawn", "fork"), NA, 1, NULL)) {
    expect_argument_error(dr_serve(app, 0L, workers = 2, start = wrong), "`start` must be \"auto\", \"fork\" or \"spawn\"")
  }
  pool <- c("check_unused", "max_age", "max_requests", "max_rss", "max_lifetime", "start_timeout", "kill_after")
  for (name in pool) {
    for (wrong in list(-1, "one", NA, NULL, 1:2, Inf)) {
      arguments <- list(app, 0L, workers = 2L)
      arguments[name] <- list(wrong)
      expect_argument_error(do.call(dr_serve, arguments), paste0("`", name, "` must be a single "))
    }
  }
  expect_argument_error(dr_serve(app, on_worker_stop = 1), "`on_worker_stop` must be NULL or a function")
  expect_argument_error(dr_serve(app, on_worker_start = 1), "`on_worker_start` must be NULL or a function")
  expect_argument_error(dr_serve(app, host = 1), "`host` must be a vector of strings that are not empty")
  expect_argument_error(dr_serve(app, debug = "yes"), "`debug` must be TRUE or FALSE")
  expect_argument_error(dr_serve(app, block = NA), "`block` must be TRUE or FALSE")
  expect_argument_error(dr_serve(app, case_sensitive = 1), "`case_sensitive` must be TRUE or FALSE")
  expect_argument_error(dr_serve(app, log = tempdir()), "`log` must be \"stderr\", \"none\", or the path")
  expect_argument_error(dr_serve(app, log = file.path(tempfile(), "x.log")), "`log` must be")
  expect_argument_error(dr_serve(app, upload_path = "/dev/null/x"), "`upload_path` must be a folder")
  expect_argument_error(dr_serve(app, max_bodies = 1), "`max_bodies` is not an argument of dr_serve(): did you mean `max_body`?", fixed = TRUE)
  expect_argument_error(dr_serve(app, 0L, 1L, 1L, NULL, 1L, 1L, NULL, 1), "it holds an unnamed argument")
  expect_argument_error(dr_stop("now"), "`graceful_timeout` must be a single number of seconds >= 0")
  expect_false(dr_running())
})

test_that("debugging for everybody gives a warning", {
  expect_silent(drover:::warn_debug(TRUE, "127.0.0.1"))
  expect_silent(drover:::warn_debug(FALSE, "0.0.0.0"))
  expect_warning(drover:::warn_debug(TRUE, "0.0.0.0"), "shows errors and tracebacks")
})
