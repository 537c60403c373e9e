# Trials of how much is done: by several workers in requests/s and CPU time, with handlers of no and of some work.

# Text from a handler, by one to eight worker processes, against nginx in the same rounds.
trial_workers <- function(bench) {
  scenario <- read_scenarios(bench$root, bench$static_dir, "text")[[1]]
  counts <- c(1L, 2L, 4L, 8L)
  peers <- list(nginx = start_peer(bench, "nginx"))
  on.exit(for (peer in peers) stop_peer(peer))
  for (count in counts) {
    case <- count_text(count, "worker")
    peers[[case]] <- start_drover(bench, workers = count)
    peers[[case]]$name <- case
  }
  for (peer in peers) load_with_wrk(bench, peer, scenario, bench$warm_up)
  rows <- list()
  for (round in seq_len(bench$options$rounds)) {
    reference <- NULL
    for (case in names(peers)) {
      row <- measure_round(bench, peers[[case]], scenario, round)
      if (nzchar(row$errors)) fail(case, ": ", row$errors)
      if (is.null(reference)) reference <- row
      rows[[length(rows) + 1L]] <- figures("workers", case, round, rps = row$rps, p99_us = row$p99_us,
        cpu_us = row$cpu_us,
        cpu_ratio = row$cpu_us / reference$cpu_us)
    }
  }
  rows <- do.call(rbind, rows)
  ratio <- by_case(rows, "cpu_ratio")
  rps <- by_case(rows, "rps")
  within <- max(rps[intersect(count_text_of(counts[counts <= cores()]), names(rps))])
  beyond <- rps[count_text_of(counts[counts > cores()])]
  list(figures = rows, verdicts = rbind(
    verdict_row("text, 1 worker process: CPU per request", "at most 1.6x nginx", sprintf("%.2fx", ratio[["1 worker"]]),
      ratio[["1 worker"]] <= 1.6),
    verdict_row("text, 4 worker processes: CPU per request", "at most 2x nginx", sprintf("%.2fx", ratio[["4 workers"]]),
      ratio[["4 workers"]] <= 2),
    verdict_row("text, 8 worker processes: CPU per request", "", sprintf("%.2fx", ratio[["8 workers"]]), NA),
    # medians of rounds on shared cores differ by a few percent from one to the next
    verdict_row(paste("text: requests/s with more workers than cores, of those with", cores()), "no fewer (within 5 %)",
      paste0(paste0(names(beyond), " ", sprintf("%.2fx", beyond / within)), collapse = ", "),
        all(beyond >= 0.95 * within))
  ))
}

count_text_of <- function(counts) vapply(counts, count_text, "", "worker")

# 2 ms of work in each handler, by 1, 2 and 4 workers that take turns.
trial_cpu <- function(bench) {
  peers <- list()
  on.exit(for (peer in peers) stop_peer(peer))
  for (count in c(1L, 2L, 4L)) peers[[count_text(count, "worker")]] <- start_drover(bench, workers = count)
  for (peer in peers) load_path(bench, peer, "/busy", connections = 16, seconds = bench$warm_up)
  rows <- list()
  for (round in seq_len(bench$options$rounds)) {
    for (case in names(peers)) {
      account <- load_path(bench, peers[[case]], "/busy", connections = 16, seconds = bench$options$duration)
      if (account[["failed"]] > 0) fail(case, ": ", account[["failed"]], " requests failed")
      rps <- account[["s200"]] / account[["seconds"]]
      say(sprintf("cpu, round %d: %s %.0f requests/s", round, case, rps))
      rows[[length(rows) + 1L]] <- figures("cpu", case, round, rps = rps, p99_us = account[["p99_us"]])
    }
  }
  rows <- do.call(rbind, rows)
  rps <- by_case(rows, "rps")
  two <- rps[["2 workers"]] / rps[["1 worker"]]
  four <- rps[["4 workers"]] / rps[["2 workers"]]
  list(figures = rows, verdicts = rbind(
    verdict_row("2 ms of work: requests/s of 2 workers", "at least 1.8x those of 1",
      sprintf("%.2fx (%.0f, %.0f)", two, rps[["2 workers"]], rps[["1 worker"]]), two >= 1.8),
    verdict_row("2 ms of work: requests/s of 4 workers", "no fewer than of 2 (within 3 %)",
      sprintf("%.2fx (%.0f)", four, rps[["4 workers"]]), four >= 0.97)
  ))
}

# Ten times the load that one worker can take, for half a minute.
trial_overload <- function(bench) {
  max_queue <- 1024
  peer <- start_drover(bench, workers = 1L, max_queue = max_queue)
  on.exit(stop_peer(peer))
  load_path(bench, peer, "/busy", connections = 8, seconds = bench$warm_up)
  capacity <- load_path(bench, peer, "/busy", connections = 8, seconds = 5)
  capacity <- capacity[["s200"]] / capacity[["seconds"]]
  seconds <- if (bench$options$quick) 5 else 30
  record <- file.path(bench$work, "overload.csv")
  # a first burst, so that the buffers of 2,000 connections are not taken for a leak
  load_path(bench, peer, "/busy", connections = 2000, rate = 10 * capacity, seconds = 2)
  before <- memory_of(peer$pid)
  client <- start_load(bench, peer, "/busy", connections = 2000, rate = 10 * capacity, seconds = seconds,
    record = record)
  Sys.sleep(seconds - 1)
  during <- memory_of(peer$pid)
  account <- end_load(client, stop = FALSE)[[1]]
  requests <- utils::read.csv(record, colClasses = c(outcome = "character"))
  accepted <- account[["s200"]] / account[["seconds"]]
  # from when it was sent: what waits in the client for a connection is the client's
  p99_of <- function(status) {
    stats::quantile((requests$end - requests$sent)[requests$outcome == status], 0.99, names = FALSE)
  }
  p99 <- p99_of("200")
  p99_refused <- p99_of("503")
  bound <- 1.2 * max_queue / capacity
  other <- account[["sent"]] - account[["s200"]] - account[["s503"]]
  grown <- (during - before)[["rss"]] / megabyte
  list(
    figures = figures("overload", "10x", 1L, capacity = capacity, accepted = accepted, refused = account[["s503"]],
      other = other, accepted_p99_s = p99, refused_p99_s = p99_refused, grown_mb = grown),
    verdicts = rbind(
      verdict_row(sprintf("10 times the load of 1 worker for %d s: accepted", seconds), "at least 0.9x capacity",
        sprintf("%.2fx of %.0f requests/s", accepted / capacity, capacity), accepted >= 0.9 * capacity),
      verdict_row("the same: neither 200 nor 503", "none", format(other), other == 0),
      verdict_row("the same: p99 of the accepted", sprintf("bounded by the queue: %.2f s", bound),
        sprintf("%.2f s", p99), p99 <= bound),
      verdict_row("the same: p99 of the refused", "at most 5 ms", sprintf("%.1f ms", p99_refused * 1e3),
        p99_refused <= 0.005),
      verdict_row("the same: memory growth", "under 20 MB", sprintf("%.1f MB", grown), grown < 20)
    )
  )
}
