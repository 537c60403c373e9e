# What this process has opened that its forks must not share: connections to databases, children, threads. It is found
# by src/fork_safety.c; here is when that looks, and what follows. Neighbour: worker-zygote.R.

# When the package comes into a session. What is open already belongs to the program that hosts R, such as an editor:
# unless R may have opened connections by then, which cannot be told from the program's.
watch_session <- function() {
  open <- showConnections()[, "class"]
  connects <- c("DBI", "redux", "mongolite", "rJava")
  if (any(open %in% c("sockconn", "servsockconn", "pipe", "fifo")) || any(connects %in% loadedNamespaces())) return()
  .Call(C_fork_safety_watch)
}

# While a file is loaded: what is new since the last call came from this line.
came_from <- function(file, line) .Call(C_fork_safety_came_from, sprintf("%s, line %d", basename(file), line))

# In words, "" for nothing. Call it after a garbage collection, which closes what is no longer referenced.
unshared <- function() .Call(C_fork_safety_found)

# In a worker that is forked from a process that had something of the kind. Futures that go to other sessions would
# fail, each one: here they are evaluated where they are asked for, unless a hook makes another plan.
plan_without_sessions <- function() {
  if (!isNamespaceLoaded("future")) return()
  future <- asNamespace("future")
  if (!any(vapply(future$plan("list"), inherits, NA, "cluster"))) return()
  # the sessions cannot be told to end, and are not this process's
  tryCatch(future$plan(future$sequential), error = function(error) NULL)
}
