# Schemas of prototypes: vectors, lists and data frames that show the types. Neighbour: schema.R.

#' @rdname types
#' @param prototype A vector, a list or a data frame. Its values do not matter, apart from missing ones: where it has
#'   `NA`, `null` is allowed. A vector stands for a single value in a list or by itself, unless it has another length
#'   than 1: then it is an array.
#' @export
dr_schema_like <- function(prototype) {
  if (is_schema(prototype) || is.null(prototype)) {
    stop_argument("prototype", "a vector, a list or a data frame", prototype, sys.call())
  }
  schema_like(prototype, "prototype", sys.call(), array_of_none = TRUE)
}

# `array_of_none`: whether a vector without elements is an array; as a field or column it shows a type.
schema_like <- function(x, arg, call, array_of_none = FALSE) {
  if (is.data.frame(x)) {
    return(do.call(dr_data_frame, Map(function(column, name) column_like(column, name, call), x, names(x))))
  }
  if (is.list(x) && !is.object(x)) {
    if (length(x) && (is.null(names(x)) || !all(nzchar(names(x))))) {
      stop_argument(arg, "a list whose elements all have names", x, call)
    }
    return(do.call(dr_object, Map(function(one, name) {
      if (is_schema(one)) one else schema_like(one, name, call, array_of_none)
    }, x, names(x))))
  }
  one <- column_like(x, arg, call)
  if (length(x) == 1L || (!length(x) && !array_of_none)) one else dr_array(one)
}

column_like <- function(x, name, call) {
  nullable <- anyNA(x)
  if (is.factor(x)) return(dr_factor(levels(x), nullable = nullable))
  if (inherits(x, "Date")) return(dr_date(nullable = nullable))
  if (inherits(x, "POSIXct")) return(dr_datetime(nullable = nullable))
  make <- if (!is.object(x)) list(integer = dr_int, double = dr_dbl, logical = dr_lgl, character = dr_chr)[[typeof(x)]]
  if (!is.null(make)) return(make(nullable = nullable))
  right <- "a logical, integer, double or character vector, a factor, a Date or a POSIXct"
  stop_argument(name, right, x, call)
}
