# What tests say and wait for; run.R and soak.R share it.

# Fails the test with a text when `ok` is not TRUE.
expect <- function(ok, ...) {
  if (!isTRUE(ok)) stop(structure(class = c("failed", "error", "condition"), list(message = paste0(...), call = NULL)))
}

# Leaves the test out: what it needs is not there.
skip <- function(...) {
  stop(structure(class = c("skipped", "condition"), list(message = paste0(...), call = NULL)))
}
