test_that("what is registered is kept, and replaced with a warning", {
  app <- dr_app()
  expect_identical(dr_ws(app, "/a/:id", function(conn, msg, binary) NULL), app)
  route <- app$ws_routes[["/a/:id"]]
  expect_identical(route$param_names, "id")
  expect_identical(route$max_message, 1e6)
  expect_warning(
    dr_ws(app, "/a/:id", function(conn) NULL, max_message = "2kB", idle_timeout = "5m"),
    "overwriting existing WebSocket route for /a/:id", class = "drover_warning_overwrite"
  )
  expect_length(app$ws_routes, 1L)
  expect_identical(app$ws_routes[[1L]][c("max_message", "idle_timeout")], list(max_message = 2000, idle_timeout = 300))
})

test_that("arguments that are wrong are named, with what would be right", {
  app <- dr_app()
  ok <- function(conn, msg, binary) NULL
  wrong <- function(text, ...) expect_error(dr_ws(app, "/x", ...), text, fixed = TRUE, class = "drover_error_argument")
  wrong("`on_message` must be a function, not NULL", NULL)
  wrong("`on_message` must be a function of conn, msg, binary, or of some of these by their names, not function(a, b, c, d)",
    function(a, b, c, d) NULL)
  wrong("not function(msg, x)", function(msg, x) NULL)
  wrong("not function(req); the request is conn$request", ok, on_connect = function(req) NULL)
  wrong("`on_close` must be a function of conn, code, reason", ok, on_close = function(reason, why) NULL)
  wrong("`on_connect` must be a function of conn", ok, on_connect = function(conn, x) NULL)
  wrong("`on_close` must be NULL or a function", ok, on_close = "no")
  wrong("`protocols` must be", ok, protocols = "a b")
  wrong("`origins` must be NULL, \"*\" or origins such as", ok, origins = "https://a.example/path")
  wrong("`deflate` must be TRUE or FALSE", ok, deflate = NA)
  wrong("`max_message` must be", ok, max_message = "65MiB")
  wrong("`max_conns` must be", ok, max_conns = -1)
  wrong("`ping_interval` must be", ok, ping_interval = -1)
  wrong("`timeout` must be", ok, timeout = "soon")
  expect_error(dr_ws(app, "x", ok), "`path`", class = "drover_error_argument")
  expect_error(dr_ws(app, "/x", ok, NULL, NULL, 1), class = "drover_error_argument")
  expect_length(app$ws_routes, 0L)
})

test_that("handlers get what they name, and from the left where they have names of their own", {
  calls <- function(...) {
    app <- dr_ws(dr_app(), "/x", ...)
    vapply(drover:::event_handlers(app$ws_routes[["/x"]])[2:3], function(call) deparse(call), "")
  }
  expect_identical(calls(function(msg) NULL, on_close = function(code) NULL), c("on_message(msg)", "on_close(code)"))
  expect_identical(calls(function(a) NULL, on_close = function(a, b) NULL), c("on_message(conn)", "on_close(conn, code)"))
  expect_identical(
    calls(function(binary, message, ws) NULL, on_close = function(reason, ...) NULL),
    c("on_message(binary, msg, conn)", "on_close(reason, conn, code)")
  )
  expect_identical(calls(function(conn, m) NULL, on_close = function() NULL), c("on_message(conn, msg)", "on_close()"))
})

test_that("WebSockets of mounted apps are below their prefix, behind the middleware of all", {
  inner <- dr_app()
  dr_ws(inner, "/x", function(conn, msg) NULL, on_close = function(conn) NULL)
  dr_use(inner, function(req, nxt) nxt())
  app <- dr_app()
  dr_use(app, function(req, nxt) nxt())
  dr_ws(app, "/own", function() NULL)
  dr_mount(app, "/in/:room", inner)
  compiled <- compile_app(app)
  routes <- compiled$routes
  expect_identical(vapply(routes, `[[`, "", "pattern"), c("/own", "/in/:room/x"))
  expect_identical(lengths(lapply(app_websockets(app), `[[`, "middleware")), 1:2)
  expect_identical(vapply(routes, function(route) route$websocket$on_close, NA), c(FALSE, TRUE))
  for (route in routes) {
    expect_type(compiled$handlers[[route$handler]], "closure")
    expect_length(compiled$handlers[[route$websocket$events]], 3L)
  }
  expect_match(format(app), "WebSocket  /in/:room/x", all = FALSE)
})

test_that("without middleware and on_connect() R is not asked", {
  app <- dr_app()
  dr_ws(app, "/x", function(conn, msg) NULL)
  expect_identical(compile_app(app)$routes[[1L]]$handler, 0L)
})

test_that("handlers are called with as many arguments as they take", {
  calls <- event_handlers(list(on_message = function(conn) NULL, on_close = function(...) NULL))
  expect_identical(calls[[2L]], quote(on_message(conn)))
  expect_identical(calls[[3L]], quote(on_close(conn, code, reason)))
  expect_null(event_handlers(list(on_message = function() NULL))[[3L]])
})
