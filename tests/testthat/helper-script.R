# A whole R script in a child process that serves its own way: what tests of life cycles start from.
# Not for tests of an app's answers: those have local_server() (helper-server.R).

# A script in a child R process with a pipe as its standard input, once it listens: what start_program() gives, out(),
# the lines of standard output, and marks (../lib/marks.R).
local_script <- function(lines, stdin = "|", frame = parent.frame()) {
  folder <- tempfile("drover-script-")
  dir.create(folder)
  file <- file.path(folder, "script.R")
  writeLines(c("library(drover)", "sys.source(Sys.getenv('GATES'), globalenv())", lines), file)
  out <- file.path(folder, "stdout.log")
  marks <- new_marks()
  script <- c(start_program(c(file.path(R.home("bin"), "Rscript"), "--vanilla", file), c(MARKS = marks), out = out,
    stdin = stdin), marks = marks)
  withr::defer({
    script$process$kill()
    unlink(c(folder, marks), recursive = TRUE)
  }, frame)
  if (is.null(script$url)) stop("the script does not listen:\n", paste(script$log(), collapse = "\n"), call. = FALSE)
  script$out <- function() readLines(out, warn = FALSE)
  script
}

# Runs a script of its own to the end: list(status, stdout lines, stderr lines). Killed after `timeout` seconds.
run_script <- function(lines, timeout = patience(60)) {
  file <- withr::local_tempfile(fileext = ".R")
  writeLines(c("library(drover)", lines), file)
  ran <- processx::run(file.path(R.home("bin"), "Rscript"), c("--vanilla", file), error_on_status = FALSE, timeout = timeout,
    env = c("current", R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep)))
  list(status = ran$status, stdout = strsplit(ran$stdout, "\n")[[1]], stderr = strsplit(ran$stderr, "\n")[[1]])
}

# Lines of R for a script: fetch_here(url) asks with curl while this session goes on serving; the body's text.
fetch_here_lines <- c(
  "fetch_here <- function(url, ..., wait = 60) {",
  "  ask <- processx::process$new('curl', c('-s', '--max-time', wait, ..., url), stdout = '|')",
  "  while (ask$is_alive()) later::run_now(0.02)",
  "  ask$read_all_output()",
  "}"
)

# An R console on a pseudo terminal: write(line), shows(pattern) -> TRUE once the screen shows it. `serve(lines,
# ...)` serves the app that these lines make, with these arguments of dr_serve(), and gives list(port), for fetch().
local_console <- function(env = character(), frame = parent.frame()) {
  process <- processx::process$new(file.path(R.home("bin"), "R"), c("--vanilla", "--quiet", "--interactive", "--no-readline"),
    pty = TRUE, env = c("current", TERM = "dumb", env, R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep)))
  withr::defer(process$kill(), frame)
  screen <- ""
  read <- function() screen <<- paste0(screen, process$read_output())
  write <- function(line) process$write_input(paste0(line, "\n"))
  shows <- function(pattern, seconds = 30) within(function() {
    read()
    grepl(pattern, screen)
  }, seconds)
  serve <- function(lines, ...) {
    file <- withr::local_tempfile(fileext = ".R", .local_envir = frame)
    writeLines(c("library(drover)", "app <- dr_app()", lines), file)
    write(sprintf("source(%s, keep.source = TRUE)", deparse(file)))
    write(sprintf("dr_serve(app, port = 0L, %s)", paste(..., sep = ", ")))
    if (!shows("listening on http://[^ ]*:[0-9]+")) stop("the console does not listen:\n", screen)
    list(port = as.integer(sub(".*listening on http://[^ ]*:([0-9]+).*", "\\1", screen)))
  }
  list(process = process, write = write, shows = shows, serve = serve, screen = function() screen)
}
