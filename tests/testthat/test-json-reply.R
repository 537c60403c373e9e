# dr_json(): a response of JSON.

test_that("a reply has the text, the status and the type", {
  expect_identical(
    dr_json(list(ok = TRUE)),
    structure(
      list(status = 200L, body = "{\"ok\":true}", headers = list("Content-Type" = "application/json")),
      class = "dr_response"
    )
  )
  expect_identical(dr_json(1, status = 404L)$status, 404L)
  expect_identical(dr_json(1, status = 404)$status, 404L)
  expect_identical(dr_json(NULL)$body, "{}")
  expect_identical(dr_json(list())$body, "[]")
  expect_identical(dr_json(c(NA, 1L))$body, "[\"NA\",1]")
  expect_identical(dr_json(1, auto_unbox = FALSE)$body, "[1]")
  expect_identical(dr_json("\u00e9")$body, "\"\u00e9\"")
})

test_that("headers and further arguments are honoured", {
  reply <- dr_json(list(a = NA), headers = list("X-A" = "1"), na = "string")
  expect_identical(reply$body, "{\"a\":\"NA\"}")
  expect_identical(reply$headers, list("Content-Type" = "application/json", "X-A" = "1"))
  problem <- dr_json(list(), headers = list("content-type" = "application/problem+json"))
  expect_identical(problem$headers, list("content-type" = "application/problem+json"))
  expect_identical(dr_json(pi, digits = 2)$body, "3.14")
  expect_identical(dr_json(1i)$body, "\"0+1i\"")
  expect_identical(dr_json(cars[1:2, ], dataframe = "columns")$body, "{\"speed\":[4,4],\"dist\":[2,10]}")
})

test_that("replies do not share what one of them changes", {
  first <- dr_json(1)
  first$headers[["Content-Type"]] <- "text/plain"
  first$headers$More <- "1"
  names(first)[1] <- "changed"
  expect_identical(dr_json(1)$headers, list("Content-Type" = "application/json"))
  expect_named(dr_json(1), c("status", "body", "headers"))
})

test_that("long texts come whole", {
  x <- strrep("abc\u00e9", 1e5)
  expect_identical(dr_json(x)$body, paste0("\"", x, "\""))
})

test_that("wrong arguments and values are errors", {
  expect_error(dr_json(1, status = 99), "`status`", class = "drover_error_argument")
  expect_error(dr_json(1, status = "200"), "`status`", class = "drover_error_argument")
  expect_error(dr_json(1, headers = "x"), "`headers`", class = "drover_error_argument")
  expect_error(dr_json(1, auto_unbox = NA), "`auto_unbox`", class = "drover_error_argument")
  expect_error(dr_json(mean), "a function", class = "drover_error_json")
  expect_error(dr_json(list(a = globalenv())), "an environment", class = "drover_error_json")
})
