# What an app does before it is served and afterwards. Neighbours: serve.R, which runs the hooks.

#' Run code when the server starts and stops
#'
#' Start hooks run in the order of registration, before the server listens: the place to open a database connection or
#' to load a model. Stop hooks run after the server has stopped, the last registered first.
#'
#' When a start hook fails, [dr_serve()] stops with that error, and the server does not start. Once the start hooks have
#' begun, the stop hooks run in any case, so they must cope with a start that did not get far. A stop hook that fails is
#' reported by a warning, and the others run all the same.
#'
#' An app in a file, see [dr_run()], has its start hooks run in each process that loads the file: in one that workers
#' are forked from, again at a reload, or in each worker where they load it by themselves. Stop hooks run once, when
#' the server ends, in the last process that has loaded the file; not when a worker ends, and not after a reload. One
#' that fails is reported in the log.
#'
#' @param app An app, see [dr_app()].
#' @param fn A function without arguments.
#' @returns `app`, invisibly; it is changed in place.
#' @section Errors: `drover_error_argument` when an argument is not as described.
#' @examples
#' app <- dr_app()
#' state <- new.env()
#' dr_on_start(app, function() state$visits <- 0L)
#' dr_on_stop(app, function() message(state$visits, " visits"))
#' dr_get(app, "/", function(req) {
#'   state$visits <- state$visits + 1L
#'   list(visits = state$visits)
#' })
#' @name hooks
NULL

#' Run code in each worker
#'
#' Functions that run in every process that handles requests: start hooks before its first request, stop hooks after its
#' last. The place to open a database connection, which processes cannot share, and to close it. They run in the order
#' of registration, those of mounted apps and those given to [dr_serve()] or [dr_run()] after them; stop hooks in the
#' reverse order. With `workers = 1` that process is the session that serves, and they run once.
#'
#' A worker whose start hook fails does not serve. When that happens while the server starts, [dr_serve()] fails; when
#' it happens later, the worker is started again after a while. A stop hook that fails is logged. A worker that is
#' killed or crashes runs no stop hooks.
#'
#' @param app An app, see [dr_app()].
#' @param fn A function without arguments.
#' @param pool The name of a pool of workers, see [dr_get()]: `fn` runs in its workers only. `""` for the workers of
#'   routes without one, `NULL` for all.
#' @returns `app`, invisibly; it is changed in place.
#' @section Errors: `drover_error_argument` when an argument is not as described.
#' @seealso [dr_on_start()] for what is done once, before there are workers.
#' @examples
#' app <- dr_app()
#' cache <- new.env()
#' dr_on_worker_start(app, function() cache$opened <- Sys.time())
#' dr_on_worker_stop(app, function() rm(list = ls(cache), envir = cache))
#' dr_get(app, "/", function(req) format(cache$opened))
#' @name worker_hooks
NULL

#' @rdname worker_hooks
#' @export
dr_on_worker_start <- function(app, fn, pool = NULL) {
  check_registrar(app)
  check_hook(fn)
  check_pool(pool, sys.call(), empty = TRUE)
  app$on_worker_start[[length(app$on_worker_start) + 1L]] <- hook_in_pool(fn, pool)
  invisible(app)
}

#' @rdname worker_hooks
#' @export
dr_on_worker_stop <- function(app, fn, pool = NULL) {
  check_registrar(app)
  check_hook(fn)
  check_pool(pool, sys.call(), empty = TRUE)
  app$on_worker_stop[[length(app$on_worker_stop) + 1L]] <- hook_in_pool(fn, pool)
  invisible(app)
}

#' @rdname hooks
#' @export
dr_on_start <- function(app, fn) {
  check_registrar(app)
  check_hook(fn)
  app$on_start[[length(app$on_start) + 1L]] <- fn
  invisible(app)
}

#' @rdname hooks
#' @export
dr_on_stop <- function(app, fn) {
  check_registrar(app)
  check_hook(fn)
  app$on_stop[[length(app$on_stop) + 1L]] <- fn
  invisible(app)
}
