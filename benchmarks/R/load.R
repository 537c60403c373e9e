# The client that accounts for every request (../client/load.c), for what wrk cannot do: a fixed rate, two paths, a
# given number of requests, and a record of each.

compile_client <- function(bench, name) {
  program <- file.path(bench$work, name)
  if (!file.exists(program)) {
    source <- file.path(bench$root, "client", paste0(name, ".c"))
    processx::run("cc", c("-O2", "-D_GNU_SOURCE", "-o", program, source))
  }
  program
}

# Starts load on a server. Options are those of load.c: start_load(bench, peer, "/text", connections = 8, seconds = 2).
# Waits until the first request has ended.
start_load <- function(bench, peer, path, path2 = NULL, ...) {
  options <- list(...)
  words <- unlist(lapply(names(options), function(name) {
    c(paste0("--", gsub("_", "-", name)), format(options[[name]], scientific = FALSE))
  }))
  client <- processx::process$new(compile_client(bench, "load"), c(words, peer$port, path, path2), stdout = "|",
    stderr = "2>&1", cleanup = TRUE)
  line <- read_line(client, 30)
  if (line != "sending") fail("the load client has no answer from ", peer$name, ": ", line)
  client
}

# The account of load at its end: a named vector of numbers for each path, in a list. Statuses that did not come are 0.
end_load <- function(client, stop = TRUE, seconds = 120) {
  if (stop) tools::pskill(client$get_pid(), tools::SIGTERM)
  deadline <- Sys.time() + seconds
  lines <- character()
  while (client$is_alive() && Sys.time() < deadline) {
    client$poll_io(500)
    lines <- c(lines, client$read_output_lines())
  }
  lines <- grep("^path=", c(lines, client$read_all_output_lines()), value = TRUE)
  if (client$is_alive() || length(lines) == 0L) fail("the load client did not end well")
  lapply(lines, function(line) {
    pairs <- strsplit(strsplit(line, " ", fixed = TRUE)[[1]], "=", fixed = TRUE)
    account <- stats::setNames(as.numeric(vapply(pairs, `[`, "", 2L)), vapply(pairs, `[`, "", 1L))
    for (status in setdiff(c("s200", "s502", "s503", "s504"), names(account))) account[[status]] <- 0
    account[["failed"]] <- account[["sent"]] - account[["s200"]]
    account
  })
}

load_path <- function(...) end_load(start_load(...), stop = FALSE)[[1]]
