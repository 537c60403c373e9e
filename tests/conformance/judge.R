# What is wrong with a recording of a case: with its answers, the handlers that ran, the log, and the server afterwards.
# A recording is list(answers, rest = bytes that are no answer, text = all that was received, closed, missed = what was
# waited for in vain, runs = how many handlers ran, well = whether the server answered afterwards, lines = of its log,
# NULL when that cannot be seen). Nothing is sent or waited for here, so a recording can be judged over and over:
# mutate.R does.

# A text for each thing that is wrong; nothing when all is as the case says.
judge <- function(case, got) {
  c(judge_waits(case, got),
    if (!case$hang_up) judge_answers(case, got),
    if (!is.na(case$runs) && !identical(got$runs, case$runs)) {
      paste("handlers ran", paste(got$runs, collapse = ""), "times, not", case$runs)
    },
    if (!is.null(got$lines)) judge_log(case, got),
    if (!got$well) "afterwards the server does not answer GET /ok")
}

judge_waits <- function(case, got) {
  waits <- unlist(lapply(case$steps, `[[`, "until"))
  never <- waits[!vapply(waits, grepl, NA, got$text, perl = TRUE, useBytes = TRUE)]
  if (length(never <- unique(c(got$missed, never)))) paste("never received", never)
}

judge_answers <- function(case, got) {
  wrong <- if (identical(case$close, "yes") && !got$closed) "the connection stays open"
  if (identical(case$status, "any")) return(wrong)
  codes <- codes_of(got)
  expected <- if (identical(case$status, "none")) character() else vapply(case$status, `[[`, "", "code")
  if (identical(case$close, "no")) expected <- c(expected, "200")
  if (!identical(codes, expected)) {
    wrong <- c(wrong, paste0("status ", paste(codes, collapse = " "), ", not ", paste(expected, collapse = " "),
      if (identical(case$close, "no")) " (the last one on the connection kept alive)"))
  }
  if (length(got$rest)) {
    wrong <- c(wrong, paste0("bytes that are no answer: ", shown(got$rest, 60)))
  }
  last <- last_answer(case, got)
  c(wrong, if (last > 0) judge_last(case, got$answers[[last]]), unlist(lapply(got$answers, judge_manners)))
}

codes_of <- function(got) vapply(got$answers, `[[`, "", "status")

# The place of the last answer that the case speaks of; 0 when there is none.
last_answer <- function(case, got) max(length(got$answers) - identical(case$close, "no"), 0L)

judge_last <- function(case, answer) {
  wrong <- character()
  for (header in case$header) {
    name <- header_name(header)
    values <- answer$values[answer$names == name]
    if (!any(grepl(sub("^[^:]*: ", "", header), values, perl = TRUE))) {
      wrong <- c(wrong, paste0("header ", name, " is <", paste(values, collapse = ">, <"), ">"))
    }
  }
  for (name in case$no_header) if (tolower(name) %in% answer$names) wrong <- c(wrong, paste("has header", name))
  body <- text_of(answer$body)
  if (!is.na(case$body) && !grepl(case$body, body, perl = TRUE, useBytes = TRUE)) {
    wrong <- c(wrong, paste0("body is ", shown(answer$body, 120)))
  }
  wrong
}

# The beginning of bytes, to be looked at.
shown <- function(bytes, most) encodeString(iconv(text_of(utils::head(bytes, most)), "latin1", "UTF-8"), quote = "\"")

header_name <- function(header) tolower(sub(":.*", "", header))

# What every answer must have, whatever the case.
judge_manners <- function(answer) {
  has <- function(name, value) any(answer$names == name & answer$values == value)
  if (startsWith(answer$status, "1")) return(NULL)
  c(if (!has("x-content-type-options", "nosniff")) paste(answer$status, "without nosniff"),
    if (answer$status >= "400") {
      c(if (!has("cache-control", "no-store")) paste(answer$status, "without no-store"),
        if (length(answer$body) > 1000) paste(answer$status, "with a long body"))
    })
}

# Statuses of which each answer leaves a line in the log.
refusals <- c("400", "408", "413", "414", "417", "431", "501", "505")

refused <- function(got) sum(codes_of(got) %in% refusals)

is_warning <- function(lines) {
  grepl(sprintf("\\bWARN\\b.*\\b(%s)\\b", paste(refusals, collapse = "|")), lines, perl = TRUE)
}

# Whether it is known how many lines there must be.
is_counted <- function(case) !case$hang_up && !identical(case$status, "any")

judge_log <- function(case, got) {
  warned <- sum(is_warning(got$lines))
  unmet <- case$log[!logged(case, got$lines)]
  c(if (is_counted(case) && warned != refused(got)) {
      paste0(warned, " log lines for ", refused(got), " refused requests")
    },
    if (any(grepl("more lines about clients left out", got$lines))) "the log left out lines: the cases came too fast",
    if (length(unmet)) paste("no log line matches", unmet))
}

# Whether a line matches, for each of the case's expectations of the log.
logged <- function(case, lines) vapply(case$log, function(pattern) any(grepl(pattern, lines, perl = TRUE)), NA)
