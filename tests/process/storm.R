# What storms of clients that leave are aimed at, and what must be the same afterwards. Neighbours: test-storms.R,
# soak.R, leaver.c.

# Requests for every kind of answer: an error, text, a file, one that is spooled, an upload; in C inline, by a pool,
# later, long, in pieces, in pieces without end.
storm_paths <- function(file) {
  c("/text", "/fail", "/fail-slowly", "/sleep/8", paste0("/file?path=", file), "/spooled", "+/upload", "/nowhere",
    "/c/text", "/c/inline", "/c/later/3", "/c/long", "/c/stream", "/c/endless", "+/c/body")
}

# A file to be sent, too long to be read at once.
storm_file <- function() {
  file <- tempfile("sent-")
  writeBin(raw(2e6), file)
  file
}

# The processes of a server, and what each of them has: a data frame with kind, pid, descriptors, threads, resident and
# pss (bytes).
census <- function(server) {
  others <- setdiff(family()$pid, c(server$pid, clients_pids()))
  kinds <- ifelse(others %in% zygotes_of(server), "zygote", "worker")
  pids <- c(server$pid, others)
  data.frame(kind = c("server", kinds), pid = pids, descriptors = vapply(pids, descriptors, 1L),
    threads = vapply(pids, function(pid) length(list.files(file.path("/proc", pid, "task"))), 1L),
    resident = vapply(pids, resident, 1), pss = vapply(pids, memory_field, 1, "Pss", "smaps_rollup"))
}

# Zygotes have workers; with start = "spawn" there are none.
zygotes_of <- function(server) intersect(zygotes(server), family()$parent)

clients_pids <- function() vapply(clients, function(client) client$get_pid(), 1L)

# Files that a server has beneath a folder.
files_in <- function(folder) list.files(folder, recursive = TRUE, all.files = TRUE)

# Files without names that processes still have open.
nameless <- function(pids) {
  targets <- unlist(lapply(pids, function(pid) {
    suppressWarnings(Sys.readlink(list.files(file.path("/proc", pid, "fd"), full.names = TRUE)))
  }))
  grep("^/(?!memfd:|dev/).* \\(deleted\\)$", targets, value = TRUE, perl = TRUE)
}
