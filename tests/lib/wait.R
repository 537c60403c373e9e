# Waiting, in the tests of all runners in R: for what is to come, for what is not to come, and for a time that must
# pass. wait.py is the same for Python, the crate `patience` for Rust.
#
# A wait that ends early costs nothing, so its end is far away: 30 s, and more where other programs keep the processors
# busy. How long something took is no test: what is to be shown is an order. One thing is held at a gate (gates.R),
# another is done, and the first is not over.
#
# Not for how to see what is waited for: the runners.

# How many times as long as on a quiet machine things may take by now, 1 to 8: from the part of the last ten seconds in
# which some task waited for a processor. 2 where the system does not say.
slack <- function() {
  line <- tryCatch(suppressWarnings(readLines("/proc/pressure/cpu", n = 1L)), error = function(e) "")
  percent <- suppressWarnings(as.numeric(sub("^some avg10=([0-9.]+) .*", "\\1", line)))
  if (length(percent) == 1L && !is.na(percent)) 1 + 7 * percent / 100 else 2
}

# So many seconds of a quiet machine, in seconds of this one.
patience <- function(seconds = 30) seconds * slack()

# TRUE as soon as `condition()` is, FALSE when it is not within `seconds` of a quiet machine. It looks less often the
# longer that takes, as looking has its price where several tests wait at once. `meanwhile` is what it does between two
# looks: a function of seconds.
within <- function(condition, seconds = 30, meanwhile = Sys.sleep) {
  begun <- proc.time()[["elapsed"]]
  repeat {
    if (isTRUE(condition())) return(TRUE)
    waited <- proc.time()[["elapsed"]] - begun
    # it may have become true since, while this process waited for a processor
    if (waited > seconds && waited > patience(seconds)) return(isTRUE(condition()))
    meanwhile(min(0.1, max(0.01, waited / 20)))
  }
}

# TRUE when `condition()` is FALSE for all of these seconds: what must not happen has so long to happen. A slow machine
# may hide that it does, but cannot make it seem so. Where something else tells that the time has passed, wait for that.
never <- function(condition, seconds) {
  begun <- proc.time()[["elapsed"]]
  repeat {
    if (!isFALSE(condition())) return(FALSE)
    if (proc.time()[["elapsed"]] - begun > seconds) return(TRUE)
    Sys.sleep(0.02)
  }
}

# Lets a time pass, as the test is about it: a client's pace, a clock of the server that must run out. Never for
# something to happen, which may take longer.
let_pass <- function(seconds) Sys.sleep(seconds)

# What the test that runs may take, in seconds of a quiet machine; beyond that it fails. It has 60 from its runner
# (limited()); a test that needs more says so.
may_take <- function(seconds) {
  # how busy the machine will be nobody knows now, and that a test hangs is soon enough known after three minutes
  most <- seconds * max(slack(), 3)
  options(tests.limit = list(seconds = seconds, most = most, end = proc.time()[["elapsed"]] + most))
  setTimeLimit(elapsed = most)
}

# What to say of the test that runs when it has taken longer than that; NULL when it has not.
took_longer <- function() {
  limit <- getOption("tests.limit")
  if (proc.time()[["elapsed"]] < limit$end) return(NULL)
  sprintf("it took longer than its %g s (%.0f s on this machine)", limit$seconds, limit$most)
}

# The value of `test()`, which has that limit. Afterwards there is none.
limited <- function(test) {
  may_take(60)
  on.exit(setTimeLimit())
  value <- tryCatch(test(), error = function(e) if (is.null(took_longer())) stop(e))
  # the test may have taken R's error for another, even for an answer, and what is written in C looks at the time late
  late <- took_longer()
  if (!is.null(late)) stop(late, call. = FALSE)
  value
}
