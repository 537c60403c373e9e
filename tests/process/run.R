# Process tests: what happens to requests, processes, memory and descriptors when things are killed, hang, run out or
# are replaced. Against the installed package and its `drover` program.
#
#   Rscript tests/process/run.R [PATTERN]     PATTERN: of the names of tests or of their files
#
# JOBS in the environment is how many tests are run at once (../jobs.R); 1 is the default.
#
# WAYS in the environment says how tests start their servers (server.R): "turns", the default, takes one of the ways
# that a test is for, always the same one; "1" is `drover serve` for all; "2", "3" and "4" are the other ways, from an R
# session; "all" runs each test in all ways, those of test_every_worker() in all five.
#
# Neighbours: family.R finds and ends processes, server.R starts servers, client.R sends requests, websocket.R messages,
# shiny.R pages of Shiny,
# storm.R has clients that leave, checks.R is what tests say, app.R is the app, faults.c what an app does wrong in C,
# c-app.R the same app with C handlers; the tests are in test-*.R.
#
# Every test starts servers of its own and leaves nothing running: what it leaves fails it, and is killed by its pid.
# Not for how fast things are: that is benchmarks/. Tests show an order, and wait for what is to come (../lib/wait.R).

# each job is a new R, which would compile for longer than what is compiled then saves
invisible(compiler::enableJIT(0L))

here <- dirname(normalizePath(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])))
root <- dirname(dirname(here))
for (file in c("jobs.R", "lib/failures.R", "lib/wait.R", "lib/marks.R", "lib/start.R", "lib/ports.R", "lib/curl.R")) {
  source(file.path(root, "tests", file))
}
offer_gates(file.path(root, "tests/lib"))
for (file in c("checks.R", "family.R", "server.R", "client.R", "websocket.R", "shiny.R", "storm.R")) {
  source(file.path(here, file))
}

tests <- list()

# Registers a test: a function without arguments that calls expect(). `ways`: those of styles that it is for; one about
# zygotes is not for spawned workers, one about a file that changes not for apps of a session, one about the program for
# it alone. `only_all`: those of them that are left to WAYS=all, such as spawned workers for a test that replaces a
# hundred: each is an R that starts.
test <- function(name, body, ways = seq_along(styles), only_all = NULL) {
  tests[[length(tests) + 1L]] <<- list(
    name = name, body = body, file = current_file, ways = ways, only_all = only_all
  )
}

# The tests as they are to be run: each with the way to start servers. One that does not call serve() says itself how it
# starts what it needs.
with_ways <- function(tests, ways) {
  runs_of <- function(test) {
    has <- if ("serve" %in% all.names(body(test$body))) test$ways else 1L
    usual <- setdiff(has, test$only_all)
    taken <- switch(ways, all = has, turns = one_of(usual, test$name), intersect(as.integer(ways), usual))
    lapply(styles[taken], function(style) c(test, style = style))
  }
  unlist(lapply(tests, runs_of), recursive = FALSE)
}

# One of these, if there are any, for a name: another for another name, and the same one whatever else is tested.
one_of <- function(x, name) if (length(x)) x[[1L + sum(utf8ToInt(name)) %% length(x)]]

# Runs one test, for as long as it may take (may_take()); what comes after it has no limit. list(how, "passed", "failed"
# or "skipped"; message; seconds; cpu: seconds of processor time, those of the processes that it started included).
run_test <- function(test) {
  begun <- proc.time()
  begin_family()
  style <<- test$style
  result <- tryCatch({
    limited(test$body)
    NULL
  }, skipped = identity, error = identity)
  logs <- if (inherits(result, "error")) server_logs()
  end_clients()
  end_sockets()
  left <- tryCatch(end_servers(), error = function(e) conditionMessage(e))
  if (is.null(left)) left <- sprintf("left running: %s", processes_left(10))
  kill_family()
  if (is.null(result) && length(left)) {
    result <- structure(class = c("error", "condition"), list(message = paste(left, collapse = "\n    ")))
  }
  took <- proc.time() - begun
  list(
    how = if (is.null(result)) "passed" else if (inherits(result, "skipped")) "skipped" else "failed",
    message = if (!is.null(result)) paste(c(conditionMessage(result), logs), collapse = "\n    "),
    seconds = took[["elapsed"]], cpu = sum(took[c("user.self", "sys.self", "user.child", "sys.child")])
  )
}

main <- function(pattern, jobs) {
  for (file in list.files(here, "^test-.*\\.R$")) {
    current_file <<- file
    source(file.path(here, file))
  }
  chosen <- Filter(function(test) grepl(pattern, paste(test$file, test$name)), tests)
  chosen <- with_ways(chosen, Sys.getenv("WAYS", "turns"))
  title <- function(test) paste0(test$name, if (test$style != styles[[1L]]) paste(" by", test$style))
  label <- function(test) paste(test$file, "|", title(test))
  chosen <- chosen[to_be_run(vapply(chosen, label, ""))]
  if (nzchar(jobs_folder())) {
    work_off(length(chosen), function(i) run_test(chosen[[i]]))
    return(TRUE)
  }
  how <- rep("failed", length(chosen))
  report <- function(i, result) {
    how[[i]] <<- result$how
    cat(sprintf("%s %s (%.1f s, %.1f s of CPU)\n", c(passed = "ok  ", failed = "FAIL", skipped = "skip")[[result$how]],
      title(chosen[[i]]), result$seconds, result$cpu))
    if (!is.null(result$message)) cat("    ", result$message, "\n", sep = "")
    if (result$how == "failed") note_failure(label(chosen[[i]]), result$message)
  }
  if (jobs > 1L) {
    lost <- list(
      how = "failed", message = "the job that had it has ended before it was done", seconds = NA_real_, cpu = NA_real_
    )
    run_in_jobs(length(chosen), jobs, file.path(here, "run.R"), pattern, function(i, result) {
      report(i, if (is.null(result)) lost else result)
    })
  } else {
    for (i in seq_along(chosen)) report(i, run_test(chosen[[i]]))
  }
  for (test in chosen[how == "failed"]) cat(sprintf("failed: %s\n", label(test)))
  counts <- table(factor(how, c("passed", "failed", "skipped")))
  cat(sprintf("%d passed, %d failed, %d skipped\n", counts[["passed"]], counts[["failed"]], counts[["skipped"]]))
  counts[["failed"]] == 0L
}

if (!requireNamespace("processx", quietly = TRUE)) {
  cat("the package 'processx' is needed\n0 passed, 1 failed\n")
  quit(status = 1L)
}
if (!main(c(commandArgs(trailingOnly = TRUE), "")[1], jobs_wanted())) quit(status = 1L)
