# The client that counts what a server answers through very many connections, or with a connection for each request
# (../client/flood.c), and the server's CPU time meanwhile. Not for the scenarios: those have wrk (client.R).

# One measurement. `case`: list(connections, close). Returns c(requests, seconds, rps, cpu_us, p50_us, p99_us); a server
# that does not answer rightly is a failure.
flood <- function(bench, peer, path, answer, case) {
  words <- c("--connections", case$connections, if (case$close) "--close", peer$port, path, answer)
  client <- processx::process$new(compile_client(bench, "flood"), words, stdin = "|", stdout = "|", stderr = "2>&1",
    cleanup = TRUE)
  on.exit(client$kill())
  line <- read_line(client, 60)
  if (line != "ready") fail(peer$name, ", ", path, ": not all connections had an answer: ", line)
  # what the opening of connections has left to do is done by now
  Sys.sleep(0.3)
  before <- cpu_snapshot(peer$pid)
  first <- flood_count(client)
  Sys.sleep(flood_seconds(bench))
  after <- cpu_snapshot(peer$pid)
  last <- flood_count(client)
  close(client$get_input_connection())
  client$wait(5000)
  if (last[["wrong"]] > 0 || last[["broken"]] > first[["broken"]]) {
    fail(peer$name, ", ", path, ": ", last[["wrong"]], " wrong answers, ", last[["broken"]], " broken connections")
  }
  requests <- last[["requests"]] - first[["requests"]]
  seconds <- last[["time"]] - first[["time"]]
  c(requests = requests, seconds = seconds, rps = requests / seconds,
    cpu_us = cpu_between(before, after) / requests * 1e6, p50_us = last[["p50_us"]], p99_us = last[["p99_us"]])
}

# What it has counted so far.
flood_count <- function(client) {
  client$write_input("\n")
  line <- read_line(client, 10)
  pairs <- strsplit(strsplit(line, " ", fixed = TRUE)[[1]], "=", fixed = TRUE)
  if (any(lengths(pairs) != 2L)) fail("the client does not count: ", line)
  stats::setNames(as.numeric(vapply(pairs, `[`, "", 2L)), vapply(pairs, `[`, "", 1L))
}

# The matrix is large, and a ratio of figures from the same seconds needs no long rounds.
flood_seconds <- function(bench) if (bench$options$quick) 0.5 else 1.5
flood_rounds <- function(bench) min(bench$options$rounds, 2L)
