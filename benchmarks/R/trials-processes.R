# Trials of processes: how soon one is there, what it takes of memory, and what its end or a reload costs.

# Kills the only worker `times` times under load of handlers that take 50 ms, so that it runs one at nearly every
# moment. For each: how many requests failed (with what), and the milliseconds from the signal until the next worker
# began with the first request that it answered.
kill_workers <- function(bench, peer, times) {
  do.call(rbind, lapply(seq_len(times), function(round) {
    record <- file.path(bench$work, "kill.csv")
    pid <- worker_pids(peer)
    client <- start_load(bench, peer, "/sleep/50", connections = 8, record = record)
    Sys.sleep(stats::runif(1, 0.1, 0.2))
    killed <- as.numeric(Sys.time())
    tools::pskill(pid, tools::SIGKILL)
    # five deaths within ten seconds would be taken for a crash loop, and slowed down
    Sys.sleep(if (times > 4L) 2.6 else 0.5)
    account <- end_load(client)[[1]]
    requests <- utils::read.csv(record, colClasses = c(outcome = "character"))
    next_answer <- min(requests$end[requests$outcome == "200" & requests$end > killed + 0.05])
    serving <- (next_answer - 0.05 - killed) * 1e3
    say(sprintf("kill %d: %d failed, the next worker serves after %.1f ms", round, account[["failed"]], serving))
    figures("kill", "1 worker", round, failed = account[["failed"]], s502 = account[["s502"]], serving_ms = serving)
  }))
}

trial_kill <- function(bench) {
  peer <- start_drover(bench, workers = 1L)
  on.exit(stop_peer(peer))
  times <- if (bench$options$quick) 4L else 20L
  rows <- kill_workers(bench, peer, times)
  failed <- rows$value[rows$figure == "failed"]
  bad_gateway <- rows$value[rows$figure == "s502"]
  serving <- rows$value[rows$figure == "serving_ms"]
  list(figures = rows, verdicts = rbind(
    verdict_row(paste(times, "times SIGKILL of the only worker under load: failed requests"), "one each, with 502",
      sprintf("%d to %d, of which %.0f %% with 502", min(failed), max(failed), 100 * sum(bad_gateway) / max(1,
        sum(failed))),
      all(failed == 1) && identical(failed, bad_gateway)),
    verdict_row("the same: the next worker serves", "within 100 ms",
      sprintf("after %.1f ms (at most %.1f)", stats::median(serving), max(serving)), max(serving) <= 100)
  ))
}

# A second worker is wanted because the only one sleeps, with a model of 500 MB in the zygote: how long the request
# waits for which it is forked. The pool first waits for 5 ms, in case that the first worker is done by then.
trial_fork <- function(bench) {
  peer <- start_drover(bench, workers = "1-2", model_mb = 500, check_unused = 0.5, max_age = 0.5)
  on.exit(stop_peer(peer))
  rows <- do.call(rbind, lapply(seq_len(if (bench$options$quick) 3L else 10L), function(round) {
    sleeping <- processx::process$new("curl", c("-s", paste0(peer$url, "/sleep/1000")), cleanup = TRUE)
    Sys.sleep(0.2)
    account <- load_path(bench, peer, "/text", requests = 1)
    sleeping$wait(5000)
    if (account[["failed"]] > 0) fail("the request failed")
    say(sprintf("fork, round %d: served after %.1f ms", round, account[["mean_us"]] / 1e3))
    # until the second worker has gone again
    wait_for_processes(peer, 3L)
    figures("fork", "500 MB", round, waited_ms = account[["mean_us"]] / 1e3)
  }))
  forked <- rows$value - 5
  list(figures = rows, verdicts = verdict_row(
    "a model of 500 MB: a worker is forked and serves, from when the pool may decide on it", "within 20 ms",
    sprintf("%.1f ms (%.1f to %.1f)", stats::median(forked), min(forked), max(forked)), stats::median(forked) <= 20
  ))
}

# Until a server has so many processes.
wait_for_processes <- function(peer, n, seconds = 20) {
  deadline <- Sys.time() + seconds
  while (length(process_tree(peer$pid)) != n) {
    if (Sys.time() > deadline) fail("not ", n, " processes, but ", length(process_tree(peer$pid)))
    Sys.sleep(0.05)
  }
}

# Four workers with a numeric model of 1 GB, after a full collection in each.
trial_memory <- function(bench) {
  peer <- start_drover(bench, workers = 4L, model_mb = 1000)
  on.exit(stop_peer(peer))
  collect <- function() {
    clients <- lapply(1:4, function(i) {
      processx::process$new("curl", c("-s", paste0(peer$url, "/collect")), stdout = "|", cleanup = TRUE)
    })
    vapply(clients, function(client) {
      client$wait(60000)
      client$read_all_output()
    }, "")
  }
  pids <- collect()
  if (length(unique(pids)) != 4L) fail("the collections ran in ", length(unique(pids)), " workers")
  memory <- memory_of(peer$pid) / 1e9
  list(
    figures = figures("memory", "4 workers, 1 GB", 1L, pss_gb = memory[["pss"]], rss_gb = memory[["rss"]]),
    verdicts = verdict_row("4 workers and a numeric model of 1 GB, after gc() in each: memory in all", "under 1.3 GB",
      sprintf("%.2f GB proportional", memory[["pss"]]), memory[["pss"]] < 1.3)
  )
}

# Reloads under load, and how they show in latency.
trial_reload <- function(bench) {
  peer <- start_drover(bench, workers = 2L)
  on.exit(stop_peer(peer))
  seconds <- if (bench$options$quick) 4 else 10
  load_path(bench, peer, "/text", connections = 8, seconds = bench$warm_up)
  base <- end_load(start_load(bench, peer, "/text", connections = 8, rate = 2000, seconds = seconds), stop = FALSE)[[1]]
  client <- start_load(bench, peer, "/text", connections = 8, rate = 2000, seconds = seconds)
  reloads <- floor(seconds) - 1
  for (i in seq_len(reloads)) {
    Sys.sleep(1)
    tools::pskill(peer$pid, tools::SIGHUP)
  }
  account <- end_load(client, stop = FALSE)[[1]]
  list(
    figures = figures("reload", "2 workers", 1L, reloads = reloads, failed = account[["failed"]],
      p99_us = account[["p99_us"]],
      base_p99_us = base[["p99_us"]]),
    verdicts = rbind(
      verdict_row(paste(reloads, "reloads under load: failed requests"), "none",
        sprintf("%.0f of %.0f", account[["failed"]], account[["sent"]]), account[["failed"]] == 0),
      verdict_row("the same: p99", "at most 3x that without",
        sprintf("%.1fx (%.2f ms)", account[["p99_us"]] / base[["p99_us"]], account[["p99_us"]] / 1e3),
        account[["p99_us"]] <= 3 * base[["p99_us"]])
    )
  )
}
