# The two servers of an app, as start_program() (../lib/start.R) gives them.

# As its users run it without drover. `start`: R code that serves on `port`.
start_other <- function(folder, start) {
  # another program may take the port before this one does
  for (attempt in 1:3) {
    port <- free_ports(1L)
    code <- sprintf("setwd(%s); port <- %dL; %s", deparse(folder), port, start)
    command <- c(file.path(R.home("bin"), "Rscript"), "--vanilla", "-e", code)
    server <- start_process(command, function(lines) can_connect(port))
    if (server$process$is_alive()) return(replace(server, "port", port))
  }
  did_not_start(server)
}

# `how`: a value of --plumber, or "own" for as if plumber were not installed.
start_drover <- function(folder, how) {
  program <- system.file("bin", "drover", package = "drover")
  what <- if (how == "own") sprintf("drover:::annotated_app(%s)", deparse(file.path(folder, "plumber.R"))) else folder
  options <- if (how != "own") c("--plumber", how)
  server <- start_process(c(program, "serve", what, "--port", "0", "--workers", "2", options), wd = folder)
  if (is.null(server$url)) did_not_start(server)
  server
}

start_process <- function(command, ready = listens, ...) start_program(command, ready = ready, cleanup_tree = TRUE, ...)

did_not_start <- function(server) stop("it did not start:\n", paste(server$log(), collapse = "\n"), call. = FALSE)

can_connect <- function(port) {
  connection <- tryCatch(
    suppressWarnings(socketConnection("127.0.0.1", port, open = "r+b", timeout = 1)), error = function(error) NULL
  )
  if (is.null(connection)) return(FALSE)
  close(connection)
  TRUE
}

stop_server <- function(server) {
  tools::pskill(server$pid, tools::SIGINT)
  server$process$wait(patience() * 1000)
  if (server$process$is_alive()) server$process$kill_tree()
}
