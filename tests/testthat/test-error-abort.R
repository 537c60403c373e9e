test_that("dr_abort() signals a condition with a status", {
  error <- error_of((function() dr_abort(404, "no such user", user = 7L, headers = list("X-A" = "1")))())
  expect_s3_class(error, c("drover_error_http", "drover_error", "error", "condition"), exact = TRUE)
  expect_identical(error$status, 404L)
  expect_identical(conditionMessage(error), "no such user")
  expect_identical(error$user, 7L)
  expect_identical(error$headers, list("X-A" = "1"))
})

test_that("the message is the phrase of the status when none is given", {
  expect_identical(conditionMessage(error_of(dr_abort(404))), "Not Found")
  expect_identical(conditionMessage(error_of(dr_abort(499))), "Bad Request")
})

test_that("fields may be language, and are not evaluated", {
  expect_identical(error_of(dr_abort(400, where = quote(x + y)))$where, quote(x + y))
})

test_that("wrong arguments are named", {
  for (wrong in list(200, 600, 404.5, "404", NA, NULL, c(404, 500))) {
    expect_argument_error(dr_abort(wrong), "`status` must be a single integer in 400..599")
  }
  expect_argument_error(dr_abort(404, 1), "`message` must be NULL or a single string")
  expect_argument_error(dr_abort(404, "x", 1), "`...` must be named", fixed = TRUE)
  expect_argument_error(dr_abort(404, headers = list("A" = "x\r\nB: y")), "line breaks")
})

test_that("dr_abort() and the status line have the phrases of the engine's one table", {
  phrase <- function(status) tryCatch(dr_abort(status), drover_error_http = conditionMessage)
  expect_identical(vapply(c(418, 421, 422, 425, 507, 499, 599), phrase, ""), c(
    "I'm a teapot", "Misdirected Request", "Unprocessable Content", "Too Early", "Insufficient Storage", "Bad Request",
    "Internal Server Error"
  ))
  server <- local_server({
    app <- dr_app()
    dr_get(app, "/teapot", function(req) dr_abort(418))
  })
  answer <- fetch(server, "/teapot")
  expect_identical(answer$reason, "I'm a teapot")
  expect_match(answer$text, "418 I'm a teapot")
})
