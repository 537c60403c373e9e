# Whether the checker would notice: every expectation of a case is broken once, and so is everything in its recording
# that the case, or what holds for all cases, speaks of. Each time judge() must find something wrong. Costs no second
# play of the case.

# The names of what was broken and not noticed; an attribute "tried" has how much was.
unnoticed <- function(case, got) {
  cases <- broken_cases(case, got)
  recordings <- broken_recordings(case, got)
  blind <- c(
    names(cases)[!vapply(cases, function(broken) length(judge(broken, got)) > 0, NA)],
    names(recordings)[!vapply(recordings, function(broken) length(judge(case, broken)) > 0, NA)],
    if (!length(cases)) "the case expects nothing"
  )
  structure(blind, tried = length(cases) + length(recordings))
}

# A regular expression that nothing matches.
impossible <- "(?!)"

# A list with other values for these names. (utils::modifyList() would look into values that are lists.)
replaced <- function(x, ...) {
  values <- list(...)
  x[names(values)] <- values
  x
}

# A status that is not this one.
other_status <- function(code) as.character(as.integer(code) + 1L)

# The case with one expectation broken, for each.
broken_cases <- function(case, got) {
  broken <- list()
  add <- function(name, ...) broken[[name]] <<- replaced(case, ...)
  if (is.list(case$status)) {
    for (i in unique(c(1L, length(case$status)))) {
      status <- case$status
      status[[i]]$code <- other_status(status[[i]]$code)
      add(paste("expected status", i), status = status)
    }
    add("one answer more expected", status = c(case$status, case$status[length(case$status)]))
    if (length(case$status) > 1) add("one answer less expected", status = case$status[-1])
    add("no answer expected", status = "none")
  }
  if (identical(case$status, "none")) add("an answer expected", status = statuses("200"))
  # where answers are not taken apart, nobody knows whether there is one more
  if (case$close == "yes" && !identical(case$status, "any")) add("expected close", close = "no")
  if (case$close == "no") add("expected close", close = "yes")
  for (i in seq_along(case$header)) {
    add(paste("expected header", i), header = replace(case$header, i, paste0(header_name(case$header[i]), ": ", impossible)))
  }
  if (!is.null(got$lines)) {
    for (i in seq_along(case$log)) add(paste("expected log", i), log = replace(case$log, i, impossible))
  }
  for (i in seq_along(case$no_header)) {
    add(paste("expected no-header", i), no_header = replace(case$no_header, i, "date"))
  }
  if (!is.na(case$body)) add("expected body", body = impossible)
  if (!is.na(case$runs)) {
    add("one run more expected", runs = case$runs + 1L)
    add("one run less expected", runs = case$runs - 1L)
  }
  for (i in seq_along(case$steps)) {
    if (is.null(case$steps[[i]]$until)) next
    add(paste("expected until", i), steps = replace(case$steps, i, list(list(until = impossible))))
  }
  broken
}

# The recording with one thing broken, for each that must be noticed.
broken_recordings <- function(case, got) {
  broken <- list()
  add <- function(name, ...) broken[[name]] <<- replaced(got, ...)
  add("the server unwell", well = FALSE)
  if (case$close == "yes") add("it stays open", closed = FALSE)
  if (!is.na(case$runs)) add("one run more", runs = case$runs + 1L)
  if (any(vapply(case$steps, function(step) !is.null(step$until), NA))) add("another text", text = "")
  if (!is.null(got$lines)) {
    broken <- c(broken, lapply(broken_logs(case, got), function(lines) replaced(got, lines = lines)))
  }
  if (case$hang_up || identical(case$status, "any")) return(broken)
  add("bytes that are no answer", rest = as.raw(0x41))
  another <- list(status = "299", names = character(), values = character(), body = raw())
  add("one answer more", answers = c(got$answers, list(another)))
  if (length(got$answers)) add("one answer less", answers = got$answers[-1])
  last <- last_answer(case, got)
  if (last > 0) {
    broken <- c(broken, lapply(broken_answers(case, got$answers[[last]]), function(answer) {
      replaced(got, answers = replace(got$answers, last, list(answer)))
    }))
  }
  broken
}

broken_answers <- function(case, answer) {
  broken <- list("another status" = replaced(answer, status = other_status(answer$status)))
  add <- function(name, ...) broken[[name]] <<- replaced(answer, ...)
  for (name in c("x-content-type-options", if (answer$status >= "400") "cache-control", header_name(case$header))) {
    keep <- answer$names != name
    add(paste("without", name), names = answer$names[keep], values = answer$values[keep])
  }
  for (name in header_name(case$header)) {
    add(paste("another", name), values = ifelse(answer$names == name, "\001", answer$values))
  }
  for (name in case$no_header) {
    add(paste("with", name), names = c(answer$names, tolower(name)), values = c(answer$values, "1"))
  }
  if (answer$status >= "400") add("a long body", body = raw(1001))
  if (!is.na(case$body)) add("another body", body = as.raw(1))
  broken
}

broken_logs <- function(case, got) {
  lines <- got$lines
  broken <- list("lines left out" = c(lines, "WARN 5 more lines about clients left out: 10 a second are written"))
  if (is_counted(case)) {
    broken[["one warning more"]] <- c(lines, "WARN id=0 127.0.0.1 - 400 more")
    if (any(is_warning(lines))) broken[["one warning less"]] <- lines[-which(is_warning(lines))[1]]
  }
  for (pattern in case$log) {
    broken[[paste("nothing logged like", pattern)]] <- lines[!grepl(pattern, lines, perl = TRUE)]
  }
  broken
}
