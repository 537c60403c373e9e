# A worker process, in R: what it does from its fork to its end. Its signals, and how it waits, are in src/process.c.
# Neighbours: worker-zygote.R (which processes become workers), worker-loop.R (the guard around handlers).

# The whole life of a worker. `order`: its number, whether it has the app's timers, and the number of its pool.
# `hooks`: start and stop, lists of functions. Its exit status.
worker_process <- function(order, compiled, hooks) {
  number <- order[[1L]]
  pool <- name_of_pool(compiled, order[[3L]])
  hooks <- lapply(hooks, hooks_in_pool, pool)
  .Call(C_title, paste0("drover: worker ", number, if (nzchar(pool)) paste0(" (", pool, ")")))
  start_random_stream(number)
  options(device = null_device)
  # R shows warnings when it is at top level, where a worker never is; those of handlers are logged, but callbacks have
  # some too
  if (identical(as.integer(getOption("warn")), 0L)) options(warn = 1L)
  keep_timers_once(order[[2L]] == 1L)
  problem <- run_worker_hooks(hooks$start)
  if (!is.null(problem)) {
    problem <- paste("on_worker_start failed:", problem)
  } else {
    note_session()
    problem <- tryCatch(.Call(C_process_ready, natives_for_engine(compiled)), error = function(error) {
      valid_text(conditionMessage(error))
    })
  }
  if (!is.null(problem)) {
    .Call(C_process_failed, problem)
    return(1L)
  }
  repeat {
    if (identical(serve(modes$block), outcomes$stopped)) break
    if (damage$found) {
      log_line("error", "an interrupt has left R unable to fetch a function: the worker ends, another takes its place")
      return(1L)
    }
    run_callbacks()
  }
  # promises under way
  while (!identical(serve(modes$drain), outcomes$stopped)) run_callbacks()
  problem <- run_worker_hooks(rev(hooks$stop))
  if (!is.null(problem)) log_line("error", paste("on_worker_stop failed:", problem))
  0L
}
