# What every worker would otherwise do for itself at its first requests, done once before there is a worker: then it is
# quicker with them, and their memory is shared. Called by worker-zygote.R.

# Returns `compiled`, see compile_app(), with its functions as byte code, and compiles the functions beside them in the
# app's file. R would compile each function on its second call, and starting the compiler alone takes some 20 ms. An app
# with thousands of routes must not wait for all of them: after `seconds` of CPU time, the rest is left to R.
warm_up <- function(compiled, seconds = 0.2) {
  if (compiler::enableJIT(-1L) == 0L) return(compiled)
  until <- proc.time()[[1L]] + seconds
  scopes <- list()
  in_time <- function(f) {
    if (proc.time()[[1L]] < until) byte_compiled(f, function(scope) scopes <<- c(scopes, scope)) else f
  }
  compiled$on_error <- lapply(compiled$on_error, in_time)
  compiled$handlers <- lapply(compiled$handlers, in_time)
  for (scope in unique(scopes)) compile_scope(scope, in_time)
  compiled
}

# The functions of an environment, but for those that would have to be computed first or may not be changed.
compile_scope <- function(scope, compile) {
  for (name in ls(scope, all.names = TRUE)) {
    value <- .Call(C_inspection_settled, scope, name)
    if (is.null(value) || bindingIsLocked(name, scope)) next
    if (is_of_app(value[[1L]])) assign(name, compile(value[[1L]]), scope)
  }
}

# Whether it is a function in R that no package has.
is_of_app <- function(f) typeof(f) == "closure" && !isNamespace(topenv(environment(f)))

# What is garbage now is not to be copied by every worker that finds it so. A full collection also keeps workers' own
# from writing to what lives long; it takes 40 ms even when there is next to nothing, which is only worth it for more.
collect_garbage <- function() {
  megabytes <- sum(gc(full = FALSE)[, 2L])
  if (megabytes > 100) gc()
  invisible()
}

# R fetches a function of a package when it is first used. One that an interrupt kept from being fetched may be stuck
# for ever ("promise already under evaluation"), and handlers are interrupted at any time: so all that answering a
# request comes to is fetched before there is one, R's own functions with it: some milliseconds.
fetch_functions <- function() {
  home <- topenv()
  all <- c(ls(home, all.names = TRUE), ls(baseenv(), all.names = TRUE))
  waiting <- c(
    "serve", "run_callbacks", "callbacks_due_in", "guard", "note_trace", "log_warning", "fail_request",
    "interrupt_request", "reply_failure", "await", "stop_field", "as_response"
  )
  fetched <- character()
  while (length(waiting)) {
    fetched <- c(fetched, waiting)
    used <- lapply(waiting, function(name) {
      value <- get(name, home)
      if (is.function(value)) all.names(body(value), unique = TRUE)
    })
    waiting <- setdiff(intersect(unlist(used), all), fetched)
  }
  invisible(fetched)
}

# The same of another package, all of it.
fetch_package <- function(package) invisible(eapply(asNamespace(package), identity, all.names = TRUE))

# Functions of packages are byte code already, this one's among them. Those that compile_app() has put around a handler
# have it in their environment, some in a list or a call. `note` is called with the environment of each that is
# compiled.
byte_compiled <- function(f, note) {
  if (is.list(f) || is.call(f)) {
    for (i in which(vapply(f, function(one) is_of_app(one) || is.call(one), NA))) f[[i]] <- byte_compiled(f[[i]], note)
  }
  if (is_of_app(f)) {
    note(environment(f))
    return(tryCatch(compiler::cmpfun(f, options = list(suppressAll = TRUE)), error = function(error) f))
  }
  scope <- if (typeof(f) == "closure") environment(f)
  if (is.null(scope) || isNamespace(scope) || !identical(topenv(scope), topenv())) return(f)
  held <- c("middleware", "inner", "handler", "fast", "fn", "endpoint", "plain")
  for (name in intersect(held, names(scope))) scope[[name]] <- byte_compiled(scope[[name]], note)
  # as C has it
  if (!is.null(attr(f, "plain"))) attr(f, "plain") <- scope$plain
  f
}
