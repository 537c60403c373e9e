# Header fields that tell browsers to be careful. Neighbour: policy.R.

#' Tell browsers to be careful with an app
#'
#' Adds header fields to all responses below the paths that it covers, of handlers, files and errors, by which browsers
#' guard a site and its visitors. What a handler sets itself stays as it is. (`X-Content-Type-Options: nosniff` is in
#' every response of a server in any case.)
#'
#' When several cover a request the closest one counts alone, as for [dr_cors()].
#'
#' @param app An app, see [dr_app()].
#' @param referrer_policy `Referrer-Policy`: what other sites learn of the page that links to them. A single string, or
#'   `NULL` to leave the field out, as for all that follow.
#' @param frame_options `X-Frame-Options`: whether pages may be shown inside those of other sites. `"SAMEORIGIN"` or
#'   `"DENY"`. Where `content_security_policy` has `frame-ancestors`, browsers go by that.
#' @param cross_origin_opener_policy `Cross-Origin-Opener-Policy`: whether windows of other sites keep a hold on a page
#'   that they have opened. `"same-origin"`, `"same-origin-allow-popups"`, `"noopener-allow-popups"` or `"unsafe-none"`.
#' @param permissions_policy `Permissions-Policy`: what pages may use of the browser, such as `"camera=(),
#'   geolocation=()"`.
#' @param content_security_policy `Content-Security-Policy`: where scripts, styles and all else may come from, such as
#'   `"default-src 'self'"`. There is none by default, as a wrong one breaks a page.
#' @param routes Paths below which it holds: a character vector, such as `"/app"`, with placeholders as in [dr_get()];
#'   `NULL` for all paths of the app.
#' @returns `app`, invisibly; it is changed in place.
#' @section Errors: `drover_error_argument` when an argument is not as described.
#' @seealso [dr_csrf()], [dr_cors()]
#' @examples
#' app <- dr_app()
#' dr_get(app, "/", function(req) dr_html("<h1>Hello</h1>"))
#' dr_security_headers(app, content_security_policy = "default-src 'self'; frame-ancestors 'none'")
#' @export
dr_security_headers <- function(app, referrer_policy = "strict-origin-when-cross-origin", frame_options = "SAMEORIGIN",
                                cross_origin_opener_policy = "same-origin", permissions_policy = NULL,
                                content_security_policy = NULL, routes = NULL) {
  check_registrar(app)
  call <- sys.call()
  check_choice_or_null(frame_options, "frame_options", c("SAMEORIGIN", "DENY"))
  check_choice_or_null(cross_origin_opener_policy, "cross_origin_opener_policy", opener_policies)
  check_words(referrer_policy, "referrer_policy", referrer_policies, call)
  given <- list(
    "Referrer-Policy" = referrer_policy, "X-Frame-Options" = frame_options,
    "Cross-Origin-Opener-Policy" = cross_origin_opener_policy, "Permissions-Policy" = permissions_policy,
    "Content-Security-Policy" = content_security_policy
  )
  check_policy_text(permissions_policy, "permissions_policy", call)
  check_policy_text(content_security_policy, "content_security_policy", call)
  given <- Filter(Negate(is.null), given)
  fields <- unname(Map(function(name, value) list(name = name, value = enc2utf8(value)), names(given), given))
  add_policy(app, list(security_headers = fields), routes, call)
}

opener_policies <- c("same-origin", "same-origin-allow-popups", "noopener-allow-popups", "unsafe-none")

referrer_policies <- c(
  "no-referrer", "no-referrer-when-downgrade", "same-origin", "origin", "strict-origin", "origin-when-cross-origin",
  "strict-origin-when-cross-origin", "unsafe-url"
)

# Several may be given, with commas in between: a browser takes the last one that it knows.
check_words <- function(x, arg, known, call) {
  if (is.null(x)) return(invisible())
  if (is_string(x) && nzchar(x) && all(trimws(strsplit(x, ",", fixed = TRUE)[[1L]]) %in% known)) return(invisible())
  stop_argument(arg, paste("NULL or one of", paste0("\"", known, "\"", collapse = ", ")), x, call)
}

# The value of a field.
check_policy_text <- function(x, arg, call) {
  if (is.null(x)) return(invisible())
  if (is_string(x) && nzchar(x) && !has_control(x) && !grepl("[^ -~]", x)) return(invisible())
  stop_argument(arg, "NULL or a single string of ASCII characters without line breaks", x, call)
}
