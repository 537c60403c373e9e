# Putting one app below a path of another. Not for folders of files: app-static.R.
# Neighbours: app-compile.R, which follows the mounts when the server starts.

#' Mount an app below a path of another
#'
#' The routes, in R and in C, and the static mounts of `app2` answer below `prefix`. This is looked up when the server
#' starts, so `app2` may get routes before and after it is mounted, and may be mounted in several places.
#'
#' The middleware of `app2` runs inside that of `app`, for the routes in R of `app2` only. Errors of its routes go to
#' its own [dr_on_error()] function or, when it has none, to that of `app`. Its start hooks run after those of `app`,
#' its stop hooks before them, once each however often it is mounted. The path in `req$path` keeps the prefix. Requests
#' that match nothing are answered by the [dr_not_found()] handler of the app that is served; that of a mounted app is
#' not used.
#'
#' @param app An app, see [dr_app()].
#' @param prefix A path such as `"/api"`: a single string. It may have placeholders, like the paths of [dr_get()]; their
#'   values are in `req$params` with those of the route. `"/"` mounts at the root.
#' @param app2 The app to mount; or a router of the package 'plumber', or an app of Shiny, httpuv, Rook or
#'   Rserve, see [dr_rook()].
#' @param pool The name of the pool of workers that the routes in R of `app2` have that name none, see [dr_get()], and
#'   in whose workers the hooks of `app2` for workers run; or `NULL`.
#' @returns `app`, invisibly; it is changed in place.
#' @section Errors: `drover_error_argument` when an argument is not as described, or when mounting would make `app` a
#'   part of itself.
#' @examples
#' api <- dr_app()
#' dr_get(api, "/status", function(req) list(ok = TRUE))
#'
#' app <- dr_app()
#' dr_get(app, "/", function(req) "front page")
#' dr_mount(app, "/api", api)
#' app
#' @export
dr_mount <- function(app, prefix, app2, pool = NULL) {
  check_registrar(app)
  check_pool(pool, sys.call())
  prefix <- check_prefix(prefix, "prefix", sys.call())
  if (nzchar(prefix)) parse_path(prefix, sys.call(), "prefix")
  app2 <- as_app(app2, "app2", sys.call())
  if (any(vapply(app_tree(app2), identical, NA, app))) {
    problem <- "`app2` must not contain `app`: mounting it would make `app` a part of itself"
    stop_drover("argument", problem, argument = "app2")
  }
  has_visitors <- function(one) !is.null(one$rest_websocket)
  if (!is.null(pool) && any(vapply(app_tree(app2), has_visitors, NA))) {
    problem <- "an app of httpuv or Shiny cannot have a `pool`: its WebSockets are in the workers of routes without one"
    stop_drover("argument", problem, argument = "pool")
  }
  app$mounts[[length(app$mounts) + 1L]] <- list(prefix = prefix, app = app2, pool = pool)
  invisible(app)
}
