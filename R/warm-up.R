# What every worker would otherwise do for itself at its first requests, done once before there is a worker: then it is
# quicker with them, and their memory is shared. Called by zygote.R.

# Returns `compiled`, see compile_app(), with its functions as byte code. R does that with each function that it calls for
# the second time; the compiler alone takes it some 20 ms to get going.
warm_up <- function(compiled) {
  load_package_functions()
  if (compiler::enableJIT(-1L) == 0L) return(compiled)
  compiled$handlers <- lapply(compiled$handlers, byte_compiled)
  compiled$on_error <- lapply(compiled$on_error, byte_compiled)
  compiled
}

# Functions of a package are read from its files when they are called for the first time.
load_package_functions <- function() {
  namespace <- topenv()
  for (name in ls(namespace, all.names = TRUE)) get(name, envir = namespace, inherits = FALSE)
}

# The functions that compile_app() has put around a handler are byte code already: theirs is the handler in their environment.
byte_compiled <- function(f) {
  if (typeof(f) != "closure") return(f)
  scope <- environment(f)
  if (identical(topenv(scope), topenv()) && !identical(scope, topenv())) {
    for (name in intersect(c("middleware", "inner", "handler"), names(scope))) {
      scope[[name]] <- byte_compiled(scope[[name]])
    }
    return(f)
  }
  tryCatch(compiler::cmpfun(f, options = list(suppressAll = TRUE)), error = function(error) f)
}
