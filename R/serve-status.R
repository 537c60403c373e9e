# How dr_status() is printed, for people. Not for what it has: serve-control.R.

# 61.2 MB
format_bytes <- function(bytes) {
  unit <- pmin(pmax(floor(log10(pmax(bytes, 1)) / 3), 0), 3)
  paste(signif(bytes / 1000^unit, 3), c("B", "kB", "MB", "GB")[unit + 1L])
}

# 42 s, 15 min, 3.5 h, 12 d: the largest unit of which there is one
format_age <- function(seconds) {
  sizes <- c(s = 1, min = 60, h = 3600, d = 86400)
  unit <- pmax(findInterval(seconds, sizes), 1L)
  paste(signif(seconds / sizes[unit], 2L), names(sizes)[unit])
}

# Nothing for NA. Control characters, as clients may send them in a path, are shown as escapes.
texts <- function(x) ifelse(is.na(x), "", encodeString(as.character(x)))

# Columns that were left out stay so; what else was done with the data frame, too.
#' @export
format.dr_status <- function(x, ...) {
  as_text <- list(
    alive = function(x) ifelse(x, "yes", "no"), requests = function(x) format(x, big.mark = ",", trim = TRUE),
    errors = function(x) format(x, big.mark = ",", trim = TRUE),
    promises = function(x) format(x, big.mark = ",", trim = TRUE), busy = function(x) paste(round(100 * x), "%"),
    memory = format_bytes, age = format_age
  )
  shown <- as.data.frame(lapply(with_names(names(x), names(x)), function(column) {
    value <- x[[column]]
    if (is.numeric(value) || is.logical(value)) (as_text[[column]] %||% as.character)(value) else texts(value)
  }), stringsAsFactors = FALSE)
  shown
}

#' @export
print.dr_status <- function(x, ...) {
  if (!nrow(x)) {
    cat("no workers\n")
    return(invisible(x))
  }
  print(format.dr_status(x), row.names = FALSE)
  total <- c(
    count_of(nrow(x), "worker"),
    if (!is.null(x$requests)) paste(format(sum(x$requests), big.mark = ","), "requests"),
    if (!is.null(x$errors)) paste(format(sum(x$errors), big.mark = ","), "errors"),
    if (!is.null(x$memory)) format_bytes(sum(x$memory))
  )
  cat(paste(total, collapse = ", "), "\n", sep = "")
  invisible(x)
}
