# Runs the examples, and the code in README.md and docs/, over real sockets: Rscript tests/examples/run.R [NAME...],
# from the root, where NAME is an example ("hello") or a page ("docs/routes.md"). Ends with "N passed, N failed".
#
# An example is a folder inst/examples/NAME with requests.txt and app.R, or another app that `drover serve` takes; a
# page is described in pages.R. Each command of a transcript or page is a test; so is that the app starts, and that it
# ends when interrupted.

for (file in c(
  "../lib/failures.R", "../lib/wait.R", "../lib/start.R", "../lib/ports.R", "transcript.R", "samples.R", "server.R",
  "packages.R", "pages.R", "settings.R", "proxy.R", "unit.R", "troubleshooting.R"
)) {
  source(file.path("tests", "examples", file), encoding = "UTF-8")
}

counts <- c(passed = 0L, failed = 0L)

# The example or page whose tests are run, or a name for those of none.
subject <- NULL
no_subject <- "(servers and pages)"

# Counts one test; `problems` are strings, none when it passed.
report <- function(name, problems) {
  which <- if (length(problems)) "failed" else "passed"
  counts[[which]] <<- counts[[which]] + 1L
  if (!length(problems)) return(invisible())
  cat("failed:", name, paste0("\n        ", problems), "\n")
  note_failure(subject, c(name, problems))
}

# Runs the app in `file` and the steps of a transcript, or the samples of a page, against it: `run` gives what is wrong
# with one.
run_app <- function(name, file, steps, folder = dirname(file), library = NULL, workers = NULL, run = run_step) {
  cat(name, "\n")
  server <- start_app(file, library = library, workers = workers)
  on.exit(server$process$kill_tree())
  report(paste(name, "starts"), if (is.null(server$url)) paste(server$log(), collapse = "\n          "))
  if (is.null(server$url)) return(invisible())
  for (step in steps) {
    problems <- tryCatch(limited(function() run(step, server, folder)), error = function(error) conditionMessage(error))
    report(paste0(name, ": ", step$command), problems)
  }
  status <- tryCatch(limited(function() stop_app(server)), error = function(error) conditionMessage(error))
  problem <- if (!identical(status, 0L)) paste("its exit status was", paste(status, collapse = "\n          "))
  report(paste(name, "ends when interrupted"), problem)
}

# See install_packages(). That they can be installed is a test.
install_app_packages <- function(name, folder, strict) {
  installed <- install_packages(folder, strict)
  if (!is.null(installed)) report(paste(name, "has a package that can be installed"), installed$problems)
  installed
}

run_example <- function(name) {
  folder <- normalizePath(file.path("inst", "examples", name))
  requests <- file.path(folder, "requests.txt")
  if (!file.exists(requests)) return(report(name, "there is no requests.txt"))
  installed <- install_app_packages(name, folder, strict = TRUE)
  if (length(installed$problems)) return(invisible())
  on.exit(unlink(installed$library, recursive = TRUE))
  steps <- parse_transcript(readLines(requests, encoding = "UTF-8"))
  # written for another server: the program serves it
  if (!serves_itself(folder)) return(run_app(name, folder, steps, folder = folder, workers = 1L))
  run_app(name, file.path(folder, "app.R"), steps, library = installed$library)
  # compiled code has something to prove in processes that are forked
  if (is.null(installed)) return(invisible())
  run_app(paste(name, "(drover serve)"), file.path(folder, "app.R"), steps, library = installed$library, workers = 2L)
}

serves_itself <- function(folder) {
  file <- file.path(folder, "app.R")
  file.exists(file) && any(grepl("dr_serve(", readLines(file, encoding = "UTF-8"), fixed = TRUE))
}

run_page <- function(page) {
  blocks <- fenced_blocks(page)
  for (block in Filter(function(block) block$info == "r no-run", blocks)) {
    parsed <- tryCatch(parse(text = block$lines), error = function(error) error)
    report(paste(page, "parses"), if (inherits(parsed, "error")) conditionMessage(parsed))
  }
  report(paste(page, "recommends nothing that is deprecated"), moved_settings(page, blocks))
  script <- page_script(blocks)
  if (is.null(script)) return(invisible())
  folder <- tempfile("page-")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  file <- file.path(folder, "app.R")
  # so that a page may speak of folders and files without naming ones of this repository
  dir.create(file.path(folder, "public"))
  writeLines("<h1>Hello</h1>", file.path(folder, "public", "index.html"))
  writeLines(c(sprintf("setwd(%s)", deparse(folder)), script), file, useBytes = TRUE)
  write_files(blocks, folder)
  installed <- install_app_packages(page, folder, strict = FALSE)
  if (length(installed$problems)) return(invisible())
  on.exit(unlink(installed$library, recursive = TRUE), add = TRUE)
  samples <- parse_samples(lines_of(blocks, "console"))
  run_app(page, file, samples, library = installed$library, run = function(sample, server, folder) {
    problems <- run_sample(sample, server, folder)
    if (length(problems) && nzchar(Sys.getenv("UPDATE"))) update_sample(sample, server, folder, page)
    problems
  })
}

# A port that is taken gives an error that says so, and a status for scripts.
run_busy_port <- function() {
  file <- file.path("inst", "examples", "hello", "app.R")
  first <- start_app(file)
  on.exit(first$process$kill_tree())
  if (is.null(first$url)) return(report("a busy port", "the first app did not start"))
  port <- sub(".*:", "", first$url)
  second <- start_app(file, port)
  second$process$wait(patience() * 1000)
  report("a busy port is named in the error", c(
    if (!any(grepl(paste0("127.0.0.1:", port), second$log(), fixed = TRUE))) second$log(),
    if (identical(second$process$get_exit_status(), 0L)) "its exit status is 0"
  ))
}

examples <- list.files("inst/examples")
pages <- c("README.md", list.files("docs", "\\.md$", full.names = TRUE))
wanted <- commandArgs(trailingOnly = TRUE)
if (length(wanted)) {
  examples <- intersect(examples, wanted)
  pages <- intersect(pages, wanted)
} else if (to_be_run(no_subject)) {
  subject <- no_subject
  checks <- list(
    run_busy_port = run_busy_port, check_settings_page = function() check_settings_page(report),
    check_proxy = function() check_proxy(report), check_unit = function() check_unit(report),
    check_troubleshooting = function() check_troubleshooting(report)
  )
  for (name in names(checks)) {
    tryCatch(limited(checks[[name]]), error = function(error) report(name, conditionMessage(error)))
  }
}
for (subject in examples[to_be_run(examples)]) run_example(subject)
for (subject in pages[to_be_run(pages)]) run_page(subject)

cat(sprintf("%d passed, %d failed\n", counts[["passed"]], counts[["failed"]]))
quit(status = counts[["failed"]] > 0L)
