# Another app, or the same one changed, for a server that goes on: its port stays open, and no request fails.
# Neighbours: serve.R (dr_serve() comes here when it finds a server), serve-control.R (dr_reload()), serve-processes.R
# (new worker processes).

# Whether dr_serve() may take over what this session serves: not from a handler.
can_replace <- function() {
  !in_process() && engine_running() && !engine_in_handler() && !is.null(server$url)
}

# Whether the settings are those of the server that runs; port 0 is any.
same_settings <- function(given) {
  running <- server$given
  if (given$settings$port == 0) given$settings$port <- running$settings$port
  isTRUE(all.equal(given, running))
}

# Gives the server another app. Its start hooks run before, the stop hooks of the one before after it took over; those
# of an app that is the same object do not run.
replace_app <- function(app, given, compiled, on_worker_start, on_worker_stop, call) {
  before <- server$apps
  new <- app_tree(app)
  is_among <- function(one, apps) any(vapply(apps, identical, NA, one))
  coming <- Filter(function(one) !is_among(one, before), new)
  going <- Filter(function(one) !is_among(one, new), before)
  for (one in coming) {
    for (hook in one$on_start) run_start_hook(hook, "start hook", call)
  }
  hooks <- worker_hooks(app, on_worker_start, on_worker_stop)
  config <- server$config
  if (service_running()) {
    renew_service(app, config, given$pool, compiled, hooks, on_worker_start, on_worker_stop, call)
  } else {
    stop <- if (length(coming)) server$worker_stop
    if (length(coming)) {
      for (hook in hooks$start) run_start_hook(hook, "on_worker_start", call)
      server$worker_stop <- rev(hooks$stop)
    }
    engine_renew(compiled, config)
    # the server has closed those of the app before
    for (one in before) if (!is.null(one$leave_websockets)) one$leave_websockets()
    for (hook in stop) run_stop_hook(hook, "on_worker_stop")
  }
  server$app <- app
  server$apps <- new
  app$port <- server$places$port
  for (one in going) one$serving <- FALSE
  for (one in new) one$serving <- TRUE
  for (one in rev(going)) {
    for (hook in rev(one$on_stop)) run_stop_hook(hook, "stop hook")
  }
}

# New worker processes for `app`; when they cannot be started, those before go on.
renew_service <- function(app, config, pool, compiled, hooks, on_worker_start, on_worker_stop, call) {
  renew <- server$renew
  adopt <- server$adopt
  done <- FALSE
  on.exit(if (!done) server$renew <- renew)
  renew_from(app, config, pool, compiled, hooks, on_worker_start, on_worker_stop, call)
  # another zygote of the present generation is still of the app before
  server$adopt <- adopt
  reload_service(call)
  done <- TRUE
}

# New workers of the source that is set; an error when they do not come to serve.
reload_service <- function(call) {
  service_reload(call)
  event <- service_wait(c("reloaded", "reload_failed"))
  if (identical(event$what, "stopped")) stop_drover("reload", "the server has stopped", call = call)
  if (identical(event$what, "reload_failed")) stop_drover("reload", event$text, call = call)
}
