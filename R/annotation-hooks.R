# What workers do at their start and end, as a plumber.R can say it: functions below #* @workerStart or #* @workerStop,
# and those of the names on_worker_start and on_worker_stop. plumber itself reads such a file as if they were not there.
# Neighbours: annotations.R and plumber-app.R, which have such files.

# list(start, stop), of functions. `expressions`: a file's, parsed with their source; `lines`: its text; `envir`: where
# it was evaluated.
worker_hooks_in <- function(expressions, lines, envir) {
  hooks <- list(start = named_hook("on_worker_start", envir), stop = named_hook("on_worker_stop", envir))
  for (i in seq_along(expressions)) {
    starts_at <- attr(expressions, "srcref")[[i]][[1L]]
    block <- block_above(lines, starts_at)
    tags <- block$tag[block$tag %in% names(annotated_hooks)]
    if (!length(tags)) next
    # what defines a function does nothing else, and can be evaluated once more
    hook <- eval(expressions[[i]], envir)
    if (!is.function(hook) || length(arity(hook)$required)) {
      stop_load(sprintf("line %d: below #* @%s must be a function without arguments", starts_at, tags[[1L]]))
    }
    # one that has the fixed name, too, is called once
    for (tag in tags) hooks[[annotated_hooks[[tag]]]] <- unique(c(hooks[[annotated_hooks[[tag]]]], hook))
  }
  hooks
}

named_hook <- function(name, envir) {
  hook <- get0(name, envir, mode = "function", inherits = FALSE)
  if (is.null(hook)) return(list())
  check_hook(hook, name, call = NULL)
  list(hook)
}

# Has the workers of an app call them.
add_worker_hooks <- function(app, hooks) {
  for (hook in hooks$start) dr_on_worker_start(app, hook)
  for (hook in hooks$stop) dr_on_worker_stop(app, hook)
}
