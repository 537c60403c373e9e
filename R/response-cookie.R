# Cookies of a response. Those of a request are read with dr_cookie() (request.R).

#' Set a cookie
#'
#' Adds a `Set-Cookie` field to a response. The defaults are the safe ones: scripts cannot read the cookie, and other
#' sites do not get it sent along.
#'
#' @inheritParams dr_set_header
#' @param name The cookie's name: a single string of letters, digits and hyphens.
#' @param value The cookie's value: a single string, sent percent-encoded where a cookie cannot hold a character, which
#'   `dr_cookie()` undoes; `NULL` makes the client delete the cookie (with the same `path` and `domain`).
#' @param max_age How long the client keeps the cookie, in seconds: a single integer, or `NULL` to keep it until the
#'   browser is closed.
#' @param path,domain Where the client sends the cookie to: single strings; `domain = NULL` is this host only.
#' @param secure `TRUE` to send the cookie over TLS only. `same_site = "None"` needs it.
#' @param http_only `FALSE` to let scripts of the page read the cookie.
#' @param same_site `"Lax"`, `"Strict"` or `"None"`: whether requests that other sites cause carry the cookie.
#' @returns The response, a `dr_response` as [dr_response()] makes it, with that cookie. A cookie of the same name that
#'   it set before is replaced.
#' @section Errors: `drover_error_argument` when an argument is not as described, or when the cookie is longer than 4096
#'   bytes.
#' @seealso [dr_cookie()]
#' @examples
#' dr_set_cookie("Welcome back", "visits", "7", max_age = 86400)
#' dr_set_cookie("Goodbye", "visits", NULL)
#' @export
dr_set_cookie <- function(response, name, value, max_age = NULL, path = "/", domain = NULL, secure = FALSE,
                          http_only = TRUE, same_site = "Lax") {
  response <- as_response(response)
  call <- sys.call()
  if (!is_string(name) || !is_token(name)) {
    stop_argument("name", "a single string of letters, digits and hyphens", name, call)
  }
  check_string(value, "value", null = TRUE)
  if (is.null(value)) max_age <- 0L
  if (!is.null(max_age)) check_count(max_age, "max_age", 0)
  check_flag(secure, "secure")
  check_flag(http_only, "http_only")
  if (!is_string(same_site) || !same_site %in% c("Lax", "Strict", "None")) {
    stop_argument("same_site", "one of \"Lax\", \"Strict\", \"None\"", same_site, call)
  }
  if (same_site == "None" && !secure) {
    problem <- "`secure` must be TRUE when `same_site` is \"None\": browsers refuse it otherwise"
    stop_drover("argument", problem, argument = "secure")
  }
  check_cookie_part(path, "path", call)
  if (!is.null(domain)) check_cookie_part(domain, "domain", call)

  start <- paste0(name, "=")
  cookie <- paste(c(
    paste0(start, if (!is.null(value)) percent_encode(value, cookie_bytes)),
    if (!is.null(max_age)) sprintf("Max-Age=%.0f", max_age),
    paste0("Path=", path), if (!is.null(domain)) paste0("Domain=", domain),
    if (secure) "Secure", if (http_only) "HttpOnly", paste0("SameSite=", same_site)
  ), collapse = "; ")
  # RFC 6265, section 6.1: what every browser takes
  if (nchar(cookie, "bytes") > 4096L) {
    stop_drover("argument", "the cookie must not be longer than 4096 bytes in all", argument = "value")
  }
  headers <- response$headers
  earlier <- header_at(headers, "set-cookie")
  headers[earlier[startsWith(as.character(headers[earlier]), start)]] <- NULL
  response$headers <- c(headers, list("Set-Cookie" = cookie))
  response
}

# RFC 6265, section 4.1.1: cookie-octet, without the percent sign, which starts an encoded byte
cookie_bytes <- byte_set(paste0(alphanumeric, "!#$&'()*+-./:<=>?@[]^_`{|}~"))

check_cookie_part <- function(x, arg, call) {
  if (!is_string(x) || !nzchar(x) || grepl("[^!-:<-~]", x)) {
    stop_argument(arg, "a single string of plain characters without ';'", x, call)
  }
}
