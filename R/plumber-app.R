# Routers of the package 'plumber', served through the interface that httpuv calls: filters, hooks, mounts, serializers
# and the rest are plumber's own. Here is what its run() does around serving. Neighbours: rook-app.R; plumber-fast.R,
# the endpoints that need less.

plumber_app <- function(pr) {
  folder <- plumber_folder(pr)
  full <- rook_handler(pr)
  app <- catch_all(to_docs(in_folder(full, folder), function() app$has_docs))
  app$on_error <- attr(pr, "drover_on_error")
  # the option is known when the file has been read
  app$usual <- function() list(on_client_gone = "finish", max_body = plumber_max_body())
  app$further_routes <- function(prefix) fast_routes(pr, prefix, full, folder)
  app$further_statics <- function(prefix) plumber_statics(plan_router(pr), prefix, folder)
  undo <- NULL
  dr_on_start(app, function() {
    undo <<- plumber_prepare(pr, app$run)
    app$has_docs <- isTRUE(docs_of(pr, app$run$docs)$enabled)
  })
  dr_on_stop(app, function() if (!is.null(undo)) undo())
  dr_on_worker_start(app, function() {
    # callbacks of promises run outside of handlers; a session's working directory is its user's
    if (in_process() && !is.null(folder)) {
      setwd(folder)
      working$folders <- union(working$folders, folder)
    }
    if (is_debugging() && is.null(private_of(pr)$debug)) pr$setDebug(TRUE)
  })
  for (hooks in router_hooks(pr)) add_worker_hooks(app, hooks)
  at_exit <- in_folder(function(req) private_of(pr)$runHooks("exit"), folder)
  dr_on_stop(app, function() at_exit(NULL))
}

# What worker_hooks_in() gives, of the files of a router and of those that are mounted on it.
router_hooks <- function(pr) {
  private <- private_of(pr)
  own <- if (!is.null(private$filename)) list(worker_hooks_in(private$parsed, private$lines, private$envir))
  c(own, unlist(lapply(unname(Filter(is_plumber, pr$mounts)), router_hooks), recursive = FALSE))
}

# Redirects a GET of the root, as from a browser, to the docs page if the router has no answer for it.
to_docs <- function(handler, has_docs) {
  force(handler)
  force(has_docs)
  function(req) {
    answer <- handler(req)
    if (!is_response(answer) || answer$status != 404L || req$method != "GET" || !isTRUE(has_docs())) return(answer)
    target <- split_target(req$url, mount_depth(req$route))
    if (target$rest != "/") return(answer)
    dr_redirect(paste0(sub("/$", "", target$path), "/__docs__/"), status = 307L)
  }
}

# Does what run() does before it serves; `given` are its arguments. A function that takes it back.
plumber_prepare <- function(pr, given) {
  plumber <- asNamespace("plumber")
  private <- private_of(pr)
  debug <- private$debug
  private$maxSize <- plumber_option("maxRequestSize", 0)
  if (!is.null(given$debug)) pr$setDebug(given$debug)
  undo_handlers <- pass_aborts(pr)
  docs <- docs_of(pr, given$docs)
  if (isTRUE(docs$enabled)) {
    # the address is for the messages, which are not plumber's to write here
    plumber$mount_docs(pr = pr, host = "127.0.0.1", port = 0L, docs_info = docs, callback = NULL, quiet = TRUE)
  }
  function() {
    private$debug <- debug
    undo_handlers()
    if (isTRUE(docs$enabled)) plumber$unmount_docs(pr, docs)
  }
}

# Errors of dr_abort() are none of plumber's to answer: its error handlers, also those of routers that are mounted, note
# them in the request, where rook_handler() finds them. A function that takes it back.
pass_aborts <- function(pr) {
  private <- private_of(pr)
  own <- private$errorHandler
  private$errorHandler <- function(req, res, err) {
    if (!is_abort(err)) return(own(req, res, err))
    req$drover_abort <- err
    list()
  }
  undo <- lapply(unname(Filter(is_plumber, pr$mounts)), pass_aborts)
  function() {
    private$errorHandler <- own
    for (one in undo) one()
  }
}

# What is known of the docs page; `given`, if it is not NULL, goes before what the router says.
docs_of <- function(pr, given) {
  if (is.null(given)) private_of(pr)$docs_info else asNamespace("plumber")$upgrade_docs_parameter(given)
}
