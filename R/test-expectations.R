# Checks of what an app answers, for tests with testthat. Not for asking it: test-client.R.

#' Expect a response
#'
#' Expectations for tests with testthat, about responses of [dr_test()]. One that is not met shows the response, and
#' what the server has logged meanwhile: an error in a handler is seen where the test fails.
#'
#' @param response A response of a client of [dr_test()].
#' @param status The status: a single integer, or several that are all right.
#' @param name The name of a header field, in any case: a single string.
#' @param value Its value: a single string, compared as a whole. `NULL`: it is there, with any value. `NA`: it is not
#'   there.
#' @param pattern A regular expression that its value, or the body, has to match.
#' @param json The value that the body is, parsed: compared as by `testthat::expect_equal()`.
#' @param ... For `testthat::expect_equal()`, such as `tolerance`.
#' @returns The response, invisibly: expectations can follow each other in a pipe.
#' @seealso [dr_test()]
#' @examplesIf requireNamespace("testthat", quietly = TRUE)
#' app <- dr_app()
#' dr_get(app, "/users/<id:int>", function(req) list(id = req$params$id))
#' client <- dr_test(app)
#' client$get("/users/7") |>
#'   expect_status(200) |>
#'   expect_header("content-type", "application/json") |>
#'   expect_json(list(id = 7L))
#' client$get("/users/x") |> expect_status(404)
#' client$stop()
#' @export
expect_status <- function(response, status) {
  check_test_response(response)
  is_fine <- is.numeric(status) && length(status) && !anyNA(status) && all(status >= 200 & status <= 599)
  if (!is_fine) stop_argument("status", "an integer in 200..599, or several", status, sys.call())
  what <- sprintf("the status is %d, not %s", response$status, paste(status, collapse = " or "))
  expect_of(response, response$status %in% status, what)
}

#' @rdname expect_status
#' @export
expect_header <- function(response, name, value = NULL, pattern = NULL) {
  check_test_response(response)
  check_string(name, "name")
  check_string(pattern, "pattern", null = TRUE)
  values <- unlist(unclass(response$headers)[names(response$headers) == tolower(name)], use.names = FALSE)
  has <- paste0("`", name, "` ", if (length(values)) paste0("is ", format_value(values)) else "is not there")
  if (identical(value, NA) || identical(value, NA_character_)) {
    return(expect_of(response, !length(values), has[[1L]]))
  }
  check_string(value, "value", null = TRUE)
  if (is.null(value) && is.null(pattern)) return(expect_of(response, length(values) > 0L, has[[1L]]))
  if (!is.null(value)) expect_of(response, value %in% values, paste0(has[[1L]], ", not ", format_value(value)))
  if (!is.null(pattern)) {
    expect_of(response, any(grepl(pattern, values)), paste0(has[[1L]], ", and does not match ", format_value(pattern)))
  }
  invisible(response)
}

#' @rdname expect_status
#' @export
expect_json <- function(response, json, ...) {
  check_test_response(response)
  is_json <- !is.null(response$json) || identical(response$text, "null")
  if (!is_json) return(expect_of(response, FALSE, "the body is no JSON"))
  testthat::expect_equal(response$json, json, ..., info = paste(format(response), collapse = "\n"))
  invisible(response)
}

#' @rdname expect_status
#' @export
expect_text <- function(response, pattern) {
  check_test_response(response)
  check_string(pattern, "pattern")
  expect_of(response, !is.na(response$text) && grepl(pattern, response$text),
    paste("the body does not match", format_value(pattern)))
}

# One expectation of testthat.
expect_of <- function(response, ok, what) {
  testthat::expect(ok, paste0(what, "\n", paste(format(response), collapse = "\n")))
  invisible(response)
}

check_test_response <- function(response, call = sys.call(-1L)) {
  if (!requireNamespace("testthat", quietly = TRUE)) {
    stop_drover("argument", "the package 'testthat' is needed for expectations", call = call, argument = "response")
  }
  if (!inherits(response, "dr_test_response")) {
    stop_argument("response", "a response of a client of dr_test()", response, call)
  }
}
