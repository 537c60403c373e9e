# The trial of a crowd of slow clients: ten thousand for a minute whose header sections or bodies never end, and two
# thousand that connect to a server with TLS and say nothing. What another client waits meanwhile, against the same
# without them, and how soon the server ends each. Few of them, in every manner: trials-attacks.R.

# More than the slow ones: beyond `max_connections`, who comes next waits until one has gone.
crowd_room <- 12000L

trial_crowd <- function(bench) {
  seconds <- if (bench$options$quick) 15L else 60L
  crowd <- list(
    headers = list(count = 10000L, limit = 10, title = "10,000 slow header sections"),
    bodies = list(count = 10000L, limit = 15, title = "10,000 slow bodies"),
    handshake = list(count = 2000L, limit = 10, title = "2,000 handshakes of TLS that do not come")
  )
  apart <- cores() > 1L
  if (apart) {
    everywhere <- move_to_cores(0L)
    on.exit(move_to_cores(everywhere))
  }
  rows <- lapply(names(crowd), function(mode) measure_crowd(bench, mode, crowd[[mode]]$count, seconds, apart))
  rows <- do.call(rbind, rows)
  value <- function(figure) stats::setNames(rows$value[rows$figure == figure], unique(rows$case))
  limits <- vapply(crowd, `[[`, 0, "limit")
  ratio <- value("p99_us") / value("quiet_p99_us")
  # a second to notice, and one for a machine that is busy
  in_time <- value("longest_s") <= limits + 2 & value("lost") == 0 & value("ended") > 0
  list(figures = rows, verdicts = rbind(
    verdict_row("a crowd of slow clients: each is ended",
      paste0("within ", paste(limits, "s", names(limits), collapse = ", ")), paste(sprintf("%.1f s", value("longest_s")), collapse = ", "), all(in_time)),
    verdict_row("a crowd of slow clients: p99 of 200 requests/s by another client", "under 2x of without",
      sprintf("%s; %.0f requests failed", paste(sprintf("%.2fx", ratio), collapse = ", "), sum(value("failed"))),
      all(ratio < 2) && sum(value("failed")) == 0)
  ), table = crowd_table(rows, vapply(crowd, `[[`, "", "title"), seconds))
}

# One kind of slow clients: rows of figures. The attacker has a core of its own where there are two.
measure_crowd <- function(bench, mode, count, seconds, apart) {
  if (apart) move_to_cores(1L)
  with_tls <- mode == "handshake"
  # with TLS the other client comes by the address for whoever runs the server: in cleartext, and on the same thread
  target <- if (with_tls) "/livez" else "/text"
  admin <- if (with_tls) free_port()
  flags <- list(workers = 1L, max_connections = crowd_room)
  if (with_tls) {
    tls <- drover::dr_tls_self_signed(file.path(bench$work, "crowd-certificate"))
    flags <- c(flags, tls_cert = tls$cert, tls_key = tls$key, admin = paste0("127.0.0.1:", admin))
  }
  peer <- do.call(start_drover, c(list(bench, wait = !with_tls), flags))
  on.exit(stop_peer(peer))
  attacked <- peer$port
  if (with_tls) {
    peer$port <- admin
    peer$url <- paste0("http://127.0.0.1:", admin)
    wait_until_listening(peer)
  }
  ask <- function(...) start_load(bench, peer, target, from = 2, connections = 4, rate = 200, ...)
  quiet <- end_load(ask(seconds = seconds), stop = FALSE)[[1]]
  others <- ask(seconds = 2L * seconds + 60L)
  if (apart) move_to_cores(0L)
  client <- processx::process$new(compile_client(bench, "slow"), as.character(c(mode, attacked, count, seconds, 2000L)),
    stdout = "|", stderr = "2>&1", cleanup = TRUE)
  said <- read_line(client, seconds)
  if (said != "open") fail("the slow clients do not come: ", said)
  memory <- memory_of(peer$pid)
  descriptors <- length(list.files(file.path("/proc", peer$pid, "fd")))
  # what new clients of TLS wait
  connects <- if (with_tls) time_handshakes(attacked, seconds / 2) else NA_real_
  client$wait((seconds + 40) * 1000)
  account <- end_load(others)[[1]]
  pairs <- strsplit(strsplit(read_line(client, 5), " ", fixed = TRUE)[[1]], "=", fixed = TRUE)
  told <- stats::setNames(as.numeric(vapply(pairs, `[`, "", 2L)), vapply(pairs, `[`, "", 1L))
  say("crowd, ", mode, ": ", paste(names(told), told, collapse = ", "))
  figures("crowd", mode, 1L, ended = told[["ended"]], shortest_s = told[["shortest_ms"]] / 1e3,
    longest_s = told[["longest_ms"]] / 1e3, refused = told[["refused"]], lost = told[["lost"]],
    descriptors = descriptors, memory_mb = memory / 1e6, p99_us = account[["p99_us"]], max_us = account[["max_us"]],
    quiet_p99_us = quiet[["p99_us"]], quiet_max_us = quiet[["max_us"]], failed = account[["failed"]],
    handshake_ms = if (with_tls) max(connects) * 1e3 else NA_real_)
}

# Seconds that new clients take for a whole request over TLS, one after the other for so long; Inf for one that fails.
time_handshakes <- function(port, seconds) {
  end <- Sys.time() + seconds
  times <- numeric()
  while (Sys.time() < end) {
    ran <- processx::run("curl", c("-sk", "-o", "/dev/null", "--max-time", "10", "-w", "%{http_code} %{time_total}",
      paste0("https://127.0.0.1:", port, "/text")), error_on_status = FALSE)
    words <- strsplit(ran$stdout, " ", fixed = TRUE)[[1]]
    times <- c(times, if (words[1] == "200") as.numeric(words[2]) else Inf)
    Sys.sleep(0.2)
  }
  times
}

crowd_table <- function(rows, titles, seconds) {
  value <- function(figure) rows$value[rows$figure == figure]
  c(
    sprintf("Slow clients for %d s against the default timeouts, each of which is replaced when the server ends it,",
      seconds),
    sprintf("with `max_connections = %d`; meanwhile another client asks 200 times a second.", crowd_room), "",
    markdown_table(list(
      "slow clients" = unname(titles[unique(rows$case)]), "ended" = sprintf("%.0f", value("ended")),
      "after s" = sprintf("%.1f to %.1f", value("shortest_s"), value("longest_s")),
      "descriptors" = sprintf("%.0f", value("descriptors")), "p99 ms" = sprintf("%.2f", value("p99_us") / 1e3),
      "quiet p99 ms" = sprintf("%.2f", value("quiet_p99_us") / 1e3),
      "ratio" = sprintf("%.2f", value("p99_us") / value("quiet_p99_us")),
      "max ms" = sprintf("%.1f", value("max_us") / 1e3),
      "quiet max ms" = sprintf("%.1f", value("quiet_max_us") / 1e3), "failed" = sprintf("%.0f", value("failed")),
      "new TLS client, longest ms" = ifelse(is.na(value("handshake_ms")), "", sprintf("%.0f", value("handshake_ms")))
    ), right = 2:11)
  )
}
