# Hooks: collected from the apps that are served, and called. Not for registering them: app-hooks.R.

# NULL, or the message of the first that failed. Warnings are logged: a worker would never show them. Time limits that a
# hook sets hold, as R checks them where it checks for interrupts.
run_worker_hooks <- function(hooks) {
  warn <- function(condition) {
    log_line("warn", paste("warning:", describe_condition(condition)))
    tryInvokeRestart("muffleWarning")
  }
  tryCatch(
    {
      for (hook in hooks) withCallingHandlers(allowInterrupts(hook()), warning = warn)
      NULL
    },
    error = function(error) valid_text(conditionMessage(error))
  )
}

# The hooks of all apps that serving `app` reaches, in order, and those given to dr_serve() or dr_run() after them.
worker_hooks <- function(app, on_worker_start, on_worker_stop) {
  apps <- app_tree(app)
  pools <- pools_of_mounts(app)
  hooks_of <- function(field) {
    hooks <- lapply(apps, function(one) {
      # an app that is mounted for several pools has its hooks run in all workers
      pool <- unique(pools$pool[vapply(pools$app, identical, NA, one)])
      of_all <- length(pool) > 1L || is.na(pool)
      lapply(one[[field]], function(hook) {
        if (of_all || !is.null(attr(hook, "pool"))) hook else hook_in_pool(hook, pool)
      })
    })
    unlist(hooks, recursive = FALSE)
  }
  list(start = c(hooks_of("on_worker_start"), on_worker_start), stop = c(hooks_of("on_worker_stop"), on_worker_stop))
}

run_start_hook <- function(hook, what, call) {
  withCallingHandlers(hook(), error = function(error) {
    stop_drover("hook", paste0(what, " failed: ", conditionMessage(error)), call = call, parent = error)
  })
}

run_stop_hook <- function(hook, what) {
  tryCatch(hook(), error = function(error) {
    warning(what, " failed: ", conditionMessage(error), call. = FALSE)
  })
}
