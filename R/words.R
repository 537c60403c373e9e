# Small shapes: of words in messages, of lists, and of values that are written as JSON.

count_of <- function(n, one, many = paste0(one, "s")) paste(n, if (n == 1L) one else many)

as_json <- function(x) as.character(jsonlite::toJSON(x, auto_unbox = TRUE, digits = NA, json_verbatim = TRUE))

# A number beyond R's integers is written without a fraction or exponent all the same.
whole_number <- function(x) structure(format(min(x, 2^53), scientific = FALSE, digits = 17L), class = "json")

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
