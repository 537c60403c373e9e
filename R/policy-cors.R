# Pages of other origins. Not for those that open a WebSocket: `origins` of dr_ws(). Neighbours: policy.R,
# policy-csrf.R.

#' Let pages of other origins use an app
#'
#' Browsers let a page read what its own server answers, and nothing of any other server unless that one says so
#' (cross-origin resource sharing, CORS). `dr_cors()` names the origins whose pages may use an app. The engine says so
#' in its responses, and answers the questions that browsers ask before some requests (pre-flights): without R, however
#' busy R is.
#'
#' It is said in all responses below the paths that it covers: of handlers in R and C, streams and static files, and of
#' errors, whoever answers them. What a handler says of the same is replaced where the page is let in. `Vary: Origin` is
#' added to what it says otherwise, unless `origins` is `"*"`.
#'
#' A pre-flight is answered with 204 before all else, for a path that is unknown as well: with the methods that the path
#' has, the fields that may be sent, and how long the answer holds. A page that is not let in is told nothing.
#'
#' CORS admits pages; it blocks no requests. The server also answers a page that may not read the response, and the
#' browser withholds it: see [dr_csrf()] for refusing requests. WebSockets have a rule of their own, `origins` of
#' [dr_ws()].
#'
#' @section Several policies: A policy covers paths: those of the app, when it is mounted all below its prefix, or those
#'   below `routes`. It covers everything there, including static files and answers of other apps. When several cover a
#'   request the closest one counts alone: that of a mounted app takes precedence over that of the app around it, and of
#'   one app the one that was registered last.
#'
#' @param app An app, see [dr_app()]. Of a router of plumber or an app of httpuv or Rook, [dr_rook()] makes one.
#' @param origins Whose pages: a character vector of origins, that is scheme, host and, unless it is the usual one,
#'   port. `"https://*.example.org"` stands for all sub-domains, `"*"` for all origins, `"null"` for pages without an
#'   origin, such as files: any site can make such a page. Case does not matter.
#' @param methods Methods that such pages may use: a character vector, or `NULL` for those that the path has.
#' @param headers Header fields that they may send beyond the usual ones: a character vector of names, or `"*"`.
#' @param expose Header fields of responses that they may read beyond the usual ones: a character vector of names, or
#'   `"*"`.
#' @param credentials `TRUE` if browsers are to send cookies along. Then nothing may be `"*"`.
#' @param max_age How long browsers may remember the answer to a pre-flight: a single number of seconds, or a time such
#'   as `"10m"`; 0 for not at all. Browsers have upper limits of their own, such as two hours.
#' @param routes Paths below which it holds: a character vector, such as `"/api"`, with placeholders as in [dr_get()];
#'   `NULL` for all paths of the app.
#' @returns `app`, invisibly; it is changed in place.
#' @section Errors: `drover_error_argument` when an argument is not as described, or when something is `"*"` with
#'   `credentials`.
#' @seealso [dr_csrf()], [dr_security_headers()], [dr_rate_limit()]
#' @examples
#' app <- dr_app()
#' dr_get(app, "/api/time", function(req) list(now = Sys.time()))
#' dr_cors(app, c("https://app.example.org", "http://localhost:3000"), credentials = TRUE, routes = "/api")
#' @export
dr_cors <- function(app, origins, methods = NULL, headers = "Content-Type", expose = character(), credentials = FALSE,
                    max_age = 600, routes = NULL) {
  check_registrar(app)
  call <- sys.call()
  origins <- check_origin_list(origins, "origins", call)
  methods <- check_policy_methods(methods, call)
  headers <- check_field_names(headers, "headers", call)
  expose <- check_field_names(expose, "expose", call)
  check_flag(credentials, "credentials")
  max_age <- as_seconds(max_age)
  check_seconds_or_none(max_age, "max_age")
  given <- list(origins = origins, headers = headers, expose = expose)
  wild <- vapply(given, function(list) "*" %in% list, NA)
  if (credentials && any(wild)) {
    problem <- "`%s` must not have \"*\" when `credentials` is TRUE: browsers refuse that; name them"
    arg <- names(given)[wild][[1L]]
    stop_drover("argument", sprintf(problem, arg), call = call, argument = arg)
  }
  rule <- c(given, list(credentials = credentials, max_age = max_age), if (!is.null(methods)) list(methods = methods))
  add_policy(app, list(cors = rule), routes, call)
}

check_policy_methods <- function(methods, call) {
  if (is.null(methods)) return()
  if (is.character(methods) && length(methods) && all(toupper(methods) %in% known_methods)) {
    return(as.list(unique(toupper(methods))))
  }
  right <- paste("NULL or a character vector of methods out of", paste(known_methods, collapse = ", "))
  stop_argument("methods", right, methods, call)
}
