# What jsonlite makes of the corpus of the fuzz target `json`, and of what was found but is not in the tree: `Rscript
# tests/fuzz/json.R [FOLDER...]`, from the root. The fuzzer looks for texts that take new ways through the reader of
# JSON; this compares each one's R values with jsonlite's, and then the text of these values, in both directions. Ends
# with "N passed, N failed", and names the inputs that failed.

folders <- commandArgs(TRUE)
if (!length(folders)) folders <- "tests/fuzz/corpus/json"
files <- list.files(folders, full.names = TRUE)
passed <- 0L
failed <- 0L

check <- function(what, file, ok) {
  if (isTRUE(ok)) {
    passed <<- passed + 1L
  } else {
    failed <<- failed + 1L
    cat("not ok:", what, file, "\n")
  }
}

# Lists and vectors alike: the same, but for the last digits of numbers, of which jsonlite writes 15.
alike <- function(ours, theirs) identical(ours, theirs) || isTRUE(all.equal(ours, theirs, tolerance = 1e-14))

# The first byte of an input is for the target's limits.
text_of <- function(file) {
  text <- rawToChar(readBin(file, "raw", file.size(file))[-1L])
  Encoding(text) <- "UTF-8"
  text
}

has_nul <- function(file) any(readBin(file, "raw", file.size(file))[-1L] == 0L)

for (file in files) {
  if (file.size(file) < 2L || has_nul(file)) next
  text <- text_of(file)
  for (simplify in c(TRUE, FALSE)) {
    ours <- tryCatch(list(drover::dr_from_json(text, simplify = simplify)), drover_error_json = function(e) NULL)
    if (is.null(ours)) next
    # what jsonlite cannot read, or not without an error of its own, has no other result
    theirs <- tryCatch(list(jsonlite::parse_json(text, simplifyVector = simplify)), error = function(e) NULL)
    if (is.null(theirs)) next
    check(if (simplify) "simplified" else "plain", file, identical(ours, theirs))

    value <- ours[[1L]]
    for (unbox in c(TRUE, FALSE)) {
      written <- tryCatch(drover::dr_to_json(value, auto_unbox = unbox), drover_error_json = function(e) NULL)
      expected <- tryCatch(jsonlite::toJSON(value, auto_unbox = unbox, digits = NA), error = function(e) NULL)
      if (is.null(written) || is.null(expected)) next
      again <- function(text) jsonlite::parse_json(text)
      check("written", file, alike(again(written), again(expected)))
    }
  }
}

cat(sprintf("%d passed, %d failed\n", passed, failed))
quit(status = failed > 0L)
