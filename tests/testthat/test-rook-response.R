# What Rook apps answer, as responses, without a server. Over sockets: test-rook-app.R and tests/plumber.

answer <- function(status = 200L, headers = list("Content-Type" = "text/plain"), body = "x") {
  rook_response(list(status = status, headers = headers, body = body))
}

test_that("answers become responses", {
  expect_identical(answer(), response_of(200L, charToRaw("x"), list("Content-Type" = "text/plain")))
  expect_identical(answer(201)$status, 201L)
  expect_null(answer(204L, body = NULL)$body)
  expect_identical(answer(body = as.raw(0:2))$body, as.raw(0:2))
  expect_identical(answer(body = structure("{}", class = "json"))$body, charToRaw("{}"))
  latin1 <- iconv("\u00e9", "UTF-8", "latin1")
  expect_identical(answer(body = latin1)$body, as.raw(0xe9))
  expect_identical(answer(body = "\u00e9")$body, as.raw(c(0xc3, 0xa9)))
  expect_identical(answer(body = "")$body, raw())
  several <- list("Set-Cookie" = "a=1", "Set-Cookie" = c("b=2", "c=3"))
  expect_identical(answer(headers = several)$headers, several)
  # in any order, and with more or less
  expect_identical(rook_response(list(body = "x", headers = list(A = "b"), status = 200))$body, charToRaw("x"))
  expect_identical(rook_response(list(status = 200L, body = "x"))$headers, list())
  more <- list(status = 200L, headers = list(A = "b"), body = "x", more = 1)
  expect_identical(rook_response(more)$body, charToRaw("x"))
})

test_that("what is no string is written as httpuv does", {
  expect_identical(answer(headers = list(A = 1e6, B = TRUE))$headers, list(A = "1e+06", B = "TRUE"))
  expect_identical(answer(headers = c(A = "b"))$headers, list(A = "b"))
  expect_identical(answer(headers = list(A = NA_character_))$headers, list(A = "NA"))
  expect_identical(answer(body = NA_character_)$body, charToRaw("NA"))
  expect_warning(answer(body = c("x", "y")), "only the first is sent")
})

test_that("what is no answer is an error", {
  refused <- function(call, text) expect_error(call, text, class = "drover_error_value")
  refused(rook_response("x"), "it must be list")
  refused(rook_response(list(headers = list(), body = "x")), "it must be list")
  for (status in list(99, 199, 600, 200.5, NA, "200", c(200, 201), TRUE)) refused(answer(status), "its status must be")
  refused(answer(headers = list("a")), "must have names")
  refused(answer(headers = structure(list("a", "b"), names = c("A", ""))), "must have names")
  refused(answer(body = list(1)), "its body must be")
  refused(answer(body = character()), "its body must be a string, a raw vector, .* or NULL, not a character vector of length 0")
  expect_identical(rook_response(dr_text("own"))$body, "own")
})
