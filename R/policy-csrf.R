# Requests that pages of other sites send. Not for what such pages may read: policy-cors.R. Neighbour: policy.R.

#' Refuse requests that pages of other sites forge
#'
#' A page of any site may have a browser send a form to this server, together with the cookies that it has for it: so a
#' visitor of that page orders, pays or deletes something without knowing (cross-site request forgery, CSRF). An app
#' that knows its users by cookies or by HTTP authentication needs a guard; with this one no form needs a token.
#'
#' The engine refuses with 403, before R hears of it, a request whose method changes something (any but `GET`, `HEAD`
#' and `OPTIONS`), if it comes from another site. Browsers say so in the field `Sec-Fetch-Site`: it must be
#' `same-origin` or, for what the user has typed, `none`. Older browsers send `Origin`, whose host must be that of
#' `Host`. Programs that are no browsers send neither, and pass. Handlers for `GET` must not change anything.
#'
#' WebSockets have a rule of their own, `origins` of [dr_ws()]. When several guards cover a request the closest one
#' counts, as for [dr_cors()].
#'
#' @param app An app, see [dr_app()].
#' @param trusted Origins whose pages may send such requests all the same: a character vector, such as
#'   `"https://www.example.org"` or `"https://*.example.org"`. Needed also behind a proxy that changes `Host`, for
#'   browsers older than 2023.
#' @param routes Paths below which it holds: a character vector, such as `"/account"`, with placeholders as in
#'   [dr_get()]; `NULL` for all paths of the app.
#' @returns `app`, invisibly; it is changed in place.
#' @section Errors: `drover_error_argument` when an argument is not as described.
#' @seealso [dr_security_headers()], [dr_cors()]; [dr_set_cookie()], whose `same_site` is a second guard.
#' @examples
#' app <- dr_app()
#' dr_post(app, "/transfer", function(req) "done")
#' dr_csrf(app)
#' @export
dr_csrf <- function(app, trusted = character(), routes = NULL) {
  check_registrar(app)
  trusted <- check_origin_list(trusted, "trusted", sys.call(), any = FALSE)
  add_policy(app, list(csrf = list(trusted = trusted)), routes, sys.call())
}
