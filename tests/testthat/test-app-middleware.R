# What the handler of the first route answers, with its middleware around it.
run <- function(app, req = make_request()) {
  compiled <- drover:::compile_app(app)
  compiled$handlers[[1]](req)
}

trace_of <- function(name, log) {
  force(name)
  function(req, nxt) {
    log$lines <- c(log$lines, paste("before", name))
    on.exit(log$lines <- c(log$lines, paste("after", name)))
    nxt()
  }
}

test_that("middleware runs in the order of registration, mounted apps' inside", {
  log <- new.env()
  api <- dr_get(dr_app(), "/x", function(req) {
    log$lines <- c(log$lines, "handler")
    "done"
  })
  dr_use(api, trace_of("inner", log))
  app <- dr_mount(dr_app(), "/api", api)
  dr_use(app, trace_of("first", log))
  dr_use(app, trace_of("second", log))
  expect_identical(run(app), dr_text("done"))
  expect_identical(log$lines, c(
    "before first", "before second", "before inner", "handler", "after inner", "after second", "after first"
  ))
})

test_that("an app without middleware gives its handlers to the engine as they are", {
  handler <- function(req) "x"
  compiled <- drover:::compile_app(dr_get(dr_app(), "/x", handler))
  expect_identical(compiled$handlers, list(handler))
})

test_that("nxt() gives a response, whatever the handler returned", {
  seen <- NULL
  app <- dr_use(dr_app(), function(req, nxt) seen <<- nxt())
  returned <- NULL
  dr_get(app, "/x", function(req) returned)
  run_with <- function(value) {
    returned <<- value
    run(app)
    unclass(seen)
  }
  text <- list("Content-Type" = "text/plain; charset=utf-8")
  expect_identical(run_with("hi"), list(status = 200L, body = "hi", headers = text))
  expect_identical(run_with(NULL), list(status = 204L, body = NULL, headers = list()))
  expect_identical(run_with(as.raw(1))$headers, list("Content-Type" = "application/octet-stream"))
  expect_identical(run_with(list(status = 201, body = "made"))$status, 200L)
  expect_identical(run_with(list(ok = TRUE))$body, "{\"ok\":true}")
})

test_that("a middleware may answer by itself, change the response, and change the request", {
  app <- dr_use(dr_app(), function(req, nxt) {
    if (req$path == "/closed") return(dr_text("closed", 403L))
    req$user <- "ada"
    response <- nxt()
    response$headers[["X-User"]] <- "seen"
    response
  })
  dr_get(app, "/x", function(req) paste("hello", req$user))
  expect_identical(run(app, make_request(path = "/closed"))$status, 403L)
  response <- run(app)
  expect_identical(response$body, "hello ada")
  expect_identical(response$headers[["X-User"]], "seen")
})

test_that("errors further in are responses to middleware, with the error", {
  app <- dr_use(dr_app(), function(req, nxt) dr_set_header(nxt(), "X-Seen", "yes"))
  dr_get(app, "/x", function(req) dr_abort(418, "teapot", headers = list("X-Pot" = "tea")))
  response <- run(app)
  expect_s3_class(response, c("dr_problem", "dr_response"), exact = TRUE)
  expect_identical(unclass(response)[1:3], list(
    status = 418L, body = "teapot", headers = list("X-Pot" = "tea", "X-Seen" = "yes")
  ))
  expect_identical(attr(response, "condition")$status, 418L)

  # those of another middleware, by the app's own function
  app <- dr_use(dr_app(), function(req, nxt) dr_set_header(nxt(), "X-Seen", "yes"))
  dr_use(app, function(req, nxt) dr_abort(401))
  dr_on_error(app, function(req, err) dr_text(conditionMessage(err), err$status))
  dr_get(app, "/x", function(req) "hello")
  response <- run(app)
  expect_identical(unclass(response)[1:2], list(status = 401L, body = "Unauthorized"))
  expect_identical(response$headers[["X-Seen"]], "yes")

  # the outermost one has nothing around it
  app <- dr_use(dr_app(), function(req, nxt) dr_abort(401))
  dr_get(app, "/x", function(req) "hello")
  expect_identical(error_of(run(app))$status, 401L)
})

test_that("a rejected promise further in is a response to middleware", {
  skip_if_not_installed("promises")
  app <- dr_use(dr_app(), function(req, nxt) promises::then(nxt(), function(value) dr_set_header(value, "X-Late", "yes")))
  dr_get(app, "/x", function(req) promises::promise_reject("no"))
  dr_on_error(app, function(req, err) dr_text(paste("late:", conditionMessage(err)), 500L))
  got <- NULL
  promises::then(run(app), function(value) got <<- value)
  while (!later::loop_empty()) later::run_now()
  expect_identical(got$body, "late: no")
  expect_identical(got$headers[["X-Late"]], "yes")
})

test_that("a promise reaches the middleware and is passed on", {
  skip_if_not_installed("promises")
  mark <- function(value) dr_set_header(value, "X-Late", "yes")
  app <- dr_use(dr_app(), function(req, nxt) promises::then(nxt(), mark))
  dr_get(app, "/x", function(req) promises::promise_resolve("later"))
  promise <- run(app)
  expect_s3_class(promise, "promise")
  got <- NULL
  promises::then(promise, function(value) got <<- value)
  while (!later::loop_empty()) later::run_now()
  expect_identical(got$headers[["X-Late"]], "yes")
})

test_that("errors go to the nearest error handler", {
  outer <- function(req, err) "outer"
  inner <- function(req, err) "inner"
  with_own <- dr_on_error(dr_get(dr_app(), "/x", identity), inner)
  without <- dr_get(dr_app(), "/x", identity)
  app <- dr_get(dr_app(), "/", identity)
  dr_mount(app, "/own", with_own)
  dr_mount(app, "/without", without)
  expect_identical(drover:::compile_app(app)$on_error, list(NULL, inner, NULL))
  dr_on_error(app, outer)
  expect_identical(drover:::compile_app(app)$on_error, list(outer, inner, outer))
  dr_on_error(app, NULL)
  expect_null(app$on_error)
})

test_that("a not-found handler answers 404 unless it returns a response", {
  answer <- function(value, app = dr_app()) {
    dr_not_found(app, function(req) value)
    compiled <- drover:::compile_app(app)
    compiled$handlers[[compiled$not_found]](make_request())
  }
  expect_identical(answer("nothing here"), dr_text("nothing here", 404L))
  expect_identical(answer(list(error = "none"))$status, 404L)
  expect_identical(answer(NULL)$status, 404L)
  expect_identical(answer(dr_html("front page"))$status, 200L)
  expect_identical(answer(list(status = 410L, body = "gone"))$status, 404L)
  expect_identical(answer(list(status = 410L, body = "gone"), dr_app(list_responses = TRUE))$status, 410L)
  marked <- dr_use(dr_app(), function(req, nxt) dr_set_header(nxt(), "X-Mark", "yes"))
  expect_identical(answer("x", marked)$headers[["X-Mark"]], "yes")
})

test_that("wrong arguments are named", {
  expect_argument_error(dr_use(dr_app(), 1), "`middleware` must be a function")
  expect_argument_error(dr_on_error(dr_app(), 1), "`fn` must be NULL or a function(req, err)", fixed = TRUE)
  expect_argument_error(dr_not_found(dr_app(), 1), "`handler` must be NULL or a function")
  expect_argument_error(dr_use(1, 1), "`app` must be a dr_app object")
  right <- "`fn` must be function(req, err), in this order, not function(err, req)"
  expect_argument_error(dr_on_error(dr_app(), function(err, req) NULL), right, fixed = TRUE)
  expect_argument_error(dr_on_error(dr_app(), function(e, ...) NULL), "function(req, err), in this order", fixed = TRUE)
  right <- "`middleware` must be function(req, nxt), in this order, not function(nxt, req)"
  expect_argument_error(dr_use(dr_app(), function(nxt, req) NULL), right, fixed = TRUE)
  for (fine in list(function(request, cond) NULL, function(a, b) NULL, function(...) NULL)) {
    expect_identical(dr_on_error(dr_app(), fine)$on_error, fine)
  }
})
