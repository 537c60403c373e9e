# Timers that code sets with the package 'later' while the app is loaded. They are the server's, not each worker's: what
# is due at once runs before there are workers, and the rest in one of them. Callbacks that packages set, such as steps
# of promises, are left where they are: each process has its own. Neighbours: worker-zygote.R, worker-process.R.

# Runs what is due now, as a server with one process does when it begins to serve. What goes on for ever, as a callback
# that has itself called again at once, is left to the worker that has the timers.
settle_callbacks <- function(seconds = 1) {
  if (!isNamespaceLoaded("later")) return(invisible())
  tryCatch(
    run_callbacks_for(seconds),
    error = function(error) message("drover: a callback failed: ", conditionMessage(error))
  )
  invisible()
}

# The timers that code of the app, or of a session, has set; 'later' has no exported function that tells.
timers_of_code <- function() {
  if (!isNamespaceLoaded("later")) return(list())
  Filter(function(entry) is_of_app(entry$callback), asNamespace("later")$list_queue(later::global_loop()))
}

drop_timers <- function() {
  for (timer in timers_of_code()) {
    asNamespace("later")$cancel(format(timer$id, scientific = FALSE, trim = TRUE), later::global_loop()$id)
  }
}

# In a worker that has just begun.
keep_timers_once <- function(has_them) {
  if (!has_them) return(drop_timers())
  n <- length(timers_of_code())
  if (n == 0L) return(invisible())
  log_line("info", paste0(
    n, if (n == 1L) " timer" else " timers", " of the app, set by later() while it was loaded: this worker has ",
    if (n == 1L) "it" else "them", ", and no other. What each worker needs begins in dr_on_worker_start()"
  ))
}
