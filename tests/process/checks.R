# What tests say and wait for; run.R and soak.R share it.

# Fails the test with a text when `ok` is not TRUE.
expect <- function(ok, ...) {
  if (!isTRUE(ok)) stop(structure(class = c("failed", "error", "condition"), list(message = paste0(...), call = NULL)))
}

# Leaves the test out: what it needs is not there.
skip <- function(...) {
  stop(structure(class = c("skipped", "condition"), list(message = paste0(...), call = NULL)))
}

# TRUE as soon as `condition()` is, FALSE after some seconds. It looks less often the longer that takes, as looking has
# its price where several tests wait at once.
wait_for <- function(condition, seconds = 30) {
  begun <- Sys.time()
  while (!isTRUE(condition())) {
    waited <- as.numeric(Sys.time() - begun, units = "secs")
    if (waited > seconds) return(FALSE)
    Sys.sleep(min(0.1, max(0.02, waited / 20)))
  }
  TRUE
}
