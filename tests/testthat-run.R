# Runs tests/testthat against the installed package and counts: "N passed, N failed, N skipped", one for each
# test_that() block. Rscript tests/testthat-run.R [FILTER], where FILTER is a regular expression of Perl's for the names
# of files, without "test-". Not for R CMD check, which starts testthat.R.

library(testthat)
library(drover)

# the property tests take half a minute, which R CMD check on a stranger's machine is spared
Sys.setenv(NOT_CRAN = "true")

filter <- commandArgs(trailingOnly = TRUE)
details <- test_dir(
  "tests/testthat", package = "drover", load_package = "installed", reporter = "check", stop_on_failure = FALSE,
  filter = if (length(filter)) filter[[1L]], perl = TRUE
)
results <- as.data.frame(details)
bad <- results$failed > 0L | results$error
skipped <- results$skipped & !bad

by_file <- aggregate(cbind(tests = 1L, failed = bad, seconds = results$real), list(file = results$file), sum)
slowest <- head(by_file[order(-by_file$seconds), ], 10L)
cat("\nslowest files:\n")
cat(sprintf("  %-34s %4d tests %7.1f s\n", slowest$file, slowest$tests, slowest$seconds), sep = "")
for (i in which(skipped)) {
  reasons <- Filter(function(result) inherits(result, "expectation_skip"), details[[i]]$results)
  cat("skipped:", results$test[[i]], "|", vapply(reasons, conditionMessage, ""), "\n")
}
for (i in which(bad)) cat("failed:", results$file[[i]], "|", results$test[[i]], "\n")
cat(sprintf("%d passed, %d failed, %d skipped\n", sum(!bad & !skipped), sum(bad), sum(skipped)))
quit(status = any(bad))
