# A plumber.R, as it is: served by plumber itself, and by drover the whole way, on the fast path, and beside the same
# handlers in drover's own API; and by valve, a proxy before processes of plumber, where that is on the PATH (cargo
# install valve-rs).

trial_plumber <- function(bench) {
  ready <- processx::run("Rscript", c("-e", "library(plumber)"), error_on_status = FALSE)
  if (ready$status != 0L) fail("plumber is not installed")
  peers <- list(
    plumber = start_plumber(bench),
    full = start_plumber_by_drover(bench, "plumber.R", workers = 1, plumber = "full"),
    "full, 2 workers" = start_plumber_by_drover(bench, "plumber.R", workers = 2, plumber = "full"),
    fast = start_plumber_by_drover(bench, "plumber.R", workers = 1),
    own = start_plumber_by_drover(bench, "own.R", workers = 1)
  )
  if (nzchar(Sys.which("valve"))) peers$valve <- start_valve(bench)
  on.exit(for (peer in peers) stop_peer(peer))
  rows <- list()
  for (path in c("/ping", "/ping-text")) {
    scenario <- list(name = substring(path, 2L), method = "GET", path = path)
    for (case in names(peers)) {
      peers[[case]]$name <- case
      load_with_wrk(bench, peers[[case]], scenario, bench$warm_up)
    }
    for (round in seq_len(bench$options$rounds)) {
      for (peer in peers) {
        before <- cpu_snapshot(peer$pid)
        row <- measure_round(bench, peer, scenario, round)
        if (nzchar(row$errors)) fail(peer$name, ": ", row$errors)
        # of the process that clients are connected to: for valve and drover without R
        front <- function(snapshot) snapshot[names(snapshot) == peer$pid]
        front_cpu <- cpu_between(front(before), front(cpu_snapshot(peer$pid)))
        rows[[length(rows) + 1L]] <- figures("plumber", paste0(path, ", ", peer$name), round, rps = row$rps,
          cpu_us = row$cpu_us, front_us = front_cpu / row$requests * 1e6, p99_us = row$p99_us)
      }
    }
  }
  starts <- cold_starts(bench)
  valve <- sleeps_by_plumber_file(bench)
  waits <- waits_of_plumber_file(bench)
  rows <- do.call(rbind, rows)
  list(figures = rbind(rows, starts$figures, valve$figures, waits$figures), verdicts = rbind(
    do.call(rbind, lapply(c("/ping", "/ping-text"), function(path) ping_verdicts(rows, path))),
    starts$verdicts, valve$verdicts, waits$verdicts
  ))
}

ping_verdicts <- function(rows, path) {
  rps <- function(case) by_case(rows, "rps")[[paste0(path, ", ", case)]]
  cpu <- function(case) by_case(rows, "cpu_us")[[paste0(path, ", ", case)]]
  title <- function(what) sprintf("a plumber.R, %s: %s", path, what)
  fast <- rps("fast") / rps("plumber")
  cost <- cpu("fast") / cpu("own")
  full <- rps("full") / rps("plumber")
  two <- rps("full, 2 workers") / rps("full")
  beside_valve <- if (paste0(path, ", valve") %in% names(by_case(rows, "rps"))) {
    front <- function(case) by_case(rows, "front_us")[[paste0(path, ", ", case)]]
    ratio <- front("full") / front("valve")
    verdict_row(title("CPU per request of the server before R, beside valve"), "at most a quarter of valve's",
      sprintf("%.2fx (%.0f, %.0f us); with R %.0f, %.0f us", ratio, front("full"), front("valve"), cpu("full"),
        cpu("valve")), ratio <= 0.25)
  }
  rbind(
    beside_valve,
    verdict_row(title("requests/s on the fast path"), "at least 60x plumber's",
      sprintf("%.0fx (%.0f, %.0f)", fast, rps("fast"), rps("plumber")), fast >= 60),
    verdict_row(title("CPU on the fast path"), "at most 1.3x of drover's own API",
      sprintf("%.2fx (%.1f, %.1f us)", cost, cpu("fast"), cpu("own")), cost <= 1.3),
    verdict_row(title("requests/s the whole way, 1 worker"), "at least 1.3x plumber's",
      sprintf("%.2fx (%.0f); CPU %.2fx", full, rps("full"), cpu("full") / cpu("plumber")), full >= 1.3),
    verdict_row(title("requests/s the whole way, 2 workers"), "at least 1.8x of 1", sprintf("%.2fx", two), two >= 1.8)
  )
}

start_plumber <- function(bench) {
  file <- file.path(bench$root, "trials", "plumber.R")
  launch_peer(bench, "plumber", wait = TRUE, command = function(port, run_dir) {
    c("Rscript", "-e", sprintf("plumber::pr_run(plumber::plumb('%s'), port = %dL, quiet = TRUE)", file, port))
  })
}

# With one process of plumber, which is started with the first request.
start_valve <- function(bench) {
  file <- file.path(bench$root, "trials", "plumber.R")
  peer <- launch_peer(bench, "valve", wait = TRUE, command = function(port, run_dir) {
    c("valve", "--port", port, "--n-max", "1", "--workers", "1", "--file", file)
  })
  for (try in 1:20) {
    if (processx::run("curl", c("-sf", paste0(peer$url, "/ping")), error_on_status = FALSE)$status == 0L) return(peer)
    Sys.sleep(0.25)
  }
  fail("valve does not answer:\n", paste(readLines(peer$log), collapse = "\n"))
}

start_plumber_by_drover <- function(bench, file, ..., wait = TRUE) {
  flags <- list(threads = 1, ...)
  words <- unlist(lapply(names(flags), function(name) c(paste0("--", name), flags[[name]])))
  program <- system.file("bin", "drover", package = "drover")
  launch_peer(bench, "drover", wait = wait, command = function(port, run_dir) {
    c(program, "serve", file.path(bench$root, "trials", file), "--port", port, words)
  })
}

# From nothing to the first answer, and what R takes to load plumber and read the file.
cold_starts <- function(bench) {
  file <- file.path(bench$root, "trials", "plumber.R")
  rows <- do.call(rbind, lapply(seq_len(bench$options$rounds), function(round) {
    code <- sprintf("invisible(plumber::plumb('%s'))", file)
    loaded <- system.time(processx::run("Rscript", c("--vanilla", "-e", code)))[["elapsed"]]
    peer <- start_plumber_by_drover(bench, "plumber.R", workers = 1, wait = FALSE)
    on.exit(stop_peer(peer))
    wait_for_banner(peer)
    # by this process: the load client takes as long to start as a tenth of what is measured
    readLines(paste0(peer$url, "/ping"), warn = FALSE)
    answered <- as.numeric(Sys.time() - peer$started, units = "secs")
    figures("plumber", "cold start", round, loaded_s = loaded, answered_s = answered, ratio = answered / loaded)
  }))
  ratio <- by_case(rows, "ratio")[[1L]]
  list(figures = rows, verdicts = verdict_row(
    "a plumber.R: from nothing to the first answer", "at most 1.3x of loading it in R",
    sprintf("%.2fx (%.2f, %.2f s)", ratio, by_case(rows, "answered_s")[[1L]], by_case(rows, "loaded_s")[[1L]]),
    ratio <= 1.3
  ))
}

# What valve's authors measure: 100 requests of half a second, 5 at a time, 5 workers, with the start: with the package
# plumber, which takes R longer to load than the target leaves, and without it.
sleeps_by_plumber_file <- function(bench) {
  ways <- c("", ", --kind annotations")
  rows <- list()
  for (way in ways) {
    options <- if (nzchar(way)) list(kind = "annotations")
    for (round in seq_len(if (bench$options$quick) 1L else 3L)) {
      rows[[length(rows) + 1L]] <- sleeps(bench, paste0("sleeps", way), round, options)
    }
  }
  rows <- do.call(rbind, rows)
  verdict <- function(way) {
    seconds <- by_case(rows, "seconds")[[paste0("sleeps", way)]]
    start <- by_case(rows, "start_s")[[paste0("sleeps", way)]]
    title <- "a plumber.R: 100 requests of /sleep?zzz=0.5, 5 at a time, 5 workers, with the start"
    verdict_row(paste0(title, way), "at most 10.3 s", sprintf("%.2f s (start %.2f s)", seconds, start), seconds <= 10.3)
  }
  list(figures = rows, verdicts = do.call(rbind, lapply(ways, verdict)))
}

sleeps <- function(bench, case, round, options) {
  peer <- do.call(start_plumber_by_drover, c(list(bench, "plumber.R", workers = 5, wait = FALSE), options))
  on.exit(stop_peer(peer))
  wait_for_banner(peer)
  started <- as.numeric(Sys.time() - peer$started, units = "secs")
  account <- load_path(bench, peer, "/sleep?zzz=0.5", connections = 5, requests = 100)
  if (account[["failed"]] > 0) fail("requests failed")
  figures("plumber", case, round, seconds = started + account[["seconds"]], start_s = started)
}

waits_of_plumber_file <- function(bench) {
  peer <- start_plumber_by_drover(bench, "plumber.R", workers = 6)
  on.exit(stop_peer(peer))
  rows <- do.call(rbind, lapply(c(1L, 3L, 6L), function(clients) {
    account <- load_path(bench, peer, "/test", connections = clients,
      requests = clients * (if (bench$options$quick) 4L else 20L), body = '{"n":10,"wait":0.5}')
    if (account[["failed"]] > 0) fail("requests failed")
    figures("plumber", paste("waits,", count_text(clients, "client")), 1L, mean_us = account[["mean_us"]])
  }))
  mean <- by_case(rows, "mean_us") / 1e6
  list(figures = rows, verdicts = verdict_row(
    "a plumber.R: POST /test {\"n\":10,\"wait\":0.5}, mean response", "0.5 s within 2 %",
    paste0(sub("waits, ", "", names(mean)), " ", sprintf("%.4f s", mean), collapse = ", "),
    all(abs(mean / 0.5 - 1) <= 0.02)
  ))
}
