# What this process is and what runs in it, for all files that need it; it depends only on C. Neighbour: src/state.c.

# What is being served: app, apps (it and all mounted ones), graceful_timeout, places (see places()), url (the first of
# them), worker_hooks, and for worker processes those fields that serve-processes.R names; empty when nothing is.
server <- new.env(parent = emptyenv())

# What handlers need to be called: scope (an environment with the handlers by name), on_error, debug, plumber (how its
# endpoints are answered), max_body_given (plumber's own limit does not count then), json_limits and seal_key (what
# calls of dr_mcp() seal with, the same in all processes of a server). And interrupted: whether Ctrl-C was pressed where
# nothing could be done about it, see serve_idle(). And after_callbacks: what an app wants called when callbacks of
# 'later' have run, or NULL.
engine <- new.env(parent = emptyenv())

# What is known of the failure under way: `trace`, the calls from the handler to the error; `ours`, the call that the
# last condition names, if this package has made it; `stop_at`, a function that is called below an error, if any.
failure <- new.env(parent = emptyenv())

# R fetches functions of packages, its own too, when they are first used. Two interrupts in a row, where clients come
# and go fast, can leave one "under evaluation" for ever, and with it every request that needs it.
damage <- list2env(list(possible = FALSE, found = FALSE), parent = emptyenv())

# The folders of the routers that a worker process has, which is in the last of them.
working <- new.env(parent = emptyenv())

# The client of dr_test() whose server runs now, or NULL; `replays`, what the engine is told of a request that is played
# again, see replay.R.
testing <- new.env(parent = emptyenv())

# What src/worker.c is told to do, and why it came back.
modes <- list(idle = 0L, block = 1L, drain = 2L)
outcomes <- list(stopped = 0L, events = 1L, quiet = 2L, aborted = 3L)
# Of guard(): a handler failed, or Ctrl-C was pressed.
failed <- 4L
interrupted <- 5L

# Whether this is a worker or a zygote, and not somebody's session.
in_process <- function() .Call(C_process_state)

# Whether this session has worker processes that serve.
service_running <- function() .Call(C_service_running)

# Whether requests are served: here, or by the worker processes of this session.
engine_running <- function() .Call(C_worker_state)[[1L]] || service_running()

# Whether a handler is running now.
engine_in_handler <- function() .Call(C_worker_state)[[2L]] || .Call(C_streams_state)

# Whether the server that runs is one of dr_run(), whose app is in a file.
serves_file <- function() is.null(server$given)

is_debugging <- function() isTRUE(if (in_process()) engine$debug else server$config$debug)

check_not_process <- function(call = sys.call(-1L)) {
  if (!in_process()) return()
  stop_drover(
    "not_running", "this is a process of a server: what started the server controls it, a session or a program",
    call = call
  )
}

elapsed <- function() proc.time()[["elapsed"]]
