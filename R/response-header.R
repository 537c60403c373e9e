# Changing the header of a response. Neighbours: check-headers.R; response-cookie.R.

#' Set a header field of a response
#'
#' @param response A response, or anything else that a handler may return, which is made into one first.
#' @param name The name of the field: a single string.
#' @param value Its value: a single string or number; several become several fields; `NULL` removes the field.
#' @param append `TRUE` to keep fields of that name that are there already.
#' @returns The response, a `dr_response` as [dr_response()] makes it, with that field.
#' @section Errors: `drover_error_argument` when an argument is not as described.
#' @examples
#' dr_set_header("Hello", "Cache-Control", "max-age=60")
#' dr_set_header(dr_html("<p>Hello</p>"), "Link", "</style.css>; rel=preload", append = TRUE)
#' @export
dr_set_header <- function(response, name, value, append = FALSE) {
  response <- as_response(response)
  check_string(name, "name")
  check_flag(append, "append")
  headers <- response$headers
  if (!append) headers[header_at(headers, name)] <- NULL
  added <- list(value)
  names(added) <- name
  response$headers <- c(headers, check_headers(added))
  response
}
