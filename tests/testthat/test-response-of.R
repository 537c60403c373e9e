as_response <- drover:::as_response

test_that("responses and promises stay as they are", {
  response <- dr_html("x")
  expect_identical(as_response(response), response)
  promise <- structure(list(), class = "promise")
  expect_identical(as_response(promise), promise)
})

test_that("strings, raw vectors and NULL have their forms", {
  expect_identical(as_response("x"), dr_text("x"))
  expect_identical(as_response(as.raw(1:2)), dr_response(as.raw(1:2)))
  expect_identical(unclass(as_response(NULL)), list(status = 204L, body = NULL, headers = list()))
  expect_identical(as_response(jsonlite::toJSON(1:2))$headers[["Content-Type"]], "application/json")
})

test_that("lists, data frames and vectors are JSON", {
  body <- function(value) {
    response <- as_response(value)
    expect_match(response$headers[["Content-Type"]], "^application/json")
    response$body
  }
  expect_identical(body(list(ok = TRUE)), "{\"ok\":true}")
  expect_identical(body(list(1, "a")), "[1,\"a\"]")
  expect_identical(body(data.frame(a = 1:2)), "[{\"a\":1},{\"a\":2}]")
  expect_identical(body(1:3), "[1,2,3]")
  expect_identical(body(c("a", "b")), "[\"a\",\"b\"]")
  expect_identical(body(factor("a")), "\"a\"")
  expect_identical(body(as.Date("2026-01-02")), "\"2026-01-02\"")
  expect_identical(body(list(headers = 1)), "{\"headers\":1}")
  expect_identical(body(list(status = 1L, body = "x", other = 2L)), "{\"status\":1,\"body\":\"x\",\"other\":2}")
})

test_that("a list with the names of a response is data, and a response only for apps that ask for it", {
  by_hand <- list(status = 201, body = "x", headers = list("X-A" = "1"))
  expect_identical(as_response(by_hand)$body, "{\"status\":201,\"body\":\"x\",\"headers\":{\"X-A\":\"1\"}}")
  read <- drover:::read_list_response
  expect_identical(read(by_hand), dr_text("x", 201L, list("X-A" = "1")))
  expect_identical(read(list(body = as.raw(1))), dr_response(as.raw(1)))
  expect_identical(read(list(status = 202L)), dr_text("", 202L))
  expect_null(read(list(status = 204L, body = NULL))$body)
  for (other in list(list(headers = 1), list(status = 1, x = 2), list(), "x", NULL, data.frame(status = 1))) {
    expect_identical(read(other), other)
  }
  expect_argument_error(read(list(status = 1000, body = "x")), "in 200..599, not 1000", fixed = TRUE)
  expect_argument_error(read(list(body = 1:3)), "`body` must be a single string")
})

test_that("what cannot be sent is an error that says what it is", {
  unsupported <- list(
    "a function" = identity, "an environment" = new.env(), "an object of type 'symbol'" = quote(x),
    "an object of type 'language'" = quote(x + y), "an object of class 'formula'" = y ~ x
  )
  for (what in names(unsupported)) {
    message <- paste("R handler returned an unsupported value:", what)
    expect_error(as_response(unsupported[[what]]), message, fixed = TRUE, class = "drover_error_value")
  }
  expect_error(as_response(stdout()), "connection", class = "drover_error_value")
  expect_error(as_response(methods::new("numeric")), NA)
})

test_that("a returned condition counts as signalled", {
  returned <- errorCondition("no tea", class = "teapot", status = 418)
  error <- error_of(as_response(returned))
  expect_s3_class(error, c("teapot", "drover_error_http", "drover_error", "error", "condition"), exact = TRUE)
  expect_identical(error$status, 418L)
  expect_identical(conditionMessage(error), "no tea")
  abort <- error_of(dr_abort(409, "taken"))
  expect_s3_class(error_of(as_response(abort)), class(abort), exact = TRUE)
  expect_identical(conditionMessage(error_of(as_response(simpleError("boom")))), "boom")
  expect_error(as_response(simpleCondition("psst")), "a condition without a status: psst", class = "drover_error_value")
})
