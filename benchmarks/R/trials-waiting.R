# Trials of who waits for whom: slow requests among fast ones, and handlers that sleep.

# 200 requests/s, of which 2 % sleep for 300 ms, by four workers.
trial_slow <- function(bench) {
  peer <- start_drover(bench, workers = 4L)
  on.exit(stop_peer(peer))
  load_path(bench, peer, "/text", connections = 8, seconds = bench$warm_up)
  rows <- do.call(rbind, lapply(seq_len(bench$options$rounds), function(round) {
    accounts <- end_load(start_load(bench, peer, "/text", path2 = "/sleep/300", share = 0.02, rate = 200,
      connections = 50,
      seconds = 2 * bench$options$duration), stop = FALSE)
    if (accounts[[1]][["failed"]] + accounts[[2]][["failed"]] > 0) fail("requests failed")
    say(sprintf("slow, round %d: p99 of the fast %.2f ms", round, accounts[[1]][["p99_us"]] / 1e3))
    figures("slow", "4 workers", round, p50_us = accounts[[1]][["p50_us"]], p99_us = accounts[[1]][["p99_us"]],
      max_us = accounts[[1]][["max_us"]], slow_p50_us = accounts[[2]][["p50_us"]])
  }))
  p99 <- by_case(rows, "p99_us")[[1]] / 1e3
  list(figures = rows, verdicts = verdict_row(
    "200 requests/s, 2 % of which sleep 300 ms, 4 workers: p99 of the others", "under 5 ms", sprintf("%.2f ms", p99),
      p99 < 5
  ))
}

# 100 requests that sleep half a second, from 5 clients to 5 workers, the start of the server included: 10 s at best.
trial_sleeps <- function(bench) {
  rows <- do.call(rbind, lapply(seq_len(if (bench$options$quick) 1L else 3L), function(round) {
    peer <- start_drover(bench, workers = 5L, wait = FALSE)
    on.exit(stop_peer(peer))
    wait_for_banner(peer)
    started <- as.numeric(Sys.time() - peer$started, units = "secs")
    account <- load_path(bench, peer, "/sleep/500", connections = 5, requests = 100)
    if (account[["failed"]] > 0) fail("requests failed")
    # the start of the client is not the server's
    seconds <- started + account[["seconds"]]
    say(sprintf("sleeps, round %d: %.2f s", round, seconds))
    figures("sleeps", "5 workers", round, seconds = seconds, start_s = started)
  }))
  seconds <- by_case(rows, "seconds")[[1]]
  list(figures = rows, verdicts = verdict_row(
    "100 requests of Sys.sleep(0.5) from 5 clients on 5 workers, with the start", "at most 10.3 s",
    sprintf("%.2f s (start %.2f s)", seconds, by_case(rows, "start_s")[[1]]), seconds <= 10.3
  ))
}

# Until the server has said that it listens: sooner noticed than by asking it.
wait_for_banner <- function(peer) {
  deadline <- Sys.time() + 60
  while (!any(grepl("drover listening on", readLines(peer$log, warn = FALSE)))) {
    if (Sys.time() > deadline || !peer$process$is_alive()) {
      fail("drover did not start:\n", paste(readLines(peer$log), collapse = "\n"))
    }
    Sys.sleep(0.002)
  }
}

# The service of a waiting handler under 1, 3 and 6 clients: the mean is half a second whatever their number.
trial_waits <- function(bench) {
  peer <- start_drover(bench, workers = 6L)
  on.exit(stop_peer(peer))
  rows <- do.call(rbind, lapply(c(1L, 3L, 6L), function(clients) {
    account <- load_path(bench, peer, "/test", connections = clients,
      requests = clients * (if (bench$options$quick) 4L else 20L),
      body = '{"n":10,"wait":0.5}')
    if (account[["failed"]] > 0) fail("requests failed")
    figures("waits", count_text(clients, "client"), 1L, mean_us = account[["mean_us"]], max_us = account[["max_us"]])
  }))
  mean <- by_case(rows, "mean_us") / 1e6
  list(figures = rows, verdicts = verdict_row(
    "POST /test {\"n\":10,\"wait\":0.5}: mean response", "0.5 s within 2 %",
    paste0(names(mean), " ", sprintf("%.4f s", mean), collapse = ", "), all(abs(mean / 0.5 - 1) <= 0.02)
  ))
}
