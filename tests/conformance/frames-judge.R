# Judges the record of a case of frames/ (frames-client.R) by its expectations (frames-case.R), and breaks expectations
# to see that each can fail. Not for playing the case.

# What is wrong by one expectation, as text; nothing when it is met. It depends on the record alone, so it can be asked
# again with an expectation that was broken.
judge_expectation <- function(expected, record) {
  switch(expected$kind,
    stream = , connection = unlist(lapply(seq_along(record$connections), function(i) {
      judge_connection(expected, record$connections[[i]], i, record)
    })),
    memory = if (record$memory_mb > expected$megabytes) {
      sprintf("memory grew by %.1f MB, not at most %g", record$memory_mb, expected$megabytes)
    },
    descriptors = if (record$descriptors > expected$more) {
      paste(record$descriptors, "more descriptors, not at most", expected$more)
    },
    left = if (record$left > expected$more) paste(record$left, "descriptors are left when the clients have gone"),
    runs = if (record$runs < expected$from || record$runs > expected$to) {
      paste0("handlers ran ", record$runs, " times, not ", expected$from, "-", expected$to)
    },
    others = if (record$slowest > expected$seconds) {
      sprintf("another client waited for %.1f s of a quiet machine, not at most %g", record$slowest, expected$seconds)
    },
    turns = if (fewest_between(record) > expected$most) {
      sprintf("another client got in after %g requests, not at most %d", fewest_between(record), expected$most)
    },
    log = if (!any(grepl(expected$pattern, record$log, perl = TRUE))) paste("no log line matches", expected$pattern)
  )
}

# How many handlers of the case ran between two answers to the other client at least, while there were more to be run:
# this client may have been slow to ask, but not always.
fewest_between <- function(record) {
  min(Inf, diff(c(0, record$told[record$told > 0 & record$told < record$runs])))
}

# At most one complaint for each connection: of the first stream for which none of the outcomes came in time.
judge_connection <- function(expected, connection, number, record) {
  latest <- if (expected$meanwhile) record$sent else expected$within * record$slack
  for (stream in if (expected$kind == "stream") expected$streams else 0) {
    seen <- connection$streams[[as.character(stream)]]
    times <- outcome_times(expected, seen, connection, record)
    # what must not happen is only known at the end
    negative <- vapply(expected$outcomes, function(outcome) outcome$name %in% c("open", "silent"), NA)
    if (!record$settled) times[negative] <- NA
    if (any(!is.na(times) & times >= expected$after & times <= latest)) next
    subject <- if (expected$kind == "stream") paste("stream", stream) else "the connection"
    return(paste0(subject, " of ", number, ": ", outcomes_seen(seen, connection), ", not ", outcomes_text(expected)))
  }
  NULL
}

# When each stream and connection had come to what is expected of it, the last one of all.
time_over <- function(expectations, record) {
  max(unlist(lapply(expectations, function(expected) {
    lapply(record$connections, function(connection) {
      lapply(if (expected$kind == "stream") expected$streams else 0, function(stream) {
        min(outcome_times(expected, connection$streams[[as.character(stream)]], connection, record), na.rm = TRUE)
      })
    })
  })))
}

outcome_times <- function(expected, seen, connection, record) {
  vapply(expected$outcomes, function(outcome) outcome_time(outcome, seen, connection, record$seconds), 0)
}

# When an outcome came about; NA when it has not.
outcome_time <- function(outcome, seen, connection, seconds) {
  time_of <- function(event) {
    is_other <- is.null(event) || !is.null(outcome$what) && !identical(event$what, outcome$what)
    if (is_other) NA_real_ else event$time
  }
  matches <- function(body) length(body) && grepl(outcome$what, text_of(body$bytes), perl = TRUE)
  switch(outcome$name,
    status = time_of(seen$status),
    reset = time_of(seen$reset),
    end = time_of(seen$end),
    body = if (matches(seen$body)) seen$body$time else NA_real_,
    # without a code, any but NO_ERROR
    goaway = if (length(outcome$what) || !identical(connection$goaway$what, 0)) time_of(connection$goaway) else NA_real_,
    closed = if (is.finite(connection$closed)) connection$closed else NA_real_,
    open = if (is.finite(connection$closed) || length(connection$goaway)) NA_real_ else seconds,
    silent = if (length(seen)) NA_real_ else seconds)
}

outcomes_seen <- function(seen, connection) {
  at <- function(event) sprintf("after %.1f s", event$time)
  all <- c(if (length(seen$status)) paste("status", seen$status$what, at(seen$status)),
    if (length(seen$end)) paste("end", at(seen$end)),
    if (length(seen$reset)) paste("reset", h2_errors[seen$reset$what + 1], at(seen$reset)),
    if (length(connection$goaway)) paste("goaway", h2_errors[connection$goaway$what + 1], at(connection$goaway)),
    if (is.finite(connection$closed)) sprintf("closed after %.1f s", connection$closed))
  if (length(all)) paste(all, collapse = ", ") else "nothing"
}

outcomes_text <- function(expected) {
  text <- vapply(expected$outcomes, function(outcome) {
    what <- if (is.numeric(outcome$what)) h2_errors[outcome$what + 1] else outcome$what
    paste(c(outcome$name, what), collapse = " ")
  }, "")
  paste0(paste(text, collapse = " | "), if (expected$after > 0) paste(" after", expected$after),
    if (is.finite(expected$within)) paste(" within", expected$within), if (expected$meanwhile) " meanwhile")
}

# The same expectation made wrong: nothing that meets the right one may meet it.
break_expectation <- function(expected) {
  switch(expected$kind,
    stream = , connection = {
      alone <- length(expected$outcomes) == 1
      opposite <- c(end = "silent", silent = "status", closed = "open", open = "closed")
      expected$outcomes <- lapply(expected$outcomes, function(outcome) {
        # of several outcomes, the opposite of one may be another
        if (alone && outcome$name %in% names(opposite)) return(list(name = opposite[[outcome$name]]))
        switch(outcome$name, status = list(name = "status", what = "299"),
          body = list(name = "body", what = "^no body has this$"), list(name = "goaway", what = length(h2_errors)))
      })
    },
    memory = expected$megabytes <- -1,
    descriptors = , left = expected$more <- -1e6,
    turns = expected$most <- -1,
    runs = expected[c("from", "to")] <- list(expected$to + 1, expected$to + 1),
    others = expected$seconds <- -1,
    log = expected$pattern <- "^no line is like this$")
  expected
}
