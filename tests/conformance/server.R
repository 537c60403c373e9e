# The server of the protocol cases: starting it, asking it, reading its log, and what its process holds.
# Not for what is sent to it (client.R, frames-client.R) or for judging that (run.R, frames-judge.R).

# Starts an app of this folder in a process of its own, on a free port. `settings`: arguments of dr_serve() that replace
# those of app.R, as text: c(body_timeout = "1"). `open_files`: its limit of descriptors.
# Value: that of start_program() (../lib/start.R) with host and marks (../lib/marks.R).
start_server <- function(settings = character(), app = file.path(here, "app.R"), open_files = NULL) {
  command <- c(file.path(R.home("bin"), "Rscript"), "--vanilla", app,
               if (length(settings)) paste0(names(settings), "=", settings))
  if (length(open_files)) command <- c("sh", "-c", paste("ulimit -n", open_files, "&& exec \"$@\""), "sh", command)
  marks <- new_marks()
  server <- c(start_program(command, c(MARKS = marks), cleanup_tree = TRUE), host = "127.0.0.1", marks = marks)
  if (is.null(server$url)) stop("the server is not ready; it wrote:\n", paste(server$log(), collapse = "\n"))
  server
}

# It is to end by itself; what hangs is killed.
end_server <- function(server) {
  open_all_gates(server)
  tools::pskill(server$pid)
  server$process$wait(patience() * 1000)
  server$process$kill_tree()
  unlink(server$marks, recursive = TRUE)
}

# The body of a GET, or NULL when it is not answered with 200. Where HTTP/1.1 has a port of its own (over-tls.R), by
# that.
get_text <- function(server, path) {
  if (!is.null(server$plain_port)) server$port <- server$plain_port
  request <- paste0("GET ", path, " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
  case <- list(steps = list(list(send = charToRaw(request))), status = statuses("200"), close = "yes", hang_up = FALSE)
  answers <- tryCatch(play(server, case)$answers, error = function(e) list())
  if (length(answers) == 1 && answers[[1]]$status == "200") text_of(answers[[1]]$body)
}

log_lines <- function(server, from = 0) {
  if (is.null(server$log_file)) return(character())
  con <- file(server$log_file, "rb")
  on.exit(close(con))
  seek(con, from)
  readLines(con, warn = FALSE)
}

# Waits until `enough(lines)` for the log written after byte `from`, which may lag behind the answer, and gives the
# lines.
await_log <- function(server, from, enough) {
  lines <- character()
  within(function() enough(lines <<- log_lines(server, from)))
  lines
}
