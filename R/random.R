# Random numbers in worker processes: forks of one process would all draw the same ones.
#
# With the generator "L'Ecuyer-CMRG" and a seed, as set.seed() leaves it, worker n has the nth stream after that seed:
# the same in every run. With any other, each worker gets a seed of its own from the system.

# In the zygote: base, which the seeds of all its workers are made of; or seed (that of the app), at and stream (the
# number of the worker reached, and its stream).
streams <- new.env(parent = emptyenv())

# Once the app is loaded, before there is a worker.
prepare_random_streams <- function() {
  seed <- get0(".Random.seed", globalenv(), inherits = FALSE)
  if (identical(RNGkind()[[1L]], "L'Ecuyer-CMRG") && !is.null(seed)) {
    streams$seed <- streams$stream <- seed
    streams$at <- 0L
  } else {
    streams$base <- random_word()
  }
}

# Called from C before a worker is forked: the zygote goes on from the last worker's stream, instead of each worker from
# the first.
advance_random_streams <- function(number) {
  if (is.null(streams$seed)) return()
  if (number < streams$at) {
    streams$stream <- streams$seed
    streams$at <- 0L
  }
  while (streams$at < number) {
    streams$stream <- parallel::nextRNGStream(streams$stream)
    streams$at <- streams$at + 1L
  }
}

# In the worker of this number.
start_random_stream <- function(number) {
  advance_random_streams(number)
  if (is.null(streams$seed)) {
    set.seed(worker_seed(streams$base, number))
  } else {
    assign(".Random.seed", streams$stream, envir = globalenv())
  }
}

# 32 bits of the system's randomness, as a double.
random_word <- function() {
  device <- file("/dev/urandom", "rb", raw = TRUE)
  on.exit(close(device))
  halves <- readBin(device, "integer", 2L, size = 2L, signed = FALSE)
  halves[[1L]] * 65536 + halves[[2L]]
}

# A seed for set.seed(): different for all numbers that a zygote ever gets, as the multiplier is odd.
worker_seed <- function(base, number) {
  word <- (base + (number * 2654435769) %% 2^32) %% 2^32
  # all but the one that R takes for NA
  as.integer(max(word - 2^31, 1 - 2^31))
}
