# Values for handlers, from input that the engine has accepted: each of exactly the type that is declared. Not for
# validating them: the server has done that. Neighbours: schema.R (the types), typed-handler.R (the caller).

# A function of a value as dr_from_json(simplify = FALSE) has it, by a type's `r`: see new_schema().
reader_of <- function(r) {
  switch(r$kind,
    array = if (r$items$kind %in% column_kinds) vector_reader(r) else list_reader(r),
    object = object_reader(r), data_frame = frame_reader(r), any = identity, scalar_reader(r)
  )
}

# Of a vector of all values of a column; NA where there is none. What is no value is of type logical.
as_declared <- function(r) {
  switch(r$kind,
    int = as.integer, dbl = , int64 = as.double, lgl = as.logical, chr = , digits = as.character,
    date = function(x) as.Date(as.character(x), "%Y-%m-%d"), datetime = as_datetime,
    factor = {
      levels <- r$levels
      function(x) factor(as.character(x), levels)
    }
  )
}

scalar_reader <- function(r) {
  convert <- as_declared(r)
  function(x) convert(if (is.null(x)) NA else x)
}

# Of a list of values, as a vector.
column_reader <- function(r) {
  convert <- as_declared(r)
  function(x) {
    x[lengths(x) == 0L] <- list(NA)
    if (length(x)) convert(unlist(x, use.names = FALSE)) else convert(logical())
  }
}

vector_reader <- function(r) {
  read <- column_reader(r$items)
  function(x) if (is.null(x)) NULL else read(x)
}

list_reader <- function(r) {
  read <- reader_of(r$items)
  function(x) if (is.null(x)) NULL else lapply(x, read)
}

# Kinds whose single values are read natively, by their numbers in src/typed.c.
SINGLE_KINDS <- c(int = 1L, dbl = 2L, int64 = 2L, lgl = 3L, chr = 4L, digits = 4L)

# 0 for a kind that R reads.
single_kind <- function(r) {
  kind <- SINGLE_KINDS[r$kind]
  if (is.na(kind)) 0L else unname(kind)
}

object_reader <- function(r) {
  readers <- lapply(r$fields, reader_of)
  defaults <- default_values(r$fields, readers)
  names <- enc2utf8(as.character(names(readers)))
  usual <- lapply(names, function(name) if (name %in% names(defaults)) defaults[name])
  fields <- list(names, vapply(r$fields, single_kind, 0L, USE.NAMES = FALSE), readers, usual)
  read <- function(x) .Call(C_typed_object, fields, x)
  if (!identical(r$extra, "keep")) return(read)
  function(x) {
    further <- setdiff(names(x), names)
    if (length(further)) c(read(x), x[further]) else read(x)
  }
}

# Whether what is read has all members, and no others.
gives_all <- function(r) {
  is_there <- function(field) isTRUE(field$required) || "default" %in% names(field)
  r$kind == "object" && !identical(r$extra, "keep") && all(vapply(r$fields, is_there, NA))
}

frame_reader <- function(r) {
  readers <- lapply(r$fields, column_reader)
  plain <- lapply(r$fields, function(field) if ("default" %in% names(field)) plain_default(field))
  names <- names(readers)
  function(x) {
    if (is.null(x)) return(NULL)
    columns <- lapply(names, function(name) {
      cells <- lapply(x, .subset2, name)
      if (!is.null(plain[[name]])) {
        missing <- !vapply(x, function(row) name %in% names(row), NA)
        cells[missing] <- list(plain[[name]])
      }
      readers[[name]](cells)
    })
    names(columns) <- names
    structure(columns, class = "data.frame", row.names = .set_row_names(length(x)))
  }
}

# A default as JSON would have it, and through the reader for all others: it has the declared type as well.
plain_default <- function(r) {
  dr_from_json(dr_to_json(schema_value(r[["default"]], r), auto_unbox = TRUE), simplify = FALSE)
}

# Of the declared type; NULL where there is none.
default_value <- function(r) if ("default" %in% names(r)) reader_of(r)(plain_default(r))

default_values <- function(fields, readers) {
  with_default <- names(fields)[vapply(fields, function(field) "default" %in% names(field), NA)]
  values <- lapply(with_default, function(name) readers[[name]](plain_default(fields[[name]])))
  names(values) <- with_default
  values
}

# Of texts by RFC 3339, which the engine has seen to be such.
as_datetime <- function(x) {
  x <- as.character(x)
  seconds <- as.double(as.POSIXct(strptime(toupper(substr(x, 1L, 19L)), "%Y-%m-%dT%H:%M:%S", tz = "UTC")))
  rest <- substring(x, 20L)
  fraction <- sub("^([.][0-9]+)?.*$", "0\\1", rest)
  zone <- sub("^[.][0-9]+", "", rest)
  shift <- ifelse(nchar(zone) == 6L, paste0(substr(zone, 1L, 1L), "1"), "0")
  offset <- (as.double(ifelse(nchar(zone) == 6L, substr(zone, 2L, 3L), "0")) * 60 +
    as.double(ifelse(nchar(zone) == 6L, substr(zone, 5L, 6L), "0"))) * 60
  .POSIXct(seconds + as.double(fraction) - as.double(shift) * offset, tz = "UTC")
}

# A function of texts, as queries and forms have them: a character vector, not empty.
text_reader <- function(r) {
  if (r$kind == "array") {
    read <- text_converter(r$items)
    return(function(texts) read(texts))
  }
  text_converter(r)
}

text_converter <- function(r) {
  convert <- as_declared(r)
  nullable <- isTRUE(r$nullable)
  before <- switch(r$kind,
    # read by the parser that the engine has judged them by
    int = , dbl = , int64 = function(x) vapply(x, read_number, 0, USE.NAMES = FALSE),
    lgl = function(x) tolower(x) %in% c("true", "t", "1"),
    identity
  )
  function(x) {
    if (!nullable) return(convert(if (is.character(x)) before(x) else x))
    is_null <- is.character(x) & x == ""
    out <- convert(rep(NA, length(x)))
    out[!is_null] <- convert(if (is.character(x)) before(x[!is_null]) else x)
    out
  }
}

read_number <- function(text) as.double(.Call(C_json_parse, text, TRUE, 1L, .Machine$integer.max)[[1L]])
