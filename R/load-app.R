# Loading an app from a file, in a process of its own: never in the session that serves it. Neighbours: zygote.R, run.R.

# While a file is loaded: `file`, and what a dr_serve() in it was given.
loading <- new.env(parent = emptyenv())

is_loading <- function() !is.null(loading$file)

# Called by dr_serve() in a file that is being loaded. `given`: the names of the arguments that it was called with.
register_app <- function(app, on_worker_start, on_worker_stop, given) {
  loading$registered <- list(app = app, on_worker_start = on_worker_start, on_worker_stop = on_worker_stop)
  # `block` means nothing where nobody waits for it
  unused <- setdiff(given, c("", "app", "on_worker_start", "on_worker_stop", "block"))
  if (length(unused)) {
    message(
      "drover: of dr_serve() in ", basename(loading$file), " these are not used: ",
      paste0("`", unused, "`", collapse = ", "), "; the settings are those that the server was started with"
    )
  }
  invisible()
}

stop_load <- function(...) stop_drover("load", paste0(...), call = NULL)

# list(app, on_worker_start, on_worker_stop) of the file, which is evaluated in the global environment. It finds this
# package attached: it needs no library(drover).
load_file <- function(file) {
  if (!"package:drover" %in% search()) attachNamespace("drover")
  enter_folder(file)
  loading$file <- file
  on.exit(rm(list = ls(loading), envir = loading))
  value <- evaluate_file(file)
  if (!is.null(loading$registered)) return(loading$registered)
  if (inherits(value, "dr_app")) return(list(app = value))
  app <- get0("app", globalenv(), inherits = FALSE)
  if (inherits(app, "dr_app")) return(list(app = app))
  stop_load(
    "it makes no app: its last value, or its variable `app`, must be what dr_app() makes, or it must call dr_serve()"
  )
}

# What the file names is beside it, wherever the server was started: while it is loaded, and in the workers.
enter_folder <- function(file) {
  tryCatch(setwd(dirname(file)), error = function(error) {
    stop_load("its folder cannot be entered: ", conditionMessage(error))
  })
}

# The file's last value. An error names the line, as far as it is known.
evaluate_file <- function(file) {
  lines <- tryCatch(
    readLines(file, warn = FALSE, encoding = "UTF-8"),
    error = function(error) stop_load("it cannot be read: ", conditionMessage(error)),
    warning = function(warning) stop_load("it cannot be read: ", conditionMessage(warning))
  )
  expressions <- tryCatch(
    parse(text = lines, keep.source = TRUE, srcfile = srcfilecopy(file, lines, isFile = TRUE), encoding = "UTF-8"),
    error = function(error) stop_load(parse_problem(conditionMessage(error)))
  )
  starts <- vapply(attr(expressions, "srcref"), `[[`, 0L, 1L)
  value <- NULL
  for (i in seq_along(expressions)) {
    value <- tryCatch(
      withCallingHandlers(eval(expressions[[i]], globalenv()), warning = function(warning) {
        tell_warning(sprintf("%s, line %d: %s", basename(file), starts[[i]], load_problem(warning)), warning)
      }),
      error = function(error) stop_load(sprintf("line %d: %s", starts[[i]], load_problem(error)))
    )
  }
  value
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
