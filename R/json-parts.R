# Parts of a value that the native writer of JSON does not know. Most become another value that it does know, so that
# their numbers keep all digits; what has a method of its own for jsonlite is jsonlite's. Neighbour: json.R, which asks.

# Bits of a context, as in rust/crates/binding/src/json/parts.rs.
PART_IS_COLUMN <- 1L
PART_UNBOXED <- 2L

# The answer about one part: a list of the value to write instead of it, or its text, in a column one for each row.
# Nothing at all where only jsonlite's text of the whole will do.
json_part <- function(part, context, arguments, call) {
  reason <- .Call(C_json_refused, part)
  if (!is.null(reason)) stop_drover("json", paste("`x`", reason[[1L]]), call = call)
  column <- bitwAnd(context, PART_IS_COLUMN) > 0L
  boxing <- intersect(class(part)[[1L]], c("AsIs", "scalar"))
  bare <- if (length(boxing)) `class<-`(part, setdiff(class(part), boxing)) else part
  if (!is.atomic(part)) boxing <- setdiff(boxing, "AsIs")
  instead <- tryCatch(json_instead(bare, column, arguments), error = function(e) NULL)
  if (!is.null(instead)) return(list(rebox(instead[[1L]], boxing)))
  if (column) json_texts(part, context, arguments) else json_text(part, context, arguments, call)
}

rebox <- function(x, boxing) {
  if (length(boxing)) class(x) <- c(boxing, if (is.object(x)) class(x))
  x
}

# A list of a value whose JSON is that of `x`; NULL for what jsonlite knows best.
json_instead <- function(x, column, arguments) {
  if (typeof(x) == "pairlist") return(list(as.list(x)))
  if (isS4(x)) return(if (isTRUE(arguments$force) && !has_json_method(x)) list(attributes(x)))
  if (is.complex(x) && identical(arguments$complex, "list")) {
    parts <- list(real = Re(x), imaginary = Im(x))
    return(list(if (column) as.data.frame(parts) else parts))
  }
  if (is.raw(x) && !is.object(x)) {
    if (column || identical(arguments$raw, "hex")) return(list(as.character.hexmode(x)))
    return(if (identical(arguments$raw, "int")) list(as.integer(x)))
  }
  if (!is.object(x)) return(NULL)
  if (inherits(x, "POSIXlt") && (column || !has_text(arguments))) return(list(as.POSIXct(x)))
  if (inherits(x, "POSIXt")) return(if (has_text(arguments)) formatted_time(x, arguments))
  if (inherits(x, "Date") && is.numeric(x) && !identical(arguments$Date, "epoch")) return(list(format(x)))
  if (inherits(x, "ts")) return(list(as.vector(x)))
  if (identical(class(x), "data.frame")) return(with_row_names(x))
  if (has_json_method(x)) return(NULL)
  # jsonlite's way with classes that it does not know: the next one, or with `force` what is below
  if (length(class(x)) > 1L) return(list(structure(x, class = class(x)[-1L])))
  if (isTRUE(arguments$force)) list(unclass(x))
}

# Whether jsonlite, or somebody for it, has a method for the class of `x`.
has_json_method <- function(x) {
  generic <- get("asJSON", envir = asNamespace("jsonlite"))
  method <- methods::selectMethod(generic, class(x)[[1L]], optional = TRUE)
  !is.null(method) && !identical(as.character(method@defined)[[1L]], "ANY")
}

has_text <- function(arguments) !isTRUE(arguments$POSIXt %in% c("epoch", "mongo"))

# Times in zones that only R knows, or in a format of the caller's.
formatted_time <- function(x, arguments) {
  utc <- isTRUE(arguments$UTC)
  iso <- if (utc) "%Y-%m-%dT%H:%M:%SZ" else "%Y-%m-%dT%H:%M:%S"
  shape <- arguments$time_format %||% if (identical(arguments$POSIXt, "ISO8601")) iso else ""
  list(if (utc) format(x, format = shape, tz = "UTC") else format(x, format = shape))
}

# Row names as the column that jsonlite makes of them, where other columns have that name or none.
with_row_names <- function(x) {
  rows <- attr(x, "row.names")
  if (!is.character(rows) || all(grepl("^[0-9]+$", rows))) return(NULL)
  x[["_row"]] <- rows
  attr(x, "row.names") <- seq_along(rows)
  list(x)
}

json_text <- function(x, context, arguments, call) {
  arguments$auto_unbox <- bitwAnd(context, PART_UNBOXED) > 0L
  ask_jsonlite(x, call, function() do.call(jsonlite::toJSON, c(list(x), with_digits(arguments)), quote = TRUE))
}

# jsonlite has texts of a column by rows only within itself.
json_texts <- function(x, context, arguments) {
  generic <- get("asJSON", envir = asNamespace("jsonlite"))
  if (inherits(x, "POSIXlt")) x <- as.POSIXct(x)
  arguments$auto_unbox <- bitwAnd(context, PART_UNBOXED) > 0L
  if (isTRUE(arguments$pretty)) arguments$indent <- 0L
  arguments$pretty <- NULL
  records <- identical(arguments$dataframe %||% "rows", "rows")
  arguments$na <- arguments$na %||% if (records) "NA"
  defaults <- list(
    dataframe = "rows", matrix = "rowmajor", Date = "ISO8601", POSIXt = "string", factor = "string", complex = "string",
    raw = "base64", null = "list", na = NULL, digits = I(15), force = FALSE
  )
  arguments <- utils::modifyList(defaults, arguments, keep.null = TRUE)
  arguments <- c(list(x, collapse = FALSE), arguments)
  tryCatch(as.character(do.call(generic, arguments, quote = TRUE)), error = function(e) NULL)
}

# As many significant digits as jsonlite has: the nearest it comes to the shortest exact form.
with_digits <- function(arguments) {
  if (!"digits" %in% names(arguments)) arguments$digits <- I(15)
  arguments
}

ask_jsonlite <- function(x, call, ask) {
  reason <- .Call(C_json_refused, x)
  if (!is.null(reason)) stop_drover("json", paste("`x`", reason[[1L]]), call = call)
  text <- tryCatch(as.character(ask()), error = function(e) {
    stop_drover("json", paste("`x` cannot be written as JSON:", conditionMessage(e)), call = call, parent = e)
  })
  if (!all(validUTF8(text))) {
    stop_drover("json", "`x` cannot be written as JSON: it holds text that is not valid", call = call)
  }
  text
}
