# Small shapes: of words in messages, of lists, and of values that are written as JSON. Some are those of utils and
# stats, which an R that serves does not load for them: that takes longer than to load this package.

count_of <- function(n, one, many = paste0(one, "s")) paste(n, if (n == 1L) one else many)

# A whole number as JSON has it, without infinity: the writer gives it neither a fraction nor an exponent.
whole_number <- function(x) min(x, 2^53)

with_names <- function(x, names) {
  names(x) <- names
  x
}

# As head() and tail() of vectors and lists.
first_of <- function(x, n) x[seq_len(min(n, length(x)))]
last_of <- function(x, n) x[seq.int(to = length(x), length.out = min(n, length(x)))]

one_named <- function(name, value) {
  one <- list(value)
  names(one) <- name
  one
}

# Without the elements that are NULL.
compact <- function(x) x[!vapply(x, is.null, NA)]

# A list that is there only if something is in it.
some <- function(x) if (length(x)) x

and_list <- function(x) {
  n <- length(x)
  if (n == 1L) x else paste(paste(x[-n], collapse = ", "), "and", x[[n]])
}

`%||%` <- function(x, y) if (is.null(x)) y else x
