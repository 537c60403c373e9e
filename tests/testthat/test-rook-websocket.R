# Which apps of httpuv have WebSockets, and what is registered for them. What happens on one is in
# tests/process/test-websockets-httpuv.R.

echo <- function(ws) ws$onMessage(function(binary, message) ws$send(message))
page <- function(req) list(status = 200L, body = "a page")

test_that("an app with onWSOpen has a route for WebSockets of all paths, behind all others", {
  expect_length(drover:::app_websockets(dr_rook(list(call = page))), 0L)
  app <- dr_app()
  dr_use(app, function(req, nxt) nxt())
  dr_mount(app, "/old", list(call = page, onWSOpen = echo))
  dr_ws(app, "/old/own", on_message = function(msg) NULL)
  routes <- drover:::app_websockets(app)
  expect_identical(vapply(routes, `[[`, "", "path"), c("/old/own", "/old", "/old/*path"))
  expect_identical(lengths(lapply(routes, `[[`, "middleware")), c(1L, 1L, 1L))
  kept <- vapply(drover:::compile_app(app)$routes, function(route) isTRUE(route$websocket$is_kept), NA)
  expect_identical(sum(kept), 2L)
  table <- drover:::route_table(dr_rook(list(call = page, onWSOpen = echo)))
  expect_identical(table[c("method", "path")], data.frame(method = c("WebSocket", "ANY"), path = "/*"))
})

test_that("an app for WebSockets alone is one, which has no pages", {
  alone <- list(onWSOpen = echo)
  expect_true(drover:::is_servable(alone))
  app <- dr_rook(alone)
  client <- dr_test(app)
  withr::defer(client$stop())
  expect_identical(client$get("/x")$status, 404L)
})

test_that("routers of plumber have WebSockets where somebody has given them a function for these", {
  skip_if_not_installed("plumber")
  router <- plumber::pr()
  expect_length(drover:::app_websockets(dr_rook(router)), 0L)
  with_sockets <- R6::R6Class("Sockets", inherit = plumber::Plumber, public = list(onWSOpen = function(ws) ws$send("x")))
  expect_length(drover:::app_websockets(dr_rook(with_sockets$new())), 2L)
})

test_that("the object for onWSOpen has what httpuv's has, and says what it does not take", {
  ws <- drover:::rook_websocket(7, new.env())
  expect_s3_class(ws, "WebSocket")
  expect_argument_error(ws$onMessage("x"), "`func` must be a function", fixed = TRUE)
  expect_argument_error(ws$onClose(NULL), "`func` must be a function", fixed = TRUE)
  expect_null(ws$onMessage(function(binary, message) 1))
  expect_null(ws$onClose(function() 2))
  expect_identical(c(ws$messageCallbacks[[1L]](), ws$closeCallbacks[[1L]]()), c(1, 2))
  # closed: as httpuv has it, nothing is an error
  ws$handle <- NULL
  expect_null(ws$send("x"))
  expect_null(ws$close(99, 1))
  expect_warning(expect_identical(drover:::first_string(1:2), "1"), "only the first goes out")
  expect_identical(drover:::short_reason(strrep("\u00e9", 100)), strrep("\u00e9", 61))
})

test_that("the end of a worker calls what is to be called at the end of each connection, whatever fails", {
  open <- new.env()
  closed <- character()
  for (key in c("1", "2", "3")) local({
    ws <- drover:::rook_websocket(as.numeric(key), NULL)
    name <- key
    ws$onClose(function() {
      closed <<- c(closed, name)
      if (name == "2") stop("in onClose")
    })
    assign(key, ws, envir = open)
  })
  drover:::leave_websockets(open)
  expect_identical(closed, c("1", "2", "3"))
  expect_length(ls(open), 0L)
})
