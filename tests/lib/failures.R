# What of a run has failed, written down for tools/test.sh, which runs that once more when all else is through, by
# itself: a test that passes then hides a race, or has too little patience. failures.py is the same for Python.
#
# TEST_FAILURES in the environment names the folder to write to: a file for each failure, its first line the name of
# what is to be run again, the rest what was said. TEST_AGAIN names such a folder: what it names is run, and nothing
# else. Without them nothing is written, and all is run.
#
# Not for how a test is run and what is said of it: the runners.

# `name`: of a test, or of what can only be run as a whole. `said`: strings.
note_failure <- function(name, said = character()) {
  folder <- Sys.getenv("TEST_FAILURES")
  if (nzchar(folder)) writeLines(c(name, said), tempfile("failure-", folder), useBytes = TRUE)
}

# Which of these names are to be run.
to_be_run <- function(names) {
  folder <- Sys.getenv("TEST_AGAIN")
  if (!nzchar(folder)) return(rep(TRUE, length(names)))
  failed <- list.files(folder, full.names = TRUE)
  names %in% vapply(failed, function(file) readLines(file, n = 1L, encoding = "UTF-8", warn = FALSE), "")
}
