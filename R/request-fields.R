# What a client has named: the fields of a query, header section, cookies or form. A list of strings, so that `$` and
# `[[` read it, but by whole names: part of one, as with plain lists, would let a client's `administrator=1` answer for
# `admin`. Made in src/request.c. Not for params, which the app names: they are a plain list.

#' @export
`$.dr_fields` <- function(x, name) .Call(C_fields_pick, x, name)

# Of a name that comes several times the last one, as dr_query() has it.
#' @export
`[[.dr_fields` <- function(x, i, ...) if (is_string(i)) .Call(C_fields_pick, x, i) else .subset2(x, i)

# A named character vector, NA where there is none of a name.
#' @export
`[.dr_fields` <- function(x, i) {
  values <- unlist(unclass(x))
  if (is.null(values)) values <- structure(character(), names = character())
  if (missing(i)) return(values)
  # here, too, the last one of a name
  if (is.character(i)) i <- length(values) + 1L - match(i, rev(names(values)))
  values[i]
}

#' @export
`$<-.dr_fields` <- function(x, name, value) {
  fields <- unclass(x)
  at <- which(names(fields) == name)
  # the value is the only one of that name
  if (length(at) > 1L) fields <- fields[-at[-1L]]
  fields[[name]] <- value
  structure(fields, class = "dr_fields")
}

#' @export
`[[<-.dr_fields` <- function(x, i, value) {
  if (is_string(i)) return(`$<-.dr_fields`(x, i, value))
  structure(`[[<-`(unclass(x), i, value), class = "dr_fields")
}

#' @export
as.list.dr_fields <- function(x, ...) unclass(x)

#' @export
as.character.dr_fields <- function(x, ...) unname(x[])

#' @export
format.dr_fields <- function(x, ...) {
  if (length(x) == 0L) return("<no fields>")
  fields <- unclass(x)
  paste0(format(encodeString(names(fields))), " = ", vapply(fields, format_value, ""))
}

#' @export
print.dr_fields <- function(x, ...) {
  writeLines(format.dr_fields(x))
  invisible(x)
}

#' @rawNamespace S3method(utils::str,dr_fields)
str.dr_fields <- function(object, ...) utils::str(unclass(object), ...)
