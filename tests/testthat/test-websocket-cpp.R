# Registration only, as in test-app-cpp.R: `later` has registered one function for C.
callable <- "execLaterNative2"

test_that("a handler in C is kept by its names, with the settings of its route", {
  app <- dr_app()
  made <- withVisible(dr_ws_cpp(app, "/feed/:topic", "later", callable, 10, 5, "1h", protocols = "v1"))
  expect_identical(made, list(value = app, visible = FALSE))
  route <- app$ws_routes[["/feed/:topic"]]
  expect_identical(route[c("package", "callable", "interface", "data")], list(
    package = "later", callable = callable, interface = "drogonR", data = NULL
  ))
  expect_identical(route[c("param_names", "max_conns", "idle_timeout", "max_lifetime", "max_message")], list(
    param_names = "topic", max_conns = 10, idle_timeout = 5, max_lifetime = 3600, max_message = 1e6
  ))
  replacing <- function(code) {
    expect_warning(code, "overwriting existing WebSocket route", class = "drover_warning_overwrite")
  }
  replacing(dr_ws(app, "/feed/:topic", function(conn, msg) NULL))
  expect_null(app$ws_routes[[1L]]$package)
  replacing(dr_ws_cpp(app, "/feed/:topic", "later", callable))
  expect_length(app$ws_routes, 1L)
})

test_that("arguments that are wrong are named", {
  app <- dr_app()
  wrong <- function(text, ..., package = "later", name = callable) {
    expect_error(dr_ws_cpp(app, "/x", package, name, ...), text, fixed = TRUE, class = "drover_error_argument")
  }
  wrong("package 'no.such' is not installed", package = "no.such")
  wrong("the package must call DROVER_REGISTER_SOCKET(\"later\", \"none\", ...)", name = "none")
  wrong("`interface` must be NULL, \"drover\" or \"drogonR\"", interface = "ws")
  wrong("`data` must be NULL: a handler of drogonR's interface", data = "x")
  wrong("`max_conns` must be", max_conns = -1)
  wrong("`origins` must be", origins = "x")
  wrong("`max_message` must be", max_message = "65MiB")
  wrong("`timeout` must be", timeout = "soon")
  wrong("`on_message` is not an argument", on_message = function(conn) NULL)
  expect_length(app$ws_routes, 0L)
})

test_that("handlers of requests are not taken for those of WebSockets, nor the other way round", {
  local_handlers()
  app <- dr_app()
  wrong <- function(code, text) expect_error(code, text, fixed = TRUE, class = "drover_error_argument")
  wrong(dr_ws_cpp(app, "/x", "drover.handlers", "h_text"), "registers h_text as a handler of requests, for dr_get_cpp()")
  wrong(dr_get_cpp(app, "/x", "drover.handlers", "s_talk"), "registers s_talk as a handler of WebSockets, for dr_ws_cpp()")
  wrong(dr_ws_cpp(app, "/x", "drover.handlers", "s_talk", interface = "drogonR"), "it is not one of drogonR's")
  dr_ws_cpp(app, "/own", "drover.handlers", "s_talk", data = "x")
  dr_ws_cpp(app, "/theirs", "drover.handlers", "ws_talk")
  expect_identical(vapply(app$ws_routes, `[[`, "", "interface"), c("/own" = "drover", "/theirs" = "drogonR"))
})

test_that("what the engine and R are told of it: handlers in R keep their names", {
  inner <- dr_ws_cpp(dr_app(), "/feed", "later", callable, timeout = 2)
  app <- dr_get(dr_app(), "/", function(req) "page")
  dr_ws(app, "/r", function(conn, msg) NULL)
  dr_get_cpp(app, "/c", "later", callable)
  dr_mount(app, "/in", inner)
  compiled <- drover:::compile_app(app)
  routes <- compiled$routes
  of <- function(pattern) Filter(function(route) route$pattern == pattern, routes)[[1L]]
  expect_identical(of("/in/feed")[c("handler", "runs", "timeout")], list(handler = 2L, runs = "inline", timeout = 2))
  expect_identical(of("/in/feed")$websocket[c("events", "on_close")], list(events = 0L, on_close = TRUE))
  expect_identical(vapply(compiled$natives, `[[`, "", "route"), c("GET /c", "WebSocket /in/feed"))
  expect_identical(vapply(compiled$natives, `[[`, "", "interface"), c("unary", "ws"))
  expect_identical(drover:::handler_names(routes, length(compiled$handlers)), c("GET /", "WebSocket /r"))
  expect_true("  WebSocket  /in/feed  C: later::execLaterNative2" %in% format(app))
  # an app without any handler in R
  alone <- drover:::compile_app(inner)
  expect_identical(drover:::handler_names(alone$routes, 0L), character())
})
