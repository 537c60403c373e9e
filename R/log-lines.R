# Lines of the log, and the texts in them. Neighbours: log.R, for dr_log(); the crate `observe`, which writes them.

# The number of a level for the engine, plus 1, is its place here.
log_levels <- c("info", "warn", "error", "debug")

# What a record of the log is made of, observe/record.rs, begins with these characters.
without_marks <- function(text) gsub("[\x1e\x1f]", " ", valid_text(text), perl = TRUE)

log_line <- function(level, text, request = NULL) {
  # a session that only looks after workers has no log of its own
  if (service_running()) message("drover: ", gsub("\x1f", "\n  ", text, fixed = TRUE))
  level <- match(level, log_levels) - 1L
  .Call(C_worker_log, level, enc2utf8(text), request)
  invisible()
}

one_line <- function(call) {
  text <- tryCatch(paste(deparse(call, 60L, nlines = 1L), collapse = ""), error = function(e) "?")
  if (nchar(text, "bytes") > 120L) paste0(substr(text, 1L, 117L), "...") else text
}

# `message call=f(x)`, for a line of the log
describe_condition <- function(condition) {
  message <- tryCatch(conditionMessage(condition), error = function(e) NULL)
  if (!is_string(message)) message <- paste(class(condition)[[1L]], "without a message")
  call <- tryCatch(conditionCall(condition), error = function(e) NULL)
  is_shown <- !is.null(call) && !identical(call, failure$ours)
  paste0(without_marks(message), if (is_shown) paste0(" call=", one_line(call)))
}

# Text that can be written anywhere: what is not UTF-8 is shown as escapes, and colours, as 'cli' has them, are left
# out.
valid_text <- function(text) {
  text <- tryCatch(enc2utf8(text), error = function(e) text)
  if (!isTRUE(validUTF8(text)) || identical(Encoding(text), "bytes")) {
    text <- iconv(text, "latin1", "UTF-8", sub = "byte")
  }
  gsub("\033\\[[0-9;]*[A-Za-z]", "", text, perl = TRUE)
}
