# Where the time of one route goes, in the server and in R: `--profile PATH`. perf samples the stacks of all threads of
# a `drover serve` while wrk asks for the route. Not for R functions and lines, which perf does not see: those are for
# `drover profile`.

# Samples per second of CPU time, and bytes of each stack that are kept: R's are deep.
profile_rate <- 299L
profile_stack <- 16384L

# Prints who takes the time, and writes the folded stacks to a file that programs for flame graphs read.
profile_route <- function(bench) {
  options <- bench$options
  if (!startsWith(options$profile, "/")) fail("--profile must be a path, such as /ping, not '", options$profile, "'")
  check_perf(bench)
  app <- if (is.null(options$app)) file.path(bench$root, "trials", "own.R") else options$app
  if (!file.exists(app)) fail("--app must be the file or folder of an app, and there is no ", app)
  peer <- start_drover(bench, workers = 1L, app = normalizePath(app))
  on.exit(stop_peer(peer))
  route <- list(path = options$profile, method = "GET")
  load <- function(seconds) load_with_wrk(bench, peer, route, seconds)
  errors <- load(bench$warm_up)$errors
  if (nzchar(errors)) fail("GET ", route$path, " is not answered with 2xx: ", errors)
  data <- file.path(bench$work, "perf.data")
  recorder <- processx::process$new("perf", perf_words(data, c(
    "-p", paste(process_tree(peer$pid), collapse = ","), "--", "sleep", options$duration
  )), stdout = NULL, stderr = file.path(bench$work, "perf.log"), cleanup = TRUE)
  before <- cpu_snapshot(peer$pid)
  result <- load(options$duration)
  cpu <- cpu_between(before, cpu_snapshot(peer$pid))
  recorder$wait(60000)
  say("reading the samples")
  # names of inlined functions would take a look-up of each address
  script <- processx::run("perf", c("script", "--no-inline", "-i", data, "-F", "comm,ip,sym"), error_on_status = FALSE)
  stacks <- folded_stacks(strsplit(script$stdout, "\n", fixed = TRUE)[[1L]])
  if (!length(stacks)) fail("perf has no samples of ", route$path, ": ", script$stderr)
  folder <- if (is.null(options$out)) "." else options$out
  file <- file.path(folder, paste0("profile", gsub("[^A-Za-z0-9]+", "-", route$path), ".folded"))
  writeLines(paste(names(stacks), stacks), file)
  c(
    sprintf("GET %s of %s: %s requests/s while perf looks on, %.1f us of CPU time each, %d samples", route$path,
      basename(app), thousands(result$requests / result$seconds), cpu / result$requests * 1e6, sum(stacks)),
    "", profile_table(stacks), "", paste("folded stacks:", file)
  )
}

perf_words <- function(data, words) {
  # a clock of the kernel's: machines that are virtual have no counters
  c("record", "-q", "-e", "cpu-clock", "-F", profile_rate, "--call-graph", paste0("dwarf,", profile_stack), "-o", data, words)
}

# Says what is to be done where perf may not be used.
check_perf <- function(bench) {
  if (Sys.which("perf") == "") fail("perf is not installed; `make bench PROFILE=...` installs what is needed")
  tried <- processx::run("perf", perf_words(file.path(bench$work, "try.data"), c("--", "true")), error_on_status = FALSE)
  if (tried$status == 0L) return(invisible())
  level <- read_proc("/proc/sys/kernel/perf_event_paranoid")
  fail("the kernel does not let perf sample here (kernel.perf_event_paranoid is ", c(level, "not readable")[[1L]],
    "). On a machine of your own: sysctl kernel.perf_event_paranoid=1, or run this as root; in a container, its seccomp ",
    "profile has to allow perf_event_open. perf said:\n", tried$stderr)
}

# Samples as perf prints them, a thread's name and below it the stack, innermost first: how many there are of each
# "thread;outermost;...;innermost".
folded_stacks <- function(lines) {
  sample <- cumsum(!nzchar(lines))
  lines <- split(trimws(lines[nzchar(lines)]), sample[nzchar(lines)])
  stacks <- vapply(lines, function(one) {
    calls <- sub("^[0-9a-f]+ ", "", one[-1L])
    # without the hash behind Rust's names
    calls <- gsub(";", ":", sub("::h[0-9a-f]{16}$", "", calls))
    paste(c(gsub(";", ":", one[[1L]]), rev(calls)), collapse = ";")
  }, "")
  counts <- table(stacks)
  stats::setNames(as.integer(counts), names(counts))
}

# Who takes most: of each thread and function the share of samples in it (self), and in it or what it calls (total).
profile_table <- function(stacks, most = 30L) {
  frames <- strsplit(names(stacks), ";", fixed = TRUE)
  share <- function(keys, counts) {
    sums <- tapply(counts, keys, sum)
    stats::setNames(as.numeric(sums) / sum(stacks) * 100, names(sums))
  }
  key <- function(frames) paste(frames[[1L]], frames, sep = "\t")
  self <- share(vapply(frames, function(one) utils::tail(key(one), 1L), ""), stacks)
  # of a recursive function each sample counts once
  within <- lapply(frames, function(one) unique(key(one)))
  total <- share(unlist(within), rep(stacks, lengths(within)))
  shown <- utils::head(names(sort(self, decreasing = TRUE)), most)
  parts <- strsplit(shown, "\t", fixed = TRUE)
  threads <- sort(share(vapply(frames, `[[`, "", 1L), stacks), decreasing = TRUE)
  c(
    markdown_table(list(thread = names(threads), "samples" = sprintf("%.1f %%", threads)), right = 2L), "",
    markdown_table(list(
      self = sprintf("%.1f %%", self[shown]), total = sprintf("%.1f %%", total[shown]),
      thread = vapply(parts, `[[`, "", 1L), "function" = substr(vapply(parts, `[[`, "", 2L), 1L, 90L)
    ), right = 1:2)
  )
}
