# Callbacks of the package 'later', called between requests. Neighbours: worker-loop.R; worker-timers.R, those that the
# app has set while it was loaded.

# Callbacks of 'later', and promises with them. One that fails, however it does, is logged like a handler that fails.
run_callbacks <- function() {
  if (!isNamespaceLoaded("later")) return(outcomes$quiet)
  outcome <- .Call(C_worker_guarded, callbacks, 0L)
  # Ctrl-C while one of them was serve_idle()
  if (isTRUE(engine$interrupted)) {
    engine$interrupted <- FALSE
    return(interrupted)
  }
  if (identical(outcome, outcomes$aborted)) log_line("error", "a callback failed: it jumped to top level")
  outcome
}

callbacks <- function(unused) {
  tryCatch(
    {
      # in a worker process nothing interrupts them, but R looks for time limits only where it looks for interrupts
      remembering_requests(allowInterrupts(run_due_callbacks()))
      outcomes$quiet
    },
    error = function(condition) {
      log_line("error", paste("a callback failed:", describe_condition(condition)))
      failed
    },
    interrupt = function(condition) interrupted
  )
}

# Seconds of callbacks before requests have their turn: a thousand promises may be resolved at once.
callbacks_at_once <- 0.005

# Says in the loop whether more are due; when one fails, that is seen the next time.
run_due_callbacks <- function() {
  .Call(C_worker_leaves_callbacks, TRUE)
  if (run_callbacks_for(callbacks_at_once)) .Call(C_worker_leaves_callbacks, FALSE)
  if (!is.null(engine$after_callbacks)) engine$after_callbacks()
}

# Whether none is left that is due.
run_callbacks_for <- function(seconds) {
  end <- elapsed() + seconds
  while (later::run_now(0, all = FALSE)) {
    if (elapsed() >= end) return(FALSE)
  }
  TRUE
}

# Called from C, in a process without the thread of 'later': seconds until a callback is due.
callbacks_due_in <- function(unused) if (isNamespaceLoaded("later")) later::next_op_secs() else Inf
