# The trials: what worker processes are for, each measured in its own way. A trial is a function of `bench` in a file
# trials-*.R that returns list(verdicts, figures): rows of report.R, and a data frame of figures() with everything
# measured; and, when it has so many figures that the report needs them in another form, table: lines of Markdown. Not
# for requests that are answered as fast as can be: scenarios.R.

# In the order of the report.
trial_names <- c("workers", "cpu", "slow", "sleeps", "waits", "fork", "memory", "overload", "kill", "reload", "native",
  "attacks", "slow_clients", "crowd", "strings", "plumber")

run_trials <- function(bench, names) {
  unknown <- setdiff(names, trial_names)
  if (length(unknown) > 0L) fail("no such trial: ", toString(unknown), "; there are ", toString(trial_names))
  results <- lapply(intersect(trial_names, names), function(name) {
    say("trial: ", name)
    trial <- get(paste0("trial_", name))
    tryCatch(trial(bench), bench_failure = function(e) {
      say(name, ": ", conditionMessage(e))
      list(verdicts = verdict_row(paste("trial", name), "", paste("failed:", sub("\n.*", "", conditionMessage(e))), FALSE),
        figures = NULL)
    })
  })
  has_table <- vapply(results, function(result) !is.null(result$table), NA)
  all_of <- function(results, what) do.call(rbind, lapply(results, `[[`, what))
  list(
    verdicts = all_of(results, "verdicts"), figures = all_of(results, "figures"),
    # those that the report shows one by one
    listed = all_of(results[!has_table], "figures"), tables = lapply(results[has_table], `[[`, "table")
  )
}

# Rows of figures: which trial, which case of it ("4 workers"), which round, what was measured, and the value.
figures <- function(trial, case, round, ...) {
  values <- c(...)
  data.frame(trial = trial, case = case, round = round, figure = names(values), value = unname(values))
}

# The median of a figure over the rounds, by case in their order.
by_case <- function(rows, figure) {
  rows <- rows[rows$figure == figure, ]
  tapply(rows$value, factor(rows$case, unique(rows$case)), stats::median)
}

# Starts `drover serve` with trials/app.R, or another app: start_drover(bench, workers = 4, model_mb = 500). Other
# arguments are flags.
start_drover <- function(bench, ..., model_mb = 0, wait = TRUE, app = file.path(bench$root, "trials", "app.R")) {
  program <- system.file("bin", "drover", package = "drover")
  if (!nzchar(program)) fail("this drover was installed without its program")
  flags <- list(threads = 1L, ...)
  words <- unlist(lapply(names(flags), function(name) {
    c(paste0("--", gsub("_", "-", name)), format(flags[[name]], scientific = FALSE))
  }))
  launch_peer(bench, "drover", wait = wait, env = c(MODEL_MB = format(model_mb), BUSY = busy_rounds(bench)),
    command = function(port, run_dir) c(program, "serve", app, "--port", port, words))
}

# How many rounds of the loop of /busy take 2 ms in a process that has a core for itself.
busy_rounds <- function(bench) {
  if (is.null(bench$state$busy)) {
    script <- paste(
      "work <- function(n) { x <- 0; for (i in seq_len(n)) x <- x + i; x }",
      "for (i in 1:20) work(1e5)",
      "seconds <- vapply(1:50, function(i) system.time(work(1e6))[['user.self']], 0)",
      "cat(round(1e6 * 0.002 / stats::median(seconds)))",
      sep = "; "
    )
    bench$state$busy <- processx::run("Rscript", c("--vanilla", "-e", script))$stdout
  }
  bench$state$busy
}

# Pids of the processes below a server that run its handlers: what answers to /pid.
worker_pids <- function(peer, at_least = 1L) {
  pids <- character()
  deadline <- Sys.time() + 20
  while (length(pids) < at_least && Sys.time() < deadline) pids <- union(pids, get_text(peer, "/pid"))
  as.integer(pids)
}

get_text <- function(peer, path) {
  answer <- processx::run("curl", c("-s", "--max-time", "60", paste0(peer$url, path)), error_on_status = FALSE)
  answer$stdout
}

count_text <- function(n, one, many = paste0(one, "s")) paste(n, if (n == 1) one else many)
