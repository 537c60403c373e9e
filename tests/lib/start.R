# Starts a program that serves, for the tests of all runners in R, and waits until it does. Not for the commands
# themselves, nor for the end of the program: the runners.

# Starts a command and waits until it serves, or has ended; not with `ready = NULL`. `ready` is a function of the lines
# of the log. `out`: a file for standard output, which otherwise goes where standard error goes, to the log. `library`
# is one more library for R to find packages in; further arguments are those of processx.
#
# Value: list(process, which ends when nobody has this object any more; pid; log(), the lines so far; log_file, where
# they are; url, origin (the same without a path), port, those that the log names, or NULL).
start_program <- function(command, env = character(), library = NULL, out = NULL, ready = listens, ...) {
  file <- tempfile("server-", fileext = ".log")
  libraries <- c(R_LIBS = paste(c(library, .libPaths()), collapse = .Platform$path.sep))
  # of two values of a variable the first would count
  libraries <- libraries[!names(libraries) %in% names(env)]
  process <- processx::process$new(command[[1L]], command[-1L], stdout = if (is.null(out)) file else out,
    stderr = if (is.null(out)) "2>&1" else file, env = c("current", libraries, env), ...)
  log <- function() readLines(file, warn = FALSE, encoding = "UTF-8")
  if (!is.null(ready)) within(function() ready(log()) || !process$is_alive(), 60)
  url <- url_of(log())
  list(process = process, pid = process$get_pid(), log = log, log_file = file, url = url,
    origin = if (!is.null(url)) sub("^([a-z]+://[^/]+).*", "\\1", url),
    port = if (!is.null(url)) as.integer(sub("^[a-z]+://.*:([0-9]+)(/.*)?$", "\\1", url)))
}

# The environment of a program in R that starts without the packages that R attaches by itself, in two thirds of the
# time, unless `env` names others.
with_few_packages <- function(env = character()) {
  if ("R_DEFAULT_PACKAGES" %in% names(env)) env else c(env, R_DEFAULT_PACKAGES = "NULL")
}

listening <- "drover listening on (https?://[^ ,]+)"
listens <- function(lines) any(grepl(listening, lines, useBytes = TRUE))
url_of <- function(lines) {
  lines <- grep(listening, lines, value = TRUE, useBytes = TRUE)
  if (length(lines)) sub(paste0(".*", listening, ".*"), "\\1", lines[[1L]])
}
