# An app's file, run as its own R process until the caller is done with it. Not for asking it anything: transcript.R.

# Starts Rscript on a file that serves an app on the port in the environment variable PORT; or, with `workers`, the
# program drover with so many worker processes. `library` is one more library for it to find packages in.
start_app <- function(file, port = 0L, library = NULL, workers = NULL) {
  command <- if (is.null(workers)) {
    c(file.path(R.home("bin"), "Rscript"), file)
  } else {
    c(system.file("bin", "drover", package = "drover"), "serve", file, "--port", port, "--workers", workers)
  }
  start_program(command, c(PORT = as.character(port)), library, cleanup_tree = TRUE)
}

# Ends an app the way Ctrl-C does: serving stops and the script runs to its end. Gives its exit status, or says that it
# had to be killed.
stop_app <- function(server) {
  tools::pskill(server$process$get_pid(), tools::SIGINT)
  server$process$wait(patience() * 1000)
  if (server$process$is_alive()) {
    server$process$kill_tree()
    return(c("none: it was killed, as it had not ended", utils::tail(server$log(), 5L)))
  }
  server$process$get_exit_status()
}
