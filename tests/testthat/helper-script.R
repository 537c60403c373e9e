# A whole R script in a child process that serves its own way: what tests of life cycles start from.
# Not for tests of an app's answers: those have local_server() (helper-server.R).

# A script in a child R process with a pipe as its standard input: process, and the port once it listens.
local_script <- function(lines, stdin = "|", frame = parent.frame()) {
  folder <- tempfile("drover-script-")
  dir.create(folder)
  file <- file.path(folder, "script.R")
  writeLines(c("library(drover)", lines), file)
  out <- file.path(folder, "stdout.log")
  err <- file.path(folder, "stderr.log")
  process <- processx::process$new(file.path(R.home("bin"), "Rscript"), c("--vanilla", file), stdin = stdin,
    stdout = out, stderr = err, env = c("current", R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep)))
  withr::defer({
    process$kill()
    unlink(folder, recursive = TRUE)
  }, frame)
  err_lines <- function() readLines(err, warn = FALSE)
  ready <- function() grep("listening on http://", err_lines(), value = TRUE)
  if (!eventually(function() length(ready()) > 0 || !process$is_alive(), 20) || !length(ready())) {
    stop("the script does not listen:\n", paste(err_lines(), collapse = "\n"), call. = FALSE)
  }
  port <- as.integer(sub(".*http://[^ ]*:([0-9]+).*", "\\1", ready()[[1]]))
  list(process = process, port = port, pid = process$get_pid(), out = function() readLines(out, warn = FALSE), log = err_lines)
}

# Runs a script of its own to the end: list(status, stdout lines, stderr lines). Killed after `timeout` seconds.
run_script <- function(lines, timeout = 60) {
  file <- withr::local_tempfile(fileext = ".R")
  writeLines(c("library(drover)", lines), file)
  ran <- processx::run(file.path(R.home("bin"), "Rscript"), c("--vanilla", file), error_on_status = FALSE, timeout = timeout,
    env = c("current", R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep)))
  list(status = ran$status, stdout = strsplit(ran$stdout, "\n")[[1]], stderr = strsplit(ran$stderr, "\n")[[1]])
}

# Lines of R for a script: fetch_here(url) asks with curl while this session goes on serving; the body's text.
fetch_here_lines <- c(
  "fetch_here <- function(url, ..., wait = 10) {",
  "  ask <- processx::process$new('curl', c('-s', '--max-time', wait, ..., url), stdout = '|')",
  "  while (ask$is_alive()) later::run_now(0.02)",
  "  ask$read_all_output()",
  "}"
)

# An R console on a pseudo terminal: write(line), wait_for(pattern) -> TRUE once the screen shows it. `serve(lines,
# ...)` serves the app that these lines make, with these arguments of dr_serve(), and gives list(port), for fetch().
local_console <- function(env = character(), frame = parent.frame()) {
  process <- processx::process$new(file.path(R.home("bin"), "R"), c("--vanilla", "--quiet", "--interactive", "--no-readline"),
    pty = TRUE, env = c("current", TERM = "dumb", env, R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep)))
  withr::defer(process$kill(), frame)
  screen <- ""
  read <- function() screen <<- paste0(screen, process$read_output())
  write <- function(line) process$write_input(paste0(line, "\n"))
  wait_for <- function(pattern, seconds = 10) eventually(function() {
    read()
    grepl(pattern, screen)
  }, seconds)
  serve <- function(lines, ...) {
    file <- withr::local_tempfile(fileext = ".R", .local_envir = frame)
    writeLines(c("library(drover)", "app <- dr_app()", lines), file)
    write(sprintf("source(%s, keep.source = TRUE)", deparse(file)))
    write(sprintf("dr_serve(app, port = 0L, %s)", paste(..., sep = ", ")))
    if (!wait_for("listening on http://[^ ]*:[0-9]+", 20)) stop("the console does not listen:\n", screen)
    list(port = as.integer(sub(".*listening on http://[^ ]*:([0-9]+).*", "\\1", screen)))
  }
  list(process = process, write = write, wait_for = wait_for, serve = serve, screen = function() screen)
}
