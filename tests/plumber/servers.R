# The two servers of an app. Each is list(process, port, log).

# As its users run it without drover. `start`: R code that serves on `port`.
start_other <- function(folder, start, port) {
  code <- sprintf("setwd(%s); port <- %dL; %s", deparse(folder), port, start)
  start_process(c(file.path(R.home("bin"), "Rscript"), "--vanilla", "-e", code), port)
}

# `how`: a value of --plumber, or "own" for as if plumber were not installed.
start_drover <- function(folder, port, how) {
  program <- system.file("bin", "drover", package = "drover")
  what <- if (how == "own") sprintf("drover:::annotated_app(%s)", deparse(file.path(folder, "plumber.R"))) else folder
  options <- if (how != "own") c("--plumber", how)
  start_process(c(program, "serve", what, "--port", port, "--workers", "2", options), port, folder)
}

# Waits until it can be connected to.
start_process <- function(command, port, folder = NULL) {
  log <- tempfile("log-")
  process <- processx::process$new(
    command[[1L]], command[-1L], stdout = log, stderr = "2>&1", cleanup_tree = TRUE, wd = folder,
    env = c("current", R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep))
  )
  can_connect <- function() {
    connection <- tryCatch(
      suppressWarnings(socketConnection("127.0.0.1", port, open = "r+b", timeout = 1)), error = function(error) NULL
    )
    if (is.null(connection)) return(FALSE)
    close(connection)
    TRUE
  }
  within(function() can_connect() || !process$is_alive(), 60)
  server <- list(process = process, port = port, log = function() readLines(log, warn = FALSE))
  if (!process$is_alive()) stop("it did not start:\n", paste(server$log(), collapse = "\n"), call. = FALSE)
  server
}

stop_server <- function(server) {
  tools::pskill(server$process$get_pid(), tools::SIGINT)
  server$process$wait(10000)
  if (server$process$is_alive()) server$process$kill_tree()
}

free_port <- function() {
  for (port in sample(20000:40000)) {
    socket <- tryCatch(serverSocket(port), error = function(error) NULL)
    if (is.null(socket)) next
    close(socket)
    return(port)
  }
}
