# The measurement: rounds of load in which the servers take turns, so that a ratio is of figures from the same minute.
# Not for what the figures mean: report.R.

# Measures one scenario with all its servers. Returns a data frame with one row for each round and server: scenario,
# peer, round, seconds, requests, rps, p50_us, p99_us, cpu_us (per request), cpu_ratio (to nginx in the same round).
# Servers that answer wrongly are left out, with a message and as an attribute "invalid" (peer -> reason).
measure_scenario <- function(bench, scenario, peers) {
  invalid <- list()
  drop <- function(peer, reason) {
    say(scenario$name, ": ", peer$name, " is invalid: ", reason)
    invalid[[peer$name]] <<- reason
  }
  for (peer in peers) {
    reason <- wrong_answer(peer, scenario)
    if (is.null(reason)) {
      warm <- load_with_wrk(bench, peer, scenario, bench$warm_up)
      if (nzchar(warm$errors)) reason <- warm$errors
      if (warm$requests == 0) reason <- "no request was answered"
    }
    if (!is.null(reason)) drop(peer, reason)
  }
  rows <- list()
  for (round in seq_len(bench$options$rounds)) {
    ready <- peers[!names(peers) %in% names(invalid)]
    for (peer in ready) {
      row <- measure_round(bench, peer, scenario, round)
      if (nzchar(row$errors)) drop(peer, row$errors) else rows[[length(rows) + 1L]] <- row
    }
  }
  rows <- do.call(rbind, lapply(rows, function(row) as.data.frame(row[names(row) != "errors"])))
  rows <- rows[!rows$peer %in% names(invalid), , drop = FALSE]
  reference <- rows[rows$peer == "nginx", ]
  rows$cpu_ratio <- rows$cpu_us / reference$cpu_us[match(rows$round, reference$round)]
  attr(rows, "invalid") <- invalid
  rows
}

measure_round <- function(bench, peer, scenario, round) {
  before <- cpu_snapshot(peer$pid)
  load <- load_with_wrk(bench, peer, scenario, bench$options$duration)
  # What a server does when connections close (Rserve ends a process for each) is part of its work.
  Sys.sleep(0.2)
  cpu <- cpu_between(before, cpu_snapshot(peer$pid))
  row <- list(
    scenario = scenario$name, peer = peer$name, round = round, seconds = load$seconds, requests = load$requests,
    rps = load$requests / load$seconds, p50_us = load$p50, p99_us = load$p99,
    cpu_us = cpu / load$requests * 1e6, errors = load$errors
  )
  say(sprintf("%s, round %d: %-8s %9.0f requests/s, %9.2f us CPU per request", scenario$name, round, peer$name,
    row$rps, row$cpu_us))
  row
}

# Medians over the rounds, one row for each scenario and server, in the order of the rows.
summarise_rounds <- function(rows) {
  groups <- unique(rows[c("scenario", "peer")])
  figures <- c("rps", "p50_us", "p99_us", "cpu_us", "cpu_ratio")
  medians <- t(vapply(seq_len(nrow(groups)), function(i) {
    group <- rows[rows$scenario == groups$scenario[i] & rows$peer == groups$peer[i], ]
    c(vapply(group[figures], stats::median, 0), low = min(group$cpu_ratio), high = max(group$cpu_ratio))
  }, stats::setNames(numeric(7), c(figures, "low", "high"))))
  data.frame(groups, medians, row.names = NULL)
}
