# Signals that the session has noted while it serves: src/signals.c, which has what they mean. Whoever waits asks for
# them: serve-block.R, serve-processes.R.

# From now on they are noted, and wake the session.
catch_signals <- function() {
  if (service_running()) .Call(C_service_catch_signals) else .Call(C_session_catch_signals)
}

# c(end, reload, logs were opened again), logical, of those that have come; they are forgotten.
take_signals <- function() {
  signals <- .Call(C_signals_take)
  if (signals[[3L]]) if (service_running()) .Call(C_service_reopen_log) else .Call(C_session_reopen_log)
  signals
}

# Whether a server that has begun to end at this time is to end now: it was told to end a second time, by Ctrl-C or
# a signal. Programs that send a signal both to a process and to its group mean it once.
told_twice <- function(began, interrupt) {
  terminate <- take_signals()[[1L]]
  (interrupt || terminate) && elapsed() - began >= 0.5
}
