# What commands have in common: their arguments, and the app that they are about. Neighbour: command.R.

# What follows an option, NULL where that was not given.
option_of <- function(arguments, name) {
  arguments <- split_arguments(arguments)$own
  if (name %in% arguments) arguments[[match(name, arguments) + 1L]]
}

# The app of FILE [--kind KIND] [-- ARGUMENTS], loaded as a server loads it. What the file prints is no answer to the
# command.
load_for_command <- function(arguments) {
  words <- split_arguments(arguments)
  arguments <- words$own
  kind <- option_of(arguments, "--kind") %||% "auto"
  note_runs()
  .Call(C_fork_safety_watch)
  sink(stderr())
  on.exit(sink())
  tryCatch(with_file_policies(load_file(arguments[[1L]], kind, words$app)$app), drover_error = function(error) {
    stop_drover("load", paste0("cannot load ", arguments[[1L]], ": ", conditionMessage(error)), call = NULL)
  })
}
