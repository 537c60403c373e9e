# What this process has opened that its forks must not share: connections to databases, children, threads. It is found
# by src/fork_safety.c; here is when that looks, and what follows. Neighbours: zygote.R (processes that load an app),
# service.R (sessions).

# When the package comes into a session. What is there already is of the program that hosts R, such as an editor: unless
# R may have connections by then, which nobody can tell from those.
watch_session <- function() {
  open <- showConnections()[, "class"]
  connects <- c("DBI", "redux", "mongolite", "rJava")
  if (any(open %in% c("sockconn", "servsockconn", "pipe", "fifo")) || any(connects %in% loadedNamespaces())) return()
  .Call(C_fork_safety_watch)
}

# While a file is loaded: what is new since the last call came from this line.
came_from <- function(file, line) .Call(C_fork_safety_came_from, sprintf("%s, line %d", basename(file), line))

# In words, "" for nothing.
unshared <- function() {
  found <- .Call(C_fork_safety_found)
  if (!nzchar(found)) return(found)
  # what nobody has any more is closed by that
  collect_garbage()
  .Call(C_fork_safety_found)
}

# The file of a copy of the session's app, when workers cannot be forks of this session; NULL when they can, or must be.
copied_app <- function(app, pool, on_worker_start, on_worker_stop, call) {
  if (identical(pool$start, "spawn")) return(save_object(app, on_worker_start, on_worker_stop, call))
  if (identical(pool$start, "fork")) return(NULL)
  found <- unshared()
  if (!nzchar(found)) return(NULL)
  tryCatch(
    {
      file <- save_object(app, on_worker_start, on_worker_stop, call)
      message(
        "drover: workers are forked from a copy of the app, as forks must not share what this session has opened: ",
        found, ". Open it in dr_on_worker_start() for handlers that need it"
      )
      file
    },
    drover_error_argument = function(error) {
      message("drover: workers are forks of this session: ", conditionMessage(error))
    }
  )
}
