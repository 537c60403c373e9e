# Middleware, error handlers and promises over real sockets.
test_that("middleware sees params, changes requests and responses, and answers by itself", {
  server <- local_server({
    app <- dr_app()
    dr_use(app, function(req, nxt) {
      if (identical(dr_header(req, "x-key"), "wrong")) return(dr_text("closed", 403L))
      req$user <- paste0("user-", dr_param(req, "id"))
      response <- nxt()
      dr_set_header(response, "X-Status", response$status)
    })
    dr_get(app, "/u/:id", function(req) paste(req$user, dr_param(req, "id")))
    dr_get(app, "/json", function(req) list(a = 1L))
    dr_get(app, "/null", function(req) NULL)
    dr_get(app, "/abort", function(req) dr_abort(409, "taken"))
  })
  answer <- http(server, "/u/7")
  expect_identical(answer$body, "user-7 7")
  expect_identical(answer$headers[["x-status"]], "200")
  expect_identical(http(server, "/u/7", "-H", "X-Key: wrong")$status, 403L)
  expect_identical(http(server, "/json")$body, "{\"a\":1}")
  expect_identical(http(server, "/json")$headers[["content-type"]], "application/json")
  expect_identical(http(server, "/null")$headers[["x-status"]], "204")
  expect_identical(http(server, "/abort")$status, 409L)
})

test_that("what outer middleware adds is on answers to errors, too, which are the server's own otherwise", {
  app <- c(
    "app <- dr_app()",
    "dr_use(app, function(req, nxt) {",
    "  response <- nxt()",
    "  error <- attr(response, 'condition')",
    "  response <- dr_set_header(response, 'X-Status', as.character(response$status))",
    "  dr_set_header(response, 'X-Error', if (is.null(error)) 'none' else class(error)[[1L]])",
    "})",
    "dr_use(app, function(req, nxt) if (req$path == '/middle') stop('secret') else nxt())",
    "dr_get(app, '/fine', function(req) 'fine')",
    "dr_get(app, '/middle', function(req) 'never')",
    "inner <- function() stop('secret')",
    "dr_get(app, '/stop', function(req) inner())",
    "dr_get(app, '/abort', function(req) dr_abort(409, 'taken', headers = list('Retry-After' = '7')))",
    "dr_post(app, '/json', function(req) req$json)",
    "dr_get(app, '/late', function(req) promises::promise_reject(simpleError('secret')))"
  )
  for (workers in 1:2) {
    server <- local_server(app, workers = workers)
    fine <- http(server, "/fine")
    expect_identical(fine$headers[c("x-status", "x-error")], c("x-status" = "200", "x-error" = "none"))
    for (path in c("/stop", "/middle")) {
      answer <- http(server, path)
      expect_identical(answer$status, 500L)
      expect_match(answer$body, "^500 Internal Server Error \\(request [0-9a-f]{16}\\)\n$")
      expect_identical(answer$headers[c("x-status", "x-error")], c("x-status" = "500", "x-error" = "simpleError"))
    }
    expect_match(server$wait_log("GET /stop 500 secret"), "trace=.*inner\\(\\)")
    abort <- http(server, "/abort", "-H", "Accept: application/json")
    expect_identical(abort$status, 409L)
    expect_match(abort$body, "\"title\":\"Conflict\",\"status\":409,\"detail\":\"taken\"", fixed = TRUE)
    expect_identical(abort$headers[["content-type"]], "application/problem+json")
    expect_identical(abort$headers[["retry-after"]], "7")
    expect_identical(abort$headers[["x-error"]], "drover_error_http")
    json <- http(server, "/json", "-H", "Content-Type: application/json", "-d", "{")
    expect_identical(json$status, 400L)
    expect_identical(json$headers[["x-error"]], "drover_error_body")
  }
})

test_that("what is wrong with a body goes to dr_on_error(), whatever reads it", {
  boundary <- "--x\r\nContent-Disposition: form-data; name=a"
  server <- local_server({
    app <- dr_app()
    dr_on_error(app, function(req, err) {
      dr_json(list(ours = class(err)[1:2], why = conditionMessage(err)), status = err$status)
    })
    for (part in c("json", "form", "files")) local({
      part <- part
      dr_post(app, paste0("/", part), function(req) length(req[[part]]))
    })
  })
  ours <- function(path, type, body) {
    answer <- http(server, path, "-H", paste("Content-Type:", type), "--data-binary", body)
    expect_identical(answer$status, 400L)
    expect_identical(jsonlite::fromJSON(answer$body)$ours, c("drover_error_body", "drover_error_http"))
  }
  ours("/json", "application/json", "{")
  ours("/form", "application/x-www-form-urlencoded", "a=%zz")
  ours("/files", "multipart/form-data; boundary=x", boundary)
  ours("/files", "multipart/form-data; boundary=x", "no parts")
})

test_that("a promise that is rejected goes to dr_on_error()", {
  skip_if_not_installed("promises")
  server <- local_server({
    app <- dr_app()
    dr_on_error(app, function(req, err) dr_text(paste(req$path, conditionMessage(err)), status = 500L))
    dr_get(app, "/late", function(req) promises::promise_reject(simpleError("why")))
  })
  expect_identical(http(server, "/late")[c("status", "body")], list(status = 500L, body = "/late why"))
})

test_that("an error handler answers errors, and its own failure is logged with the first", {
  server <- local_server({
    app <- dr_app()
    dr_on_error(app, function(req, err) {
      if (req$path == "/worse") stop("handler of errors failed")
      if (req$path == "/bare") return(paste("bare", conditionMessage(err)))
      status <- if (inherits(err, "drover_error_http")) err$status else 500L
      dr_json(list(error = conditionMessage(err), path = req$path), status = status)
    })
    dr_get(app, "/fail", function(req) stop("first reason"))
    dr_get(app, "/worse", function(req) stop("first reason"))
    dr_get(app, "/bare", function(req) stop("first reason"))
    dr_get(app, "/abort", function(req) dr_abort(404, "no such thing"))
  })
  fail <- http(server, "/fail")
  expect_identical(fail$status, 500L)
  expect_identical(fail$body, "{\"error\":\"first reason\",\"path\":\"/fail\"}")
  expect_identical(http(server, "/abort")$status, 404L)
  expect_identical(http(server, "/bare")[c("status", "body")], list(status = 200L, body = "bare first reason"))
  worse <- http(server, "/worse")
  expect_identical(worse$status, 500L)
  expect_no_match(worse$body, "reason")
  log <- paste(server$wait_log("handler of errors failed"), collapse = "\n")
  expect_match(log, "handler of errors failed")
  server$wait_log("first reason")
})

test_that("promises are awaited, with and without middleware", {
  skip_if_not_installed("promises")
  server <- local_server({
    later_value <- function(value) {
      promises::promise(function(resolve, reject) later::later(function() resolve(value), 0.05))
    }
    plain <- dr_app()
    dr_get(plain, "/text", function(req) later_value("late"))
    dr_get(plain, "/json", function(req) later_value(list(late = TRUE)))
    dr_get(plain, "/fail", function(req) promises::promise_reject(simpleError("secret reason")))
    dr_get(plain, "/abort", function(req) promises::then(later_value(1), function(value) dr_abort(409, "taken")))
    middle <- dr_app()
    dr_use(middle, function(req, nxt) nxt())
    dr_get(middle, "/text", function(req) later_value("late"))
    changed <- dr_app()
    dr_use(changed, function(req, nxt) promises::then(nxt(), function(value) dr_set_header(value, "X-Late", "yes")))
    dr_get(changed, "/text", function(req) later_value("late"))
    app <- dr_app()
    dr_mount(app, "/plain", plain)
    dr_mount(app, "/middle", middle)
    dr_mount(app, "/changed", changed)
    dr_not_found(app, function(req) later_value("nothing"))
  })
  expect_identical(http(server, "/plain/text")$body, "late")
  expect_identical(http(server, "/plain/json")$body, "{\"late\":true}")
  fail <- http(server, "/plain/fail")
  expect_identical(fail$status, 500L)
  expect_no_match(fail$body, "secret")
  expect_identical(http(server, "/plain/abort")$status, 409L)
  expect_identical(http(server, "/middle/text")$body, "late")
  expect_identical(http(server, "/changed/text")$headers[["x-late"]], "yes")
  expect_identical(http(server, "/changed/text")$body, "late")
  expect_identical(http(server, "/nowhere")[c("status", "body")], list(status = 404L, body = "nothing"))
})
