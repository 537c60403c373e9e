# Random numbers: the same in all processes while they load the app, and different ones in each worker.
#
# Workers that load the app themselves have to agree on what it draws meanwhile, such as the key of its cookies: one
# could not read what another has written. So they begin with one seed, of the server's. As workers, they draw different
# ones: forks of one process would all draw the same.
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

# Whether the server is told of failed requests what the generator was at when their handlers began (src/seed.c).
keep_seeds <- function(wanted) {
  .Call(C_seed_want, wanted)
  # without a seed, R makes one of the time when it draws first: in a session that has not drawn yet
  if (wanted && !exists(".Random.seed", globalenv(), inherits = FALSE)) set.seed(NULL)
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

# Before a file is loaded. `secret`: a string that all processes of the server have, and no others.
share_keys <- function(secret) {
  set.seed(strtoi(substr(shared_key(secret, "seed"), 1L, 7L), 16L))
  drawn <- 0L
  draw <- function() {
    drawn <<- drawn + 1L
    shared_key(secret, paste("cookie key", drawn))
  }
  # plumber's own draws from the system
  when_loaded("plumber", function() stand_in("plumber", "random_cookie_key", draw))
}

# 32 bytes in hexadecimal.
shared_key <- function(secret, what) sub("^.*:", "", .Call(C_secret_hash, paste(secret, what), TRUE))
