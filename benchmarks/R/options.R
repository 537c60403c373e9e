# What a run was asked to do, from the command line and QUICK. Not for doing it: ../run.

usage <- function() sub("TRIALS", toString(trial_names), fixed = TRUE, x = "usage: benchmarks/run [options]

  --scenario NAME[,NAME]   only these of benchmarks/scenarios/ (default: all)
  --peers NAME[,NAME]      only these of benchmarks/peers/ that are installed; nginx, the reference, is always added
  --trial NAME[,NAME]      only these trials: TRIALS
  --rounds N               measured rounds (default 5; at least 1)
  --duration SECONDS       length of a round, whole seconds (default 4; 1 to 60)
  --connections N          keep-alive connections of the client (default 50; 1 to 1000)
  --profile PATH           where the time of GET PATH goes, by perf, and nothing else; --duration as above
  --app FILE               the app that has PATH (default: trials/own.R, which has /ping)
  --no-idle                leave out CPU and memory of the idle server
  --out DIR                where to write the results (default: benchmarks/results for a run of everything;
                           a run of a part, and a quick one, prints only; a profile goes to the folder it is run in)
  --help

With --scenario and no --trial there are no trials; with --trial and no --scenario, trials only.
QUICK=1 in the environment: 2 rounds of 1 second.")

parse_options <- function(arguments, quick = nzchar(Sys.getenv("QUICK"))) {
  options <- list(
    scenarios = NULL, trials = NULL, peers = NULL, rounds = if (quick) 2L else 5L, duration = if (quick) 1L else 4L,
    connections = 50L, idle = TRUE, out = NULL, quick = quick, profile = NULL, app = NULL
  )
  while (length(arguments) > 0L) {
    flag <- arguments[1]
    if (flag == "--help") {
      cat(usage(), "\n", sep = "")
      quit(save = "no", status = 0L)
    } else if (flag == "--no-idle") {
      options$idle <- FALSE
      arguments <- arguments[-1]
      next
    }
    if (length(arguments) < 2L) fail("'", flag, "' is no option, or its value is missing\n", usage())
    value <- arguments[2]
    switch(flag,
      "--scenario" = options$scenarios <- strsplit(value, ",", fixed = TRUE)[[1]],
      "--trial" = options$trials <- strsplit(value, ",", fixed = TRUE)[[1]],
      "--peers" = options$peers <- strsplit(value, ",", fixed = TRUE)[[1]],
      "--rounds" = options$rounds <- whole(value, flag, 1L, 1000L),
      "--duration" = options$duration <- whole(value, flag, 1L, 60L),
      "--connections" = options$connections <- whole(value, flag, 1L, 1000L),
      "--out" = options$out <- value,
      "--profile" = options$profile <- value,
      "--app" = options$app <- value,
      fail("'", flag, "' is no option\n", usage())
    )
    arguments <- arguments[-(1:2)]
  }
  everything <- is.null(options$scenarios) && is.null(options$trials)
  options$complete <- everything && is.null(options$peers) && options$idle && !quick
  if (everything) options$trials <- trial_names
  if (is.null(options$trials)) options$trials <- character()
  if (is.null(options$scenarios) && !everything) {
    options$scenarios <- character()
    options$idle <- FALSE
  }
  options
}

whole <- function(value, flag, low, high) {
  number <- suppressWarnings(as.numeric(value))
  if (is.na(number) || number != round(number) || number < low || number > high) {
    fail(flag, " must be a whole number from ", low, " to ", high, ", not '", value, "'")
  }
  as.integer(number)
}

# Ends the run with a message instead of an R error: what went wrong is not in this program.
fail <- function(...) {
  stop(structure(class = c("bench_failure", "error", "condition"), list(message = paste0(...), call = NULL)))
}

# Progress, on stderr: stdout has the results only.
say <- function(...) message(format(Sys.time(), "%H:%M:%S "), ...)
