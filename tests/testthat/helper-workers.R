# A server with worker processes in this session, and looks at those processes. Not for servers in a child process:
# those have local_server() and local_script().

# Serves with worker processes, on a free port, for the length of a test. list(port, log(), marks), for fetch(); marks
# is the folder of what handlers leave and wait for (../lib/marks.R).
serve_workers <- function(app, workers = 2L, ..., frame = parent.frame()) {
  log <- tempfile("drover-log-")
  marks <- local_marks(frame)
  withr::defer({
    open_all_gates(list(marks = marks))
    dr_stop(graceful_timeout = 1)
    unlink(log)
  }, envir = frame)
  suppressMessages(dr_serve(app, port = 0L, block = FALSE, workers = workers, log = log, ...))
  c(served(log), marks = marks)
}

# The same for an app in a file; `lines` are its text.
run_workers <- function(lines, workers = 2L, ..., frame = parent.frame()) {
  log <- tempfile("drover-log-")
  file <- tempfile("drover-app-", fileext = ".R")
  write_app(file, lines)
  marks <- local_marks(frame)
  withr::defer({
    open_all_gates(list(marks = marks))
    dr_stop(graceful_timeout = 1)
    unlink(c(log, file))
  }, envir = frame)
  suppressMessages(dr_run(file, port = 0L, workers = workers, log = log, block = FALSE, ...))
  c(served(log), file = file, marks = marks)
}

write_app <- function(file, lines) {
  writeLines(c("library(drover); sys.source(Sys.getenv('GATES'), globalenv())", "app <- dr_app()", lines), file)
}

# A folder of marks for the processes of this session, for the length of a test.
local_marks <- function(frame) {
  marks <- new_marks()
  withr::local_envvar(MARKS = marks, .local_envir = frame)
  withr::defer(unlink(marks, recursive = TRUE), frame)
  marks
}

served <- function(log) {
  list(
    port = as.integer(sub(".*:", "", dr_url())),
    log = function() if (file.exists(log)) readLines(log, warn = FALSE) else character()
  )
}

# Several requests at once, each on a connection of its own: their responses.
fetch_all <- function(server, paths, timeout = patience(30)) {
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
    isTRUE(nzchar(status)) && !grepl("^[0-9]+ \\(.*\\) [ZX]", status)
  }, NA)
}

# NA for a process that has ended.
parent_of <- function(pid) {
  file <- file.path("/proc", pid, "status")
  status <- tryCatch(readLines(file, warn = FALSE), error = function(e) NULL, warning = function(w) NULL)
  # one that is ending may have an empty one
  parent <- grep("^PPid:", status, value = TRUE)
  if (length(parent)) as.integer(sub("\\D+", "", parent)) else NA_integer_
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

# Tells which process answers: at once, or when the gate <name> is open, with a note of who has come there.
pid_app <- function() {
  app <- dr_app()
  dr_get(app, "/pid", function(req) as.character(Sys.getpid()))
  dr_get(app, "/held/<name>", function(req) {
    note(paste0("at-", req$params$name), Sys.getpid())
    stand_at(req$params$name)
    as.character(Sys.getpid())
  })
  app
}

# How many processes have come to a gate, as pid_app() notes it.
count_at <- function(server, name) length(unique(note_lines(server, paste0("at-", name))))

# The responses to `requests` at once, for a handler that stands at the gate `name`, which opens when `processes` are
# there.
fetch_held <- function(server, path, name, processes, requests = processes) {
  here <- environment()
  clients <- lapply(seq_len(requests), function(i) {
    client <- raw_client(server$port, here)
    client_send(client, request_bytes(path))
    client
  })
  expect_true(within(function() count_at(server, name) >= processes))
  open_gate(server, name)
  lapply(clients, client_response)
}
