# Types of single values. Not for what has parts: schema-parts.R. Neighbour: schema.R, which has their documentation.

# The bounds of a number as JSON Schema has them. `lowest` and `highest`: what R can hold.
number_bounds <- function(min, max, call, above = NULL, below = NULL, lowest = NULL, highest = NULL, whole = FALSE) {
  given <- compact(list(min = min, max = max, above = above, below = below))
  for (name in names(given)) {
    bound <- given[[name]]
    fits <- is.numeric(bound) && length(bound) == 1L && is.finite(bound) && (!whole || bound == trunc(bound))
    right <- paste0("NULL or a single ", if (whole) "whole number" else "number")
    if (!fits) stop_argument(name, right, bound, call)
    if (!is.null(lowest) && (bound < lowest || bound > highest)) {
      right <- sprintf("in %s..%s", format(lowest, scientific = FALSE), format(highest, scientific = FALSE))
      stop_argument(name, right, bound, call)
    }
  }
  low <- max(min, above, -Inf)
  high <- min(max, below, Inf)
  if (low > high) {
    stop_drover("argument", "`min` must not be above `max`", call = call, argument = "min")
  }
  compact(list(
    minimum = min %||% lowest, maximum = max %||% highest, exclusiveMinimum = above, exclusiveMaximum = below
  ))
}

# Texts and arrays: how long they may be.
length_bounds <- function(min, max, names, keys, call) {
  if (!is.null(min)) check_count(min, names[[1L]], 0, call = call)
  if (!is.null(max)) check_count(max, names[[2L]], 0, call = call)
  if (!is.null(min) && !is.null(max) && min > max) {
    problem <- sprintf("`%s` must not be above `%s`", names[[1L]], names[[2L]])
    stop_drover("argument", problem, call = call, argument = names[[1L]])
  }
  bounds <- list(min, max)
  names(bounds) <- keys
  Filter(Negate(is.null), bounds)
}

#' @rdname types
#' @export
dr_int <- function(min = NULL, max = NULL, required = TRUE, default, nullable = FALSE, description = NULL,
                   example = NULL, where = "query") {
  call <- sys.call()
  most <- .Machine$integer.max
  bounds <- number_bounds(min, max, call, lowest = -most, highest = most, whole = TRUE)
  json <- c(list(type = "integer", format = "int32"), bounds)
  finish_schema(json, list(kind = "int"), common_arguments(environment()), call)
}

#' @rdname types
#' @param as Of `dr_int64()`: what a handler gets, `"double"` or `"character"`.
#' @export
dr_int64 <- function(min = NULL, max = NULL, as = c("double", "character"), required = TRUE, default,
                     nullable = FALSE, description = NULL, example = NULL, where = "query") {
  call <- sys.call()
  as <- check_choice(as, "as", c("double", "character"), call)
  if (as == "character") {
    if (!is.null(min) || !is.null(max)) {
      arg <- if (is.null(min)) "max" else "min"
      stop_argument(arg, "NULL when `as` is \"character\"", min %||% max, call)
    }
    # no leading zeros: one number has one text
    json <- list(type = "string", format = "int64", pattern = "^(0|-?[1-9][0-9]{0,18})$")
    return(finish_schema(json, list(kind = "digits"), common_arguments(environment()), call))
  }
  # the largest range in which no two whole numbers are the same double
  most <- 2^53 - 1
  json <- c(list(type = "integer", format = "int64"), number_bounds(
    min, max, call, lowest = -most, highest = most, whole = TRUE
  ))
  finish_schema(json, list(kind = "int64"), common_arguments(environment()), call)
}

#' @rdname types
#' @export
dr_dbl <- function(min = NULL, max = NULL, above = NULL, below = NULL, required = TRUE, default, nullable = FALSE,
                   description = NULL, example = NULL, where = "query") {
  call <- sys.call()
  json <- c(list(type = "number"), number_bounds(min, max, call, above, below))
  finish_schema(json, list(kind = "dbl"), common_arguments(environment()), call)
}

#' @rdname types
#' @export
dr_lgl <- function(required = TRUE, default, nullable = FALSE, description = NULL, example = NULL, where = "query") {
  finish_schema(list(type = "boolean"), list(kind = "lgl"), common_arguments(environment()), sys.call())
}

#' @rdname types
#' @param pattern A regular expression that is to match somewhere in the text: a single string, or `NULL`. Classes and
#'   repeats as usual; no look-around and no back-references, which can take exponential time.
#' @param min_length,max_length How many characters (code points) a text may have: a single whole number, or `NULL`.
#' @param choices The texts that are allowed: a character vector, or `NULL` for all.
#' @export
dr_chr <- function(pattern = NULL, min_length = NULL, max_length = NULL, choices = NULL, required = TRUE, default,
                   nullable = FALSE, description = NULL, example = NULL, where = "query") {
  call <- sys.call()
  check_string(pattern, "pattern", null = TRUE, call = call)
  if (!is.null(choices)) check_distinct(choices, "choices", call)
  json <- c(
    list(type = "string"), if (!is.null(pattern)) list(pattern = enc2utf8(pattern)),
    length_bounds(min_length, max_length, c("min_length", "max_length"), c("minLength", "maxLength"), call),
    if (!is.null(choices)) list(enum = as.list(enc2utf8(unname(choices))))
  )
  finish_schema(json, list(kind = "chr"), common_arguments(environment()), call)
}

#' @rdname types
#' @export
dr_date <- function(required = TRUE, default, nullable = FALSE, description = NULL, example = NULL, where = "query") {
  json <- list(type = "string", format = "date")
  finish_schema(json, list(kind = "date"), common_arguments(environment()), sys.call())
}

#' @rdname types
#' @export
dr_datetime <- function(required = TRUE, default, nullable = FALSE, description = NULL, example = NULL,
                        where = "query") {
  json <- list(type = "string", format = "date-time")
  finish_schema(json, list(kind = "datetime"), common_arguments(environment()), sys.call())
}

#' @rdname types
#' @param levels The levels of a factor: a character vector.
#' @export
dr_factor <- function(levels, required = TRUE, default, nullable = FALSE, description = NULL, example = NULL,
                      where = "query") {
  call <- sys.call()
  check_distinct(levels, "levels", call)
  levels <- enc2utf8(unname(levels))
  json <- list(type = "string", enum = as.list(levels))
  finish_schema(json, list(kind = "factor", levels = levels), common_arguments(environment()), call)
}

check_distinct <- function(x, arg, call) {
  if (is.character(x) && length(x) && !anyNA(x) && !anyDuplicated(x)) return(invisible())
  stop_argument(arg, "a character vector of different strings", x, call)
}
