# Trials of hostile clients: how soon the server is done with them, what it holds meanwhile, and how long another client
# waits. The attacks are cases of tests/conformance/frames, which are tests there, with few connections and short
# timeouts; here they come from 30 connections and meet the defaults. Slow clients of HTTP/1.1 are in ../trials/slow.

# An attack is over when each stream or connection has come to what its case says.
trial_attacks <- function(bench) {
  cases <- c("200-window-zero-file", "201-window-zero-handler", "202-window-byte-by-byte",
    "203-window-of-the-connection", "204-socket-not-read", "207-window-size-to-and-fro", "208-table-size-to-and-fro",
    "300-bodies-that-stop", "301-bodies-that-never-come", "302-bodies-at-a-trickle", "304-body-beside-one-that-ends",
    "400-rapid-reset", "401-made-reset-increment-zero", "402-made-reset-window-overflow", "403-made-reset-half-closed",
    "413-clients-that-go-within-responses", "415-more-streams-than-allowed",
    "500-flood-ping", "501-flood-settings", "502-flood-ping-unread", "504-flood-data-empty", "505-flood-continuation",
    "507-flood-priority", "508-flood-window-update", "509-flood-unknown-frames", "520-flood-data-small",
    "611-preface-and-silence", "612-half-a-header-section", "700-hpack-bomb")
  if (bench$options$quick) cases <- grep("^(200|300|400|500)", cases, value = TRUE)
  files <- file.path(dirname(bench$root), "tests/conformance/frames", paste0(cases, ".frames"))
  run_attacks(bench, "attacks", files, 30L)
}

# What the defaults promise: headers within 10 s, no pause of a body over 15 s, none of a response over 30 s; and a
# second to notice.
trial_slow_clients <- function(bench) {
  limits <- c(headers = 11, bodies = 16, responses = 31)
  files <- file.path(bench$root, "trials", "slow", paste0(names(limits), ".frames"))
  run_attacks(bench, "slow_clients", files, 100L, limits)
}

# `limits`: seconds within which each must be over; NULL when 45 s will do, for all.
run_attacks <- function(bench, trial, files, connections, limits = NULL) {
  client <- frames_client(bench)
  # What an attack costs others is what the server does for it, not what the attacker does: it has a core of its own,
  # and the other client shares one with the server and its worker, also while it is quiet.
  apart <- cores() > 1L
  if (apart) {
    everywhere <- move_to_cores(0L)
    on.exit(move_to_cores(everywhere))
  }
  rows <- do.call(rbind, lapply(files, function(file) {
    if (apart) move_to_cores(1L)
    # each meets a server that has not met the others
    peer <- start_drover(bench, workers = 1L)
    on.exit(stop_peer(peer))
    case <- full_size(client$read_frames_case(file), connections)
    get_text(peer, "/text")
    quiet <- load_path(bench, peer, "/text", from = 2, connections = 4, rate = 200, seconds = 3)
    others <- start_load(bench, peer, "/text", from = 2, connections = 4, rate = 200, seconds = 120)
    if (apart) move_to_cores(0L)
    record <- client$play_frames(list(host = "127.0.0.1", port = peer$port, pid = peer$pid), case)
    account <- end_load(others)[[1]]
    wrong <- unlist(lapply(case$expect, client$judge_expectation, record = record))
    # one that does not read does not see the end either: its connection has ended when the server has closed it
    wrong <- if (case$reads) wrong else if (record$descriptors > connections / 2) "its connections stay open"
    over <- if (length(wrong)) NA else if (case$reads) client$time_over(case$expect, record) else record$held
    name <- sub("\\.frames$", "", basename(file))
    say(trial, ", ", name, ": ", if (is.na(over)) wrong[1] else sprintf("over after %.1f s", over))
    figures(trial, name, 1L, over_s = over, memory_mb = record$memory_mb, descriptors = record$most_descriptors,
      p99_us = account[["p99_us"]], max_us = account[["max_us"]], quiet_p99_us = quiet[["p99_us"]],
      failed = account[["failed"]])
  }))
  value <- function(figure) rows$value[rows$figure == figure]
  over <- value("over_s")
  in_time <- !is.na(over) & over <= (if (is.null(limits)) Inf else limits)
  p99 <- value("p99_us")
  patient <- p99 <= 2 * pmax(value("quiet_p99_us"), 1000)
  title <- c(attacks = "30 connections of HTTP/2 that attack", slow_clients = "100 slow clients of HTTP/1.1")[[trial]]
  list(figures = rows, table = attack_table(rows, title), verdicts = rbind(
    verdict_row(paste0(title, ": over"), if (is.null(limits)) "within 45 s, all" else
      paste0("within ", paste(limits, "s", names(limits), collapse = ", ")),
      if (is.null(limits)) paste(sum(in_time), "of", length(over)) else paste(sprintf("%.1f s", over), collapse = ", "),
      all(in_time)),
    verdict_row(paste0(title, ": p99 of 200 requests/s by another client"), "at most 2x, from 1 ms on",
      sprintf("%d of %d; %.1f ms at most, %.0f requests failed", sum(patient), length(p99), max(p99) / 1e3,
        sum(value("failed"))), all(patient) && all(value("failed") == 0))
  ))
}

# The client of the protocol cases, in an environment of its own: some of its functions have names that are used here.
frames_client <- function(bench) {
  tests <- file.path(dirname(bench$root), "tests")
  client <- new.env(parent = globalenv())
  for (file in c("server.R", "case.R", "client.R", "frames-run.R")) {
    sys.source(file.path(tests, "conformance", file), client)
  }
  client$source_frames(tests, client)
  client
}

# A case against the defaults: more connections, and patience beyond the longest timeout. What it says of memory,
# descriptors and handlers is for a smaller attack, as is that there are workers for all; another client is there
# already.
full_size <- function(case, connections) {
  case$connections <- connections
  case$expect <- Filter(function(expected) expected$kind %in% c("stream", "connection"), case$expect)
  case$expect <- lapply(case$expect, function(expected) {
    expected$after <- 0
    expected$within <- 45
    expected$meanwhile <- FALSE
    expected$outcomes <- lapply(expected$outcomes, function(outcome) {
      if (identical(outcome$what, "200")) outcome["name"] else outcome
    })
    expected
  })
  if (!case$reads) {
    for (i in seq_along(case$steps)) {
      if (!is.null(case$steps[[i]]$pause)) case$steps[[i]]$pause <- max(case$steps[[i]]$pause, 33)
    }
  }
  case
}

attack_table <- function(rows, title) {
  cases <- unique(rows$case)
  value <- function(figure) rows$value[rows$figure == figure]
  over <- value("over_s")
  c(paste0(title, ", against the default timeouts; meanwhile another client asks 200 times a second."), "",
    markdown_table(list(
      "attack" = cases, "over after s" = ifelse(is.na(over), "not", sprintf("%.1f", over)),
      "memory MB" = sprintf("%.0f", value("memory_mb")), "descriptors" = sprintf("%.0f", value("descriptors")),
      "p99 ms" = sprintf("%.2f", value("p99_us") / 1e3), "quiet p99 ms" = sprintf("%.2f", value("quiet_p99_us") / 1e3),
      "max ms" = sprintf("%.1f", value("max_us") / 1e3), "failed" = sprintf("%.0f", value("failed"))
    ), right = 2:8))
}
