# The engine of a session that is its own worker: started, given another app, stopped. Neighbours: serve.R and
# serve-block.R, which call it; worker-handlers.R. Not for worker processes: serve-processes.R.

# `config`: the settings, and the limits among them. What places() makes.
engine_start <- function(config, compiled) {
  open_console()
  if (!is.null(testing$replays)) {
    config$replays <- testing$replays
    compiled <- without_guards(compiled)
  }
  natives <- natives_for_engine(compiled)
  engine_adopt(compiled, config)
  start <- plain_json(list(settings = config_fields(config), app = app_fields(compiled, config)))
  urls <- .Call(C_session_open, start, natives)
  if (is.list(urls)) stop_start(urls)
  places(urls)
}

# An app for a request that is played again: what guards it has let that request pass, and needs what was not kept of
# it. Routes have no time of their own: looking at a handler takes longer.
without_guards <- function(compiled) {
  compiled$policies <- Filter(function(policy) identical(names(policy$rule), "session"), compiled$policies)
  compiled$routes <- lapply(compiled$routes, function(route) route[names(route) != "timeout"])
  compiled
}

# The server of this session goes on with another app: requests wait until those of the one before are answered.
engine_renew <- function(compiled, config) {
  natives <- natives_for_engine(compiled)
  problem <- .Call(C_session_renew, plain_json(app_fields(compiled, config)), natives)
  if (is.list(problem)) stop_start(problem)
  began <- elapsed()
  patience <- config$limits$graceful_timeout
  while (!.Call(C_session_renewed, elapsed() - began >= patience)) {
    if (interrupted %in% c(serve(modes$idle), run_callbacks())) patience <- 0
  }
  end_streams()
  .Call(C_session_forget)
  engine_adopt(compiled, config)
  problem <- .Call(C_session_reopen)
  if (is.list(problem)) stop_start(problem)
}

# Ends streams that have outlasted the time for it: each generator is called once more, to be told so. What takes longer
# than a second is not waited for.
end_streams <- function() {
  began <- elapsed()
  while (.Call(C_streams_end) && elapsed() - began < 1) {
    if (identical(serve(modes$drain), interrupted)) break
  }
}

# Serves for `seconds`, or until all connections of a draining server have ended. `interrupted` when the server is told
# a second time to end.
serve_for <- function(seconds) {
  began <- elapsed()
  while (elapsed() - began < seconds) {
    outcome <- serve(modes$drain)
    if (identical(outcome, outcomes$stopped)) return(outcome)
    called <- run_callbacks()
    if (told_twice(began, interrupted %in% c(outcome, called))) return(interrupted)
  }
  outcomes$quiet
}

# Ends the server when the requests in flight are answered, or after `graceful_timeout` seconds. For `drain_delay`
# seconds before, it goes on as it did.
engine_stop <- function(graceful_timeout, drain_delay) {
  engine$interrupted <- FALSE
  .Call(C_session_leave)
  told_again <- identical(serve_for(drain_delay), interrupted)
  .Call(C_session_drain)
  if (!told_again) serve_for(graceful_timeout)
  end_streams()
  .Call(C_session_close)
  give_up_tasks()
  engine$scope <- engine$on_error <- NULL
  invisible()
}
