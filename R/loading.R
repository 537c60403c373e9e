# A file that is being loaded: what is known of it, its text, how its errors and warnings are told, and what its code
# finds in the place of others' functions. Neighbours: load-app.R, which loads it; annotations.R.

# While a file is loaded: `file`, and the arguments of a dr_serve() in it (`registered`). `ahead`: the expression that
# is evaluated and those after it, `line` where it starts; `rook`: the Rook servers in the file; `servers`: those of
# httpuv. `trace`: errors are reported with the calls that led to them, for a developer of the file. `go_on`: a function
# of what is registered that never comes back, in a process that loads the file in order to serve it.
loading <- list2env(list(trace = FALSE), parent = emptyenv())

is_loading <- function() !is.null(loading$file)

# No file is loaded any more.
end_loading <- function() {
  rm(list = setdiff(ls(loading), "trace"), envir = loading)
  clear_before_base()
}

# Called by dr_serve() in a file that is being loaded, and by what else would serve there. `given`: the names of the
# arguments that it was called with; `by`: how it is called. It does not come back, as if it blocked: what follows in
# the file is for the time after the server, or keeps a program alive beside it.
register_app <- function(app, on_worker_start, on_worker_stop, given, by = "dr_serve()") {
  loading$registered <- list(app = app, on_worker_start = on_worker_start, on_worker_stop = on_worker_stop)
  # `block` has no effect here: the call never returns
  unused <- setdiff(given, c("", "app", "on_worker_start", "on_worker_stop", "block"))
  if (length(unused)) {
    message(
      "drover: of ", by, " in ", basename(loading$file), " these are not used: ",
      paste0("`", unused, "`", collapse = ", "), "; the settings are those that the server was started with"
    )
  }
  serve_from_here()
}

# Evaluates code until it registers an app, where that does not end in serving it.
until_registered <- function(code) withRestarts(code, drover_registered = function() NULL)

# Where the process is to serve the app, it goes on from here: what the functions do on.exit() that called dr_serve(),
# such as close a connection to a database, is for the time after the server. Elsewhere the file is left. The process
# has nothing of the file's own handlers of conditions, nor of those of the code that loads it.
serve_from_here <- function() {
  go_on <- loading$go_on
  if (is.null(go_on)) return(invisible(tryInvokeRestart("drover_registered")))
  if (!is.null(loading$line)) came_from(loading$file, loading$line)
  registered <- loading$registered
  end_loading()
  .Call(C_zygote_apart, function() go_on(registered))
}

# The value of code that is not the app's file itself, but reads it, or is an expression.
load_by <- function(code) {
  tryCatch(until_registered(code), error = function(error) stop_load(load_problem(error)))
}

stop_load <- function(...) stop_drover("load", paste0(...), call = NULL)

# The expressions of a file, with their source.
parse_file <- function(file) {
  lines <- tryCatch(
    readLines(file, warn = FALSE, encoding = "UTF-8"),
    error = function(error) stop_load("it cannot be read: ", conditionMessage(error)),
    warning = function(warning) stop_load("it cannot be read: ", conditionMessage(warning))
  )
  tryCatch(
    parse(text = lines, keep.source = TRUE, srcfile = srcfilecopy(file, lines, isFile = TRUE), encoding = "UTF-8"),
    error = function(error) stop_load(parse_problem(conditionMessage(error)))
  )
}

# The line of the file that fails, and the calls from there to the error. The first `below` calls are those of the
# loader, NA when their number is not known; the last ones are those of the condition.
load_trace <- function(calls, below, expression, file, line) {
  last <- max(which(!call_names(calls) %in% c("", ".handleSimpleError", "h", "stop", "stop_drover")))
  between <- if (!is.na(below) && last > below) calls[seq(below + 1L, last)]
  # the outermost is the line itself
  c(sprintf("%s at %s:%d", one_line(expression), file, line), if (length(between) > 1L) trace_of(between[-1L]))
}

# R shows warnings when it is back at top level, which is when the server has ended: these are shown at once.
tell_warning <- function(text, warning) {
  # they are to be errors
  if (getOption("warn") >= 2) return()
  if (getOption("warn") >= 0) message("drover: warning: ", text)
  tryInvokeRestart("muffleWarning")
}

# The message, and the call as R shows it: "object 'x' not found in f(1)".
load_problem <- function(error) {
  call <- conditionCall(error)
  # of what the file has on its top level, and of this package's own checks, the message says it all
  shown <- !is.null(call) && !inherits(error, "drover_error") && !identical(call[[1L]], quote(eval))
  paste0(valid_text(conditionMessage(error)), if (shown) paste0(" in ", one_line(call)))
}

# R's message on text that does not parse starts with "<text>:LINE:COLUMN: " or "FILE:LINE:COLUMN: ", and goes on with
# an excerpt.
parse_problem <- function(message) {
  parts <- regmatches(message, regexec("^[^\n]*?:([0-9]+):([0-9]+): ([^\n]*)", message, perl = TRUE))[[1L]]
  if (!length(parts)) return(message)
  sprintf("line %s, column %s: %s", parts[[2L]], parts[[3L]], parts[[4L]])
}

# Puts a function in the place of one of another package, also where that is attached already.
stand_in <- function(package, name, fun) {
  utils::assignInNamespace(name, fun, package)
  replace_attached(package, name, fun)
}

# While a file is loaded, `replacement` is called in the place of a function of another package, which handlers may call
# as it is. `otherwise`: that is called, too, when `replacement` comes back.
while_loading <- function(package, name, replacement, otherwise = FALSE) {
  # another version may not have it
  own <- get0(name, asNamespace(package), inherits = FALSE)
  if (is.null(own)) return()
  force(replacement)
  stand_in(package, name, function(...) {
    if (!is_loading()) return(own(...))
    value <- replacement(...)
    if (otherwise) own(...) else invisible(value)
  })
}

replace_attached <- function(package, name, fun) {
  attached <- paste0("package:", package)
  if (!attached %in% search()) return()
  where <- as.environment(attached)
  unlockBinding(name, where)
  assign(name, fun, where)
}

# Until the file is loaded, its code finds these functions before those of R that they stand in for, unless it names the
# package. What other packages call is not touched.
put_before_base <- function(functions) {
  if (!loading_place %in% search()) base::attach(NULL, name = loading_place, warn.conflicts = FALSE)
  list2env(functions, as.environment(loading_place))
}

loading_place <- "drover:loading"

# Has the file's own code call `wait` where it waits for a time, or for the console.
notice_waits <- function(wait) {
  put_before_base(list(
    Sys.sleep = function(time) {
      wait()
      base::Sys.sleep(time)
    },
    readline = function(prompt = "") {
      wait()
      base::readline(prompt)
    }
  ))
}

clear_before_base <- function() if (loading_place %in% search()) detach(loading_place, character.only = TRUE)
