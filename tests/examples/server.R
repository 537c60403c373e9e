# An app's file, run as its own R process until the caller is done with it. Not for asking it anything: transcript.R.

# TRUE as soon as `condition()` is, FALSE after some seconds.
wait_for <- function(condition, seconds) {
  deadline <- Sys.time() + seconds
  while (!isTRUE(condition())) {
    if (Sys.time() > deadline) return(FALSE)
    Sys.sleep(0.02)
  }
  TRUE
}

# Starts Rscript on a file that serves an app on the port in the environment variable PORT; or, with `workers`, the
# program drover with so many worker processes. `library` is one more library for it to find packages in.
start_app <- function(file, port = 0L, library = NULL, workers = NULL) {
  command <- if (is.null(workers)) {
    c(file.path(R.home("bin"), "Rscript"), file)
  } else {
    c(system.file("bin", "drover", package = "drover"), "serve", file, "--port", port, "--workers", workers)
  }
  start_command(command, port, library)
}

# Starts a command that serves an app.
# Gives a list: process (of processx), url (NULL when it did not come to listen) and log() (the lines it has written).
start_command <- function(command, port = 0L, library = NULL) {
  log_file <- tempfile("log-")
  libraries <- paste(c(library, .libPaths()), collapse = .Platform$path.sep)
  process <- processx::process$new(
    command[[1L]], command[-1L],
    stdout = log_file, stderr = "2>&1", env = c("current", PORT = as.character(port), R_LIBS = libraries),
    cleanup_tree = TRUE
  )
  log <- function() readLines(log_file, warn = FALSE, encoding = "UTF-8")
  listening <- function() grep("drover listening on ", log(), value = TRUE)
  wait_for(function() length(listening()) || !process$is_alive(), 30)
  url <- if (length(listening())) sub(".*listening on (http://[^ ]+).*", "\\1", listening()[[1L]])
  list(process = process, url = url, log = log)
}

# Ends an app the way Ctrl-C does: serving stops and the script runs to its end. Gives its exit status, or says that it
# had to be killed.
stop_app <- function(server) {
  tools::pskill(server$process$get_pid(), tools::SIGINT)
  server$process$wait(30000)
  if (server$process$is_alive()) {
    server$process$kill_tree()
    return(c("none: it was killed, as it had not ended after 30 s", utils::tail(server$log(), 5L)))
  }
  server$process$get_exit_status()
}
