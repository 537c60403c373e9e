# What a server costs that has nothing to do: CPU time with open connections, memory beyond an R session without it, and
# memory for many idle connections. Of drover only: the limits are drover's. Not for load: rounds.R.

megabyte <- 1e6

# The most CPU time that counts as none: one tick of the kernel's accounting (10 ms), in the 5 seconds of it.
idle_seconds <- 5
idle_cpu_limit <- 0.010

# Returns verdict rows (report.R), one for each figure.
measure_idle <- function(bench) {
  say("idle: a bare R session, and one with drover loaded")
  bare <- memory_of_session(function() {
    process <- processx::process$new("Rscript", c("--vanilla", "-e", "repeat Sys.sleep(3600)"), stderr = NULL)
    list(pid = process$get_pid(), process = process)
  })
  loaded <- memory_of_session(function() start_peer(bench, "drover", "loaded"))
  say("idle: drover, started and after load")
  served <- measure_served(bench)
  count <- idle_connections()
  say("idle: ", count, " connections that have sent nothing, and ", count, " that have had an answer")
  silent <- measure_connections(bench, count, "-")
  answered <- measure_connections(bench, count, "/text")

  rbind(
    verdict_row(
      "CPU time in 5 s, 50 open keep-alive connections", "none (under 10 ms)", sprintf("%.2f ms", served$cpu * 1e3),
      served$cpu < idle_cpu_limit
    ),
    memory_row("memory beyond a bare R session, serving, after load", 30, served$loaded - bare),
    memory_row("the same, before the first request", NA, served$started - bare),
    memory_row("memory beyond a session with drover and the app loaded, after load", NA, served$loaded - loaded),
    connection_row("that have sent nothing", count, silent),
    connection_row("that have had an answer", count, answered)
  )
}

memory_row <- function(title, limit, bytes) {
  mb <- bytes / megabyte
  verdict_row(
    title, if (is.na(limit)) "" else sprintf("at most %d MB", limit),
    sprintf("%.1f MB resident (%.1f proportional, %.1f private)", mb[["rss"]], mb[["pss"]], mb[["private"]]),
    if (is.na(limit)) NA else mb[["rss"]] <= limit
  )
}

# The limit asked for is for 10,000 connections: where fewer can be opened, it is less in proportion.
connection_row <- function(what, count, result) {
  limit <- 100 * count / 10000
  if (is.character(result)) {
    return(verdict_row(paste(count, "idle connections", what), sprintf("at most %.0f MB", limit), result, FALSE))
  }
  row <- memory_row(paste("memory for", count, "idle connections", what), NA, result$bytes)
  row$asked <- sprintf("at most %.0f MB", limit)
  row$met <- result$bytes[["rss"]] <= limit * megabyte && result$held == count
  row$measured <- sprintf("%s; %.2f kB each; %d still open", row$measured, result$bytes[["rss"]] / count / 1e3,
    result$held)
  row
}

memory_of_session <- function(start) {
  session <- start()
  on.exit(stop_peer(session))
  wait_until_quiet(session$pid)
  memory_of(session$pid)
}

# Memory after the start and after load, in bytes, and CPU seconds while idle with open connections.
measure_served <- function(bench) {
  peer <- start_peer(bench, "drover")
  on.exit(stop_peer(peer))
  wait_until_quiet(peer$pid)
  started <- memory_of(peer$pid)
  for (scenario in read_scenarios(bench$root, bench$static_dir, NULL)) {
    load <- load_with_wrk(bench, peer, scenario, bench$warm_up)
    if (nzchar(load$errors)) fail("drover, ", scenario$name, ": ", load$errors)
  }
  wait_until_quiet(peer$pid)
  loaded <- memory_of(peer$pid)

  client <- hold_connections(bench, peer, 50L, "/text")
  if (is.character(client)) fail(client)
  on.exit(release_connections(client), add = TRUE, after = FALSE)
  Sys.sleep(1)
  before <- cpu_snapshot(peer$pid)
  Sys.sleep(idle_seconds)
  list(started = started, loaded = loaded, cpu = cpu_between(before, cpu_snapshot(peer$pid)))
}

# Memory that `count` connections add, and how many of them the server still held when it was measured: list(bytes,
# held); a text when they could not be opened.
measure_connections <- function(bench, count, path) {
  peer <- start_peer(bench, "drover")
  on.exit(stop_peer(peer))
  wait_until_quiet(peer$pid)
  before <- memory_of(peer$pid)
  client <- hold_connections(bench, peer, count, path)
  if (is.character(client)) return(client)
  # idle is what they are after a moment, not while they are opened
  Sys.sleep(2)
  bytes <- memory_of(peer$pid) - before
  list(bytes = bytes, held = release_connections(client))
}

# 10,000, or what the limit on open files leaves room for.
idle_connections <- function() {
  limit <- trimws(processx::run("sh", c("-c", "ulimit -Hn"))$stdout)
  if (limit == "unlimited") 10000L else as.integer(min(10000, as.numeric(limit) - 100))
}

hold_connections <- function(bench, peer, count, path) {
  client <- processx::process$new(compile_client(bench, "connections"), c(peer$port, count, path), stdin = "|", stdout = "|", stderr = "2>&1")
  line <- read_line(client, 60)
  if (!identical(line, paste("open", count))) {
    client$kill()
    return(paste("could not be opened:", line))
  }
  client
}

release_connections <- function(client) {
  if (!client$is_alive()) return(invisible(0L))
  close(client$get_input_connection())
  line <- read_line(client, 30)
  client$wait(5000)
  invisible(as.integer(sub("^held ", "", line)))
}

read_line <- function(process, seconds) {
  deadline <- Sys.time() + seconds
  while (Sys.time() < deadline) {
    process$poll_io(1000)
    line <- process$read_output_lines(n = 1)
    if (length(line) == 1L) return(line)
    if (!process$is_alive() && !process$is_incomplete_output()) break
  }
  "no output"
}

# Until a process has used no CPU time for half a second; 15 s at most.
wait_until_quiet <- function(pid) {
  for (i in seq_len(30L)) {
    before <- cpu_snapshot(pid)
    Sys.sleep(0.5)
    if (cpu_between(before, cpu_snapshot(pid)) < 0.001) return(invisible())
  }
}
