# Soak: mixed requests for some minutes against `drover serve`, faults in every minute, an exact account of each minute,
# and at the end a table of what grew, with a verdict. Not a stage of `make test`:
#   make soak MINUTES=10        or  R_LIBS=.Rlib Rscript tests/process/soak.R MINUTES
# The pieces are those of the process tests: family.R, server.R, client.R, storm.R.

here <- dirname(normalizePath(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])))
root <- dirname(dirname(here))
for (file in c("jobs.R", "lib/wait.R", "lib/marks.R", "lib/start.R", "lib/curl.R")) {
  source(file.path(root, "tests", file))
}
offer_gates(file.path(root, "tests/lib"))
for (file in c("checks.R", "family.R", "server.R", "client.R", "storm.R")) source(file.path(here, file))

# Requests per second whose answers are all accounted for: light enough for a small machine with all the rest.
rate <- 2000
# Requests that one killed worker may have had running: one in R, those of its threads for C, and inline ones that were
# in its ring.
most_lost <- 40

# At these seconds of each minute.
faults <- list(
  list(at = 5, name = "kill -9 a worker", run = function(server, state) {
    pids <- workers(server)
    send_signal(sample(rep(pids, 2), 1), tools::SIGKILL)
  }),
  list(at = 15, name = "reload", run = function(server, state) {
    state$zygotes <- zygotes(server)
    send_signal(server$pid, tools::SIGHUP)
  }),
  list(at = 25, name = "storm of clients that leave", run = function(server, state) {
    expect(within(function() length(setdiff(zygotes(server), state$zygotes)) == 1L), "it has not reloaded")
    state$storm <- start_storm(server, state$paths, 10)
  }),
  list(at = 38, name = "large bodies", run = function(server, state) {
    state$left <- state$left + sum(end_storm(state$storm))
    upload <- function(i) ask_later(server, "/upload", "-H", "Expect:", "-X", "POST", "-T", state$body)
    state$uploads <- lapply(1:8, upload)
  }),
  list(at = 45, name = "slow clients", run = function(server, state) {
    for (wait in state$uploads) {
      answer <- wait()
      expect(answer$status == "200", "an upload got ", answer$status)
    }
    for (i in 1:8) {
      start_client("curl", c("-s", "-o", "/dev/null", "--max-time", "8", "--limit-rate", "20k",
        paste0(server$url, "/spooled")))
    }
  })
)

# One minute: a list of what went wrong.
minute <- function(server, state) {
  began <- Sys.time()
  wrong <- character()
  loads <- list(
    start_load(server, "/n/{n}", path2 = "/c/text", share = 0.5, connections = 16, rate = rate, seconds = 55),
    start_load(server, "/spooled", path2 = state$file_path, share = 0.5, connections = 2, rate = 10, seconds = 55)
  )
  for (fault in faults) {
    let_pass(max(0, fault$at - as.numeric(Sys.time() - began, units = "secs")))
    problem <- tryCatch({
      fault$run(server, state)
      NULL
    }, error = conditionMessage)
    if (!is.null(problem)) wrong <- c(wrong, paste0(fault$name, ": ", problem))
  }
  accounts <- unlist(lapply(loads, end_load, stop = FALSE), recursive = FALSE)
  for (account in accounts) {
    state$requests <- state$requests + account[["sent"]]
    # a killed worker's requests are told of; an answer that it had begun is cut
    told <- account[["s502"]] + account[["cut"]]
    rest <- account[["sent"]] - account[["s200"]] - told
    mixed_up <- account[["wrong"]] + account[["unasked"]]
    if (rest != 0 || told > most_lost || mixed_up > 0) wrong <- c(wrong, attr(account, "line"))
  }
  end_clients()
  within(function() length(zygotes(server)) == 1L && length(workers(server)) == 3L)
  wrong
}

# One row for each kind of process, and what is on disk.
sample_of <- function(server, state, number) {
  # what was in use is given back in a moment of calm
  let_pass(3)
  all <- census(server)
  rows <- lapply(split(all, all$kind), function(one) {
    data.frame(kind = one$kind[1], processes = nrow(one), descriptors = mean(one$descriptors),
      threads = mean(one$threads), rss_mb = mean(one$resident) / 1e6, pss_mb = mean(one$pss) / 1e6)
  })
  disk <- data.frame(kind = "disk", files = length(files_in(state$folder)), nameless = length(nameless(all$pid)))
  list(minute = number, requests = state$requests + state$left, rows = do.call(rbind, rows), disk = disk)
}

# What a figure may have grown by, from the first minute's end to the last's.
allowances <- c(processes = 0, descriptors = 6, threads = 8, rss_mb = 24, pss_mb = 24, files = 0, nameless = 0)

# One row for each figure: the first and last value, slopes, and whether it has grown.
slopes <- function(samples) {
  minutes <- vapply(samples, `[[`, 1, "minute")
  millions <- vapply(samples, `[[`, 1, "requests") / 1e6
  series <- list()
  for (kind in c("server", "zygote", "worker")) {
    for (name in c("processes", "descriptors", "threads", "rss_mb", "pss_mb")) {
      series[[paste(kind, name)]] <- vapply(samples, function(one) one$rows[one$rows$kind == kind, name], 1)
    }
  }
  for (name in c("files", "nameless")) {
    series[[paste("disk", name)]] <- vapply(samples, function(one) one$disk[[name]] + 0, 1)
  }
  slope <- function(y, x) if (length(y) > 1) stats::cov(x, y) / stats::var(x) else NA_real_
  do.call(rbind, lapply(names(series), function(name) {
    y <- series[[name]]
    grown <- y[length(y)] - y[1]
    data.frame(figure = name, first = y[1], last = y[length(y)], per_minute = slope(y, minutes),
      per_million_requests = slope(y, millions),
      verdict = if (grown <= allowances[[sub(".* ", "", name)]]) "steady" else "GROWS")
  }))
}

main <- function(minutes) {
  begin_family()
  on.exit({
    end_clients()
    kill_family()
  })
  state <- new.env()
  state$folder <- tempfile("uploads-")
  state$body <- tempfile("body-")
  writeBin(raw(9e5), state$body)
  file <- storm_file()
  state$paths <- storm_paths(file)
  state$file_path <- paste0("/file?path=", file)
  state$requests <- state$left <- 0
  server <- serve(c_app(), workers = 3, threads = 2, queue_timeout = 30, kill_after = 10, upload_path = state$folder,
    log = tempfile("log-"))
  wait_for_workers(server, 3)
  failed <- 0
  samples <- list()
  for (number in seq_len(minutes)) {
    wrong <- minute(server, state)
    failed <- failed + (length(wrong) > 0)
    samples[[number]] <- sample_of(server, state, number)
    last <- samples[[number]]
    cat(sprintf("minute %d: %s; %.0f requests so far, server %.1f MB\n", number, if (length(wrong)) "FAIL" else "ok",
      last$requests, last$rows$rss_mb[last$rows$kind == "server"]))
    if (length(wrong)) cat(paste0("    ", wrong, "\n"), sep = "")
  }
  table <- slopes(samples)
  cat("\n")
  print(format(table, digits = 3, scientific = FALSE), row.names = FALSE)
  grows <- sum(table$verdict == "GROWS")
  send_signal(server$pid, tools::SIGTERM)
  status <- exit_status(server, 60)
  ended <- identical(status, 0L)
  left <- c(files_in(state$folder), processes_left(5))
  cat(sprintf("\n%.0f requests accounted for, %.0f clients left; exit status %s; left: %s\n", state$requests, state$left,
    status, if (length(left)) toString(left) else "nothing"))
  cat(if (failed + grows == 0 && ended && !length(left)) "verdict: steady\n" else "verdict: NOT steady\n")
  bad <- failed + grows + !ended + (length(left) > 0)
  cat(sprintf("%d passed, %d failed, 0 skipped\n", minutes + nrow(table) + 2 - bad, bad))
  bad == 0
}

if (!main(max(1L, as.integer(c(commandArgs(trailingOnly = TRUE), "10")[1])))) quit(status = 1L)
