# What comes after the start: a session that blocks serves, or looks after its worker processes, until it is stopped;
# one that does not is left to itself. Neighbours: serve-session.R, serve-processes.R, signals.R.

# Serves until dr_stop(), Ctrl-C or a signal; whether it was one of these two.
engine_block <- function() {
  repeat {
    outcome <- serve(modes$block)
    signals <- take_signals()
    if (signals[[1L]] || identical(outcome, interrupted)) return(TRUE)
    if (signals[[2L]]) {
      tryCatch(reload_session(), error = function(error) {
        log_line("error", paste("not reloaded:", conditionMessage(error)))
      })
    } else if (identical(outcome, outcomes$stopped) && !signals[[3L]]) {
      return(FALSE)
    }
    if (identical(run_callbacks(), interrupted)) return(TRUE)
  }
}

# After the start: announces the server, and serves. Ctrl-C may come as soon as it is announced, and must end the server
# cleanly: so signals are caught before that, and interrupts allowed only where they are handled.
go_on <- function(block, announce) {
  if (block) return(suspendInterrupts(block_until_stopped(announce)))
  announce()
  go_idle()
}

# The session is left to itself: events come as callbacks, and so do requests where it is the worker. The package
# 'later' takes longer to load than a worker to start, so it is loaded where it is needed, and when the server listens.
go_idle <- function() {
  loadNamespace("later")
  if (service_running()) .Call(C_service_go_idle) else .Call(C_session_go_idle)
}

# Until dr_stop(), Ctrl-C, or a signal that says so; then all is stopped.
block_until_stopped <- function(announce) {
  engine$interrupted <- FALSE
  catch_signals()
  on.exit({
    allowInterrupts(dr_stop())
    .Call(C_signals_release)
    if (by_signal) leave_by_signal()
  })
  by_signal <- FALSE
  announce()
  by_signal <- tryCatch(
    allowInterrupts(if (service_running()) service_block() else engine_block()),
    interrupt = function(condition) TRUE
  )
  invisible()
}

# Looks after the server until dr_stop(), Ctrl-C, SIGTERM or its end; whether it was one of the two in the middle.
service_block <- function() {
  while (service_running()) {
    service_idle()
    signals <- take_signals()
    if (signals[[1L]]) return(TRUE)
    if (signals[[2L]]) {
      tryCatch(service_reload(NULL), error = function(error) message("drover: not reloaded: ", conditionMessage(error)))
    }
    if (identical(run_callbacks(), interrupted)) return(TRUE)
    if (service_running()) .Call(C_service_wait, 5)
  }
  FALSE
}
