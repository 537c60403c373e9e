# A server with worker processes in this session, and looks at those processes. Not for servers in a child process:
# those have local_server() and local_script().

# Serves with worker processes, on a free port, for the length of a test. list(port, log()), for fetch().
serve_workers <- function(app, workers = 2L, ..., frame = parent.frame()) {
  log <- tempfile("drover-log-")
  withr::defer({
    dr_stop(graceful_timeout = 1)
    unlink(log)
  }, envir = frame)
  suppressMessages(dr_serve(app, port = 0L, block = FALSE, workers = workers, log = log, ...))
  served(log)
}

# The same for an app in a file; `lines` are its text.
run_workers <- function(lines, workers = 2L, ..., frame = parent.frame()) {
  log <- tempfile("drover-log-")
  file <- tempfile("drover-app-", fileext = ".R")
  write_app(file, lines)
  withr::defer({
    dr_stop(graceful_timeout = 1)
    unlink(c(log, file))
  }, envir = frame)
  suppressMessages(dr_run(file, port = 0L, workers = workers, log = log, block = FALSE, ...))
  c(served(log), file = file)
}

write_app <- function(file, lines) writeLines(c("library(drover)", "app <- dr_app()", lines), file)

served <- function(log) {
  list(
    port = as.integer(sub(".*:", "", dr_url())),
    log = function() if (file.exists(log)) readLines(log, warn = FALSE) else character()
  )
}

# Several requests at once, each on a connection of its own: their responses.
fetch_all <- function(server, paths, timeout = 10) {
  here <- environment()
  clients <- lapply(paths, function(path) {
    client <- raw_client(server$port, here)
    client_send(client, request_bytes(path))
    client
  })
  lapply(clients, client_response, timeout = timeout)
}

texts <- function(responses) vapply(responses, function(response) response$text %||% NA_character_, "")
statuses <- function(responses) vapply(responses, function(response) response$status %||% NA_integer_, 0L)

is_alive <- function(pids) {
  vapply(pids, function(pid) {
    # a zombie has ended
    file <- file.path("/proc", pid, "stat")
    status <- tryCatch(readLines(file, warn = FALSE), error = function(e) "", warning = function(w) "")
    nzchar(status) && !grepl("^[0-9]+ \\(.*\\) [ZX]", status)
  }, NA)
}

# NA for a process that has ended.
parent_of <- function(pid) {
  file <- file.path("/proc", pid, "status")
  status <- tryCatch(readLines(file, warn = FALSE), error = function(e) NULL, warning = function(w) NULL)
  if (is.null(status)) NA_integer_ else as.integer(sub("\\D+", "", grep("^PPid:", status, value = TRUE)))
}

children_of <- function(pid) {
  all <- as.integer(list.files("/proc", "^[0-9]+$"))
  all[vapply(all, parent_of, 0L) %in% pid]
}

# What descriptors of sockets at a local port link to.
sockets_at <- function(port) {
  rows <- strsplit(trimws(readLines("/proc/net/tcp")[-1L]), " +")
  at <- vapply(rows, `[[`, "", 2L) == sprintf("0100007F:%04X", port)
  sprintf("socket:[%s]", vapply(rows[at], `[[`, "", 10L))
}

# The session goes on with what waits for it, as it does at an idle prompt.
idle_until <- function(check, seconds = 30) within(check, seconds, meanwhile = later::run_now)

pid_app <- function() {
  app <- dr_app()
  dr_get(app, "/pid", function(req) as.character(Sys.getpid()))
  dr_get(app, "/slow/<seconds:dbl>", function(req) {
    Sys.sleep(req$params$seconds)
    as.character(Sys.getpid())
  })
  app
}
