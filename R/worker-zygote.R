# The zygote: the process that has the app and that workers are forked from. Its loop is src/zygote.c; here is how it
# comes by its app. Neighbours: load-app.R (files), worker-spawn.R (apps of another session), worker-process.R (what a
# worker does).

# Forks a zygote of this session. list(descriptor, process id), for the supervisor.
fork_zygote <- function(config, compiled, hooks) {
  settings <- plain_json(config_fields(config))
  routes <- app_json(compiled, config)
  collect_garbage()
  found <- unshared()
  if (nzchar(found)) {
    message(
      "drover: workers cannot use what this session has opened, as forks must not share it: ", found,
      ". Open it in dr_on_worker_start() for handlers that need it"
    )
  }
  forked <- .Call(C_zygote_fork, function(descriptor) {
    # what it has of the server is its parent's
    rm(list = ls(server), envir = server)
    if (!is.null(.Call(C_zygote_enter, descriptor, settings))) return(1L)
    .Call(C_title, "drover: zygote")
    # what it must not share it has no more
    if (nzchar(found)) plan_without_sessions()
    # the session has them
    drop_timers()
    run_zygote(config, compiled, routes, hooks, "")
  })
  if (is.character(forked)) stop_drover("system", paste("a process cannot be forked:", forked), call = NULL)
  forked
}

# The whole life of a zygote once its app is there; `routes` is what the server has to know of it, as JSON, and `held`
# what forks must not share. 0, 1 when the server would not have the app, or, in a list, the order to be a worker, see
# worker_process().
run_zygote <- function(config, compiled, routes, hooks, held) {
  engine_adopt(warm_up(compiled), config)
  prepare_random_streams()
  problem <- .Call(C_zygote_report, routes, held)
  if (!is.null(problem)) {
    .Call(C_zygote_fail, problem)
    return(1L)
  }
  order <- .Call(C_zygote_run, function(order) {
    if (nzchar(held)) plan_without_sessions()
    worker_process(order, compiled, hooks)
  })
  if (is.null(order)) 0L else list(order)
}

# What a fresh R process runs whose standard input is a control channel: R -e 'drover:::zygote_main()' --args FILE.
# Instead of a file: --object FILE, what spawn_source() has written; further, --kind KIND, see load-kind.R, and --hooks
# FILE: worker hooks, saved by serve-file.R; --trace: errors are told with the calls that led to them; --mcp, see
# mcp-stdio.R. What is behind -- are arguments of the app.
zygote_main <- function(arguments = commandArgs(trailingOnly = TRUE)) {
  settings <- .Call(C_zygote_variable, "DROVER_SETTINGS")
  secret <- .Call(C_zygote_variable, "DROVER_SECRET")
  problem <- .Call(C_zygote_adopt, settings)
  if (!is.null(problem)) {
    message("drover: ", problem)
    quit(save = "no", status = 2L)
  }
  .Call(C_fork_safety_watch)
  words <- split_arguments(arguments)
  loading$go_on <- function(registered) serve_loaded(ready_for_zygote(registered, words$own), settings)
  serve_loaded(load_for_zygote(words, secret), settings)
}

# The rest of its life: to the end of R. `loaded`: see load_for_zygote(), a promise that may fail.
serve_loaded <- function(loaded, settings) {
  problem <- tryCatch({
    loaded
    NULL
  }, error = function(error) conditionMessage(error))
  if (!is.null(problem)) {
    .Call(C_zygote_fail, problem)
    quit(save = "no", status = 1L)
  }
  collect_garbage()
  config <- dr_from_json(settings)
  status <- run_zygote(config, loaded$compiled, app_json(loaded$compiled, config), loaded$hooks, unshared())
  if (is.list(status)) status <- worker_process(status[[1L]], loaded$compiled, loaded$hooks)
  # once for the server, and not with each worker or generation that goes
  last <- .Call(C_process_ends_server)
  if (last) {
    for (hook in loaded$stop) {
      tryCatch(hook(), error = function(error) message("drover: stop hook failed: ", conditionMessage(error)))
    }
  }
  quit(save = "no", status = status, runLast = last)
}

# list(compiled, hooks, stop): `stop` are functions to call at the end of the server. `words`: see split_arguments(). It
# does not come back where the file serves the app by itself, see serve_from_here().
load_for_zygote <- function(words, secret) {
  arguments <- words$own
  after <- function(name) option_of(arguments, name)
  engine$seal_key <- shared_key(secret, "seal key")
  saved <- after("--object")
  if (!is.null(saved)) {
    .Call(C_title, "drover: zygote")
    # its start hooks have run in the session, where its stop hooks will
    loaded <- load_object(saved)
    return(list(
      compiled = compile_app(loaded$app),
      hooks = worker_hooks(loaded$app, loaded$on_worker_start, loaded$on_worker_stop), stop = list()
    ))
  }
  .Call(C_title, paste("drover: zygote", basename(arguments[[1L]])))
  note_runs()
  share_keys(secret)
  loading$key <- shared_key(secret, "loading")
  if ("--trace" %in% arguments) trace_loading()
  ready_for_zygote(load_file(arguments[[1L]], after("--kind") %||% "auto", words$app), arguments)
}

# The same of what a file has made, see load_file().
ready_for_zygote <- function(loaded, arguments) {
  with_file_policies(loaded$app)
  endpoint <- ready_for_stdio(loaded$app, arguments)
  hooks <- option_of(arguments, "--hooks")
  given <- if (!is.null(hooks)) readRDS(hooks)
  compiled <- withCallingHandlers(compile_app(loaded$app), warning = function(warning) {
    tell_warning(conditionMessage(warning), warning)
  })
  if (!is.null(endpoint)) compiled$mcp <- target_of(endpoint)
  apps <- app_tree(loaded$app)
  for (one in apps) {
    for (hook in one$on_start) {
      withCallingHandlers(run_start_hook(hook, "start hook", NULL), warning = function(warning) {
        tell_warning(paste("start hook:", load_problem(warning)), warning)
      })
    }
  }
  settle_callbacks()
  compiled$timers <- length(timers_of_code()) > 0L
  stop <- rev(unlist(lapply(apps, `[[`, "on_stop"), recursive = FALSE))
  list(
    compiled = compiled, stop = stop,
    hooks = worker_hooks(
      loaded$app, c(loaded$on_worker_start, given$on_worker_start), c(loaded$on_worker_stop, given$on_worker_stop)
    )
  )
}
