# The server of the protocol cases: starting it, asking it, reading its log, and what its process holds.
# Not for what is sent to it (client.R, frames-client.R) or for judging that (run.R, frames-judge.R).

# Starts an app of this folder in a process of its own, on a free port. `settings`: arguments of dr_serve() that replace
# those of app.R, as text: c(body_timeout = "1"). `open_files`: its limit of descriptors.
# Value: list(host, port, pid, log = file).
start_server <- function(settings = character(), app = file.path(here, "app.R"), open_files = NULL) {
  log <- tempfile("conformance-", fileext = ".log")
  file.create(log)
  words <- c(file.path(R.home("bin"), "Rscript"), "--vanilla", app,
             if (length(settings)) paste0(names(settings), "=", settings))
  limit <- if (length(open_files)) paste("ulimit -n", open_files, "&&")
  command <- paste(c(limit, "exec", shQuote(words)), collapse = " ")
  system2("sh", c("-c", shQuote(command)), stdout = FALSE, stderr = log, wait = FALSE)
  listening <- "drover listening on https?://127\\.0\\.0\\.1:([0-9]+)"
  for (attempt in seq_len(300)) {
    lines <- readLines(log, warn = FALSE)
    ready <- grep(listening, lines, value = TRUE)
    pid <- grep("^pid [0-9]+$", lines, value = TRUE)
    if (length(ready) && length(pid)) {
      port <- sub(paste0(".*", listening, ".*"), "\\1", ready[1])
      return(list(host = "127.0.0.1", port = as.integer(port), pid = as.integer(sub("pid ", "", pid[1])), log = log))
    }
    Sys.sleep(0.1)
  }
  stop("the server is not ready after 30 s; it wrote:\n", paste(lines, collapse = "\n"))
}

end_server <- function(server) tools::pskill(server$pid)

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
  if (is.null(server$log)) return(character())
  con <- file(server$log, "rb")
  on.exit(close(con))
  seek(con, from)
  readLines(con, warn = FALSE)
}

# Waits until `enough(lines)` for the log written after byte `from`, at most 5 s: the log may lag behind the answer.
await_log <- function(server, from, enough) {
  for (attempt in 1:101) {
    lines <- log_lines(server, from)
    if (enough(lines)) break
    Sys.sleep(0.05)
  }
  lines
}
