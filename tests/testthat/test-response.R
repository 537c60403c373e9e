text <- "text/plain; charset=utf-8"

test_that("responses have one form", {
  expect_identical(unclass(dr_response()), list(status = 200L, body = "", headers = list("Content-Type" = text)))
  expect_identical(unclass(dr_text("hi", 201)), list(status = 201L, body = "hi", headers = list("Content-Type" = text)))
  expect_identical(dr_html("<p>")$headers, list("Content-Type" = "text/html; charset=utf-8"))
  expect_identical(dr_response(as.raw(1))$headers, list("Content-Type" = "application/octet-stream"))
  expect_identical(dr_response(NULL, 204L)$headers, list())
  expect_s3_class(dr_text(), "dr_response", exact = TRUE)
})

test_that("a given Content-Type wins, in whatever case", {
  expect_identical(dr_html("x", headers = list("content-type" = "a/b"))$headers, list("content-type" = "a/b"))
  expect_identical(dr_response("x", headers = c("Content-Type" = "a/b"))$headers, list("Content-Type" = "a/b"))
})

test_that("several values become several fields, numbers text, NULL nothing", {
  given <- list("Set-Cookie" = c("a=1", "b=2"), "X-N" = 100000, "X-I" = 3L, "X-No" = NULL)
  headers <- dr_text("", headers = given)$headers
  expect_identical(headers[-1], list("Set-Cookie" = "a=1", "Set-Cookie" = "b=2", "X-N" = "100000", "X-I" = "3"))
})

test_that("bodies with a class are their text", {
  expect_identical(dr_text(structure("x", class = c("glue", "character")))$body, "x")
})

test_that("wrong arguments are named", {
  for (wrong in list(1, NA_character_, c("a", "b"), character(), list("a"))) {
    expect_argument_error(dr_text(wrong), "`body` must be a single string, a raw vector or NULL")
  }
  for (wrong in list(0, 199, 600, "200", NA, 200.5, NULL, c(200, 201))) {
    expect_argument_error(dr_text("x", wrong), "`status` must be a single integer in 200..599")
  }
  expect_argument_error(dr_text("x", headers = list("a")), "`headers` must be a named list of strings")
  expect_argument_error(dr_text("x", headers = 1), "`headers` must be a named list of strings")
  expect_argument_error(dr_text("x", headers = list(A = TRUE)), "the value of A must be a string, not TRUE")
  expect_argument_error(dr_text("x", headers = list(A = NA_character_)), "the value of A must be a string, not NA")
  expect_identical(error_of(dr_text("x", headers = list(A = TRUE)))$call[[1]], quote(dr_text))
})

test_that("control characters never get into a header", {
  for (bad in c("a\r\nX: y", "a\nb", "a\rb", "a\x01b", "a\x7fb")) {
    expect_argument_error(dr_text("x", headers = list(A = bad)), "must not hold line breaks")
    expect_argument_error(dr_redirect(bad), "`location` must not hold line breaks")
    expect_argument_error(dr_set_header("x", "A", bad), "must not hold line breaks")
  }
  for (bad in c("", "a b", "a:", "a\r\nb", "\u00e9", "a\n")) {
    expect_argument_error(dr_text("x", headers = structure(list("v"), names = bad)), "a name must consist of")
  }
  expect_identical(dr_text("x", headers = list(A = "caf\u00e9\tx"))$headers$A, "caf\u00e9\tx")
})

test_that("a redirect has a location and no body", {
  expect_identical(
    unclass(dr_redirect("/a?b=c#d")), list(status = 302L, body = NULL, headers = list(Location = "/a?b=c#d"))
  )
  expect_identical(dr_redirect("/", 308)$status, 308L)
  expect_identical(dr_redirect("/caf\u00e9 x%20")$headers$Location, "/caf%C3%A9%20x%20")
  both <- dr_redirect("/a", headers = list(location = "/b", "X-A" = "1"))
  expect_identical(both$headers, list(Location = "/a", "X-A" = "1"))
  expect_argument_error(dr_redirect("/", 200), "`status` must be a single integer in 300..399")
  expect_argument_error(dr_redirect(NULL), "`location` must be a single string")
})

test_that("dr_set_header() replaces, appends and removes", {
  response <- dr_set_header("hi", "X-A", "1")
  expect_identical(response$headers, list("Content-Type" = text, "X-A" = "1"))
  expect_identical(dr_set_header(response, "x-a", 2)$headers[["x-a"]], "2")
  expect_length(dr_set_header(response, "x-a", 2)$headers, 2L)
  expect_identical(unname(unlist(dr_set_header(response, "X-A", "2", append = TRUE)$headers)), c(text, "1", "2"))
  expect_identical(dr_set_header(response, "x-a", NULL)$headers, list("Content-Type" = text))
  expect_argument_error(dr_set_header("hi", 1, "x"), "`name` must be a single string")
})

test_that("a response is printed with status, headers and the start of its body", {
  expect_equal(format(dr_text("hello\n", headers = list("X-A" = "1"))), c(
    "<dr_response> 200 OK", "  Content-Type: text/plain; charset=utf-8", "  X-A: 1", "  6 bytes: \"hello\\n\""
  ))
  expect_equal(format(dr_response(NULL, 404)), c("<dr_response> 404 Not Found", "  no body"))
  expect_match(format(dr_text(strrep("x", 100)))[[3]], "^  100 bytes: \"x{60}\"\\.\\.\\.$")
  expect_equal(format(dr_response(as.raw(1)))[[3]], "  1 byte")
  expect_output(print(dr_redirect("/x")), "Location: /x")
})
