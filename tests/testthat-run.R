# Runs tests/testthat against the installed package and counts: "N passed, N failed, N skipped", one for each
# test_that() block. Rscript tests/testthat-run.R [FILTER], where FILTER is a regular expression of Perl's for the names
# of files, without "test-". JOBS in the environment is how many files are run at once (jobs.R); 1 is the default. Not
# for R CMD check, which starts testthat.R.

library(testthat)
library(drover)
for (file in c("jobs.R", "lib/failures.R", "lib/wait.R")) source(file.path("tests", file))

# the property tests take half a minute, which R CMD check on a stranger's machine is spared
Sys.setenv(NOT_CRAN = "true")

# for helper-handlers.R: the files share what takes long to make
options(drover.tests.made_once = made_once)

# Gives each test its limit (may_take()), and notes which have taken longer: `late`, what to say of a test, by its name.
# Beside the code of a test, what it has deferred has that limit, too.
Limits <- R6::R6Class("Limits", inherit = Reporter, public = list(
  late = list(),
  start_test = function(context, test) may_take(60),
  end_test = function(context, test) {
    setTimeLimit()
    self$late[[test]] <- took_longer()
  }
))

# Runs one file: list(output, a data frame `tests` with a row for each test: test, how, seconds, why).
run_file <- function(name) {
  limits <- Limits$new()
  output <- capture.output({
    details <- test_dir(
      "tests/testthat", package = "drover", load_package = "installed", stop_on_failure = FALSE,
      reporter = MultiReporter$new(reporters = list(CheckReporter$new(), limits)),
      filter = paste0("^\\Q", name, "\\E$"), perl = TRUE
    )
  })
  results <- as.data.frame(details)
  late <- vapply(results$test, function(test) c(limits$late[[test]], "")[[1L]], "", USE.NAMES = FALSE)
  bad <- results$failed > 0L | results$error | nzchar(late)
  reasons <- vapply(details, function(one) {
    told <- Filter(function(result) !inherits(result, c("expectation_success", "expectation_warning")), one$results)
    gsub("\\s+", " ", paste(vapply(told, conditionMessage, ""), collapse = " "))
  }, "")
  reasons <- trimws(paste(late, reasons))
  list(output = output, tests = data.frame(
    file = rep(name, nrow(results)), test = results$test, seconds = results$real, why = reasons,
    how = ifelse(bad, "failed", ifelse(results$skipped, "skipped", "passed"))
  ))
}

filter <- c(commandArgs(trailingOnly = TRUE), "")[[1L]]
files <- sub("^test-(.*)[.][Rr]$", "\\1", list.files("tests/testthat", "^test-.*[.][Rr]$"))
files <- grep(filter, files, perl = TRUE, value = TRUE)
files <- files[to_be_run(files)]

if (nzchar(jobs_folder())) {
  work_off(length(files), function(i) run_file(files[[i]]))
  quit()
}

results <- list()
report <- function(i, result) {
  if (is.null(result)) {
    result <- list(output = "its R session has ended before it was done", tests = data.frame(
      file = files[[i]], test = "(all)", seconds = 0, why = "", how = "failed"
    ))
  }
  # what the reporter says of a file without mistakes is counted below
  if (any(result$tests$how == "failed")) cat("\n", files[[i]], "\n", paste0(result$output, "\n"), sep = "")
  results[[files[[i]]]] <<- result$tests
}
if (jobs_wanted() > 1L) {
  run_in_jobs(length(files), jobs_wanted(), "tests/testthat-run.R", filter, report)
} else {
  for (i in seq_along(files)) report(i, run_file(files[[i]]))
}
results <- do.call(rbind, results)

by_file <- aggregate(cbind(tests = 1L, seconds = results$seconds), list(file = results$file), sum)
slowest <- head(by_file[order(-by_file$seconds), ], 10L)
cat("\nslowest files:\n")
cat(sprintf("  %-34s %4d tests %7.1f s\n", slowest$file, slowest$tests, slowest$seconds), sep = "")
skipped <- results[results$how == "skipped", ]
cat(sprintf("skipped: %s | %s\n", skipped$test, skipped$why), sep = "")
bad <- results[results$how == "failed", ]
cat(sprintf("failed: %s | %s | %s\n", bad$file, bad$test, substr(bad$why, 1L, 300L)), sep = "")
for (i in seq_len(nrow(bad))) note_failure(bad$file[[i]], c(bad$test[[i]], bad$why[[i]]))
counts <- table(factor(results$how, c("passed", "failed", "skipped")))
cat(sprintf("%d passed, %d failed, %d skipped\n", counts[["passed"]], counts[["failed"]], counts[["skipped"]]))
quit(status = nrow(bad) > 0L)
