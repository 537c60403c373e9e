# JSON: text of R values and R values of text. The work is native (rust/crates/binding/src/json); here are the
# arguments, and the way to json-parts.R and jsonlite for what the native code does not know. Not for what handlers
# return: the engine writes that by itself.

#' Reply with JSON
#'
#' `dr_json()` makes a response whose body is `x` as JSON. It is what a handler uses that wants to set the status or
#' header fields, or to say how `x` is written; a handler that returns a list or a data frame gets the same with the
#' defaults.
#'
#' @param x The value: `NULL`, a logical, integer, double, character or raw vector, factor, date or time, matrix, list,
#'   data frame, or what [jsonlite::toJSON()] knows besides. Functions, environments, calls, symbols and other parts of
#'   the language are refused wherever they are in `x`: their source is not for clients.
#' @param status The HTTP status: a single integer in 200..599.
#' @param headers Further header fields: a named list of strings, as in [dr_response()].
#' @param auto_unbox Whether vectors of length 1 are written without brackets, `TRUE` or `FALSE`. `I(x)` keeps them.
#' @param ... Further arguments of [jsonlite::toJSON()], such as `na`, `null`, `dataframe`, `digits` or `pretty`.
#' @returns A `dr_response` with the text as its body and the Content-Type "application/json".
#' @section Text:
#' The text is that of [jsonlite::toJSON()] with the same arguments, except for numbers: they are written with the
#' fewest digits that give the same number back (`0.1` is `0.1`, `1/3` is `0.3333333333333333`, `1e5` is `100000`),
#' unless `digits` is given; then they are jsonlite's. That holds beside any other value: a part that only jsonlite can
#' write (an object of a class that has a method of its own there) is written by it alone, with its 15 digits.
#'
#' Durations (`difftime`) and tables, which are errors in jsonlite unless `force = TRUE`, are their numbers. To keep the
#' names of a table's counts, send `as.data.frame()` of it. `keep_vec_names = TRUE` says nothing about its future.
#' Strings that are not valid UTF-8 are written with U+FFFD in place
#' of the bytes that are not. Values nested deeper than 512 levels are refused.
#' @section Errors: `drover_error_json` when `x` cannot be written; `drover_error_argument` for a wrong argument, also
#'   for one that [jsonlite::toJSON()] and its methods do not have.
#' @seealso [dr_to_json()] for the text alone, [dr_response()]
#' @examples
#' dr_json(list(ok = TRUE))
#' dr_json(list(error = "no such user"), status = 404L)
#' dr_json(head(cars, 2), dataframe = "columns")
#' @export
dr_json <- function(x, status = 200L, headers = list(), auto_unbox = TRUE, ...) {
  # most calls have one argument, and looking at names takes as long as the rest; a call of check_names(), twice as long
  if (nargs() > 1L && !is.null(.Call(C_wrong_name, sys.call(), dr_json))) check_names()
  # called for each request: one call, when the arguments are the usual ones
  if (...length() == 0L && !is.null(reply <- .Call(C_json_reply, x, status, headers, auto_unbox, NULL))) return(reply)
  check_flag(auto_unbox, "auto_unbox")
  new_response(to_json(x, list(auto_unbox = auto_unbox, ...), sys.call()), status, headers, "application/json")
}

#' Text of R values as JSON, and back
#'
#' `dr_to_json()` writes a value as JSON, `dr_from_json()` reads it. Both do what [jsonlite::toJSON()] and
#' [jsonlite::fromJSON()] do, natively for nearly all values.
#'
#' `dr_from_json()` takes JSON and nothing else: a string that happens to be a URL or the name of a file is an error.
#'
#' @param x The value, as for [dr_json()].
#' @param ... Arguments of [jsonlite::toJSON()]; its defaults hold, so vectors of length 1 have brackets unless
#'   `auto_unbox = TRUE`.
#' @param txt JSON: a single string, or a raw vector that holds UTF-8.
#' @param simplify `TRUE`: arrays of scalars become vectors, arrays of objects data frames, and arrays of arrays
#'   matrices, as with `simplifyVector = TRUE` in [jsonlite::fromJSON()]. `FALSE`: all arrays become lists.
#' @param max_depth How deep arrays and objects may be nested: a single integer in 1..250.
#' @param max_collisions How many different strings in `txt` may share a place in R's string cache beyond what chance
#'   makes share one, which strings of an attacker can be built to do: a single positive integer.
#' @returns `dr_to_json()`: a single string, UTF-8. `dr_from_json()`: the value.
#' @section Errors: `drover_error_json` when `x` cannot be written, or when `txt` is not one JSON value or breaks a
#'   limit (the message says where); `drover_error_argument` for a wrong argument.
#' @inheritSection dr_json Text
#' @examples
#' dr_to_json(list(name = "Ada", born = 1815L), auto_unbox = TRUE)
#' dr_from_json('[{"x": 1, "y": "a"}, {"x": 2}]')
#' @export
dr_to_json <- function(x, ...) to_json(x, list(...), sys.call())

# A value as a plain string of JSON, for texts that have it in themselves. C calls it for events.
plain_json <- function(value) as.character(written_json(value, just_unboxed, sys.call()))

# The arguments of toJSON(), and those that it passes on to its methods.
JSON_ARGUMENTS <- c(
  "dataframe", "matrix", "Date", "POSIXt", "factor", "complex", "raw", "null", "na", "auto_unbox", "digits", "pretty",
  "force", "UTC", "time_format", "always_decimal", "keep_vec_names", "json_verbatim", "rownames", "no_dots",
  "use_signif", "hms", "sf"
)

check_json_arguments <- function(arguments, call) {
  names <- names(arguments) %||% character(length(arguments))
  wrong <- setdiff(names, JSON_ARGUMENTS)
  if (!length(wrong)) return(invisible())
  own <- if (called(call) == "dr_json") c("status", "headers")
  if (nzchar(wrong[[1L]])) stop_name(wrong[[1L]], c(own, JSON_ARGUMENTS), call)
  stop_drover("argument", "arguments for toJSON() must be given by name", call = call, argument = "...")
}

# A string as JSON, with its quotes: plain_json() of one.
quoted_json <- function(text) .Call(C_json_write, text, just_unboxed, nothing_known)

just_unboxed <- list(auto_unbox = TRUE)
nothing_known <- list(list(), integer(), list())

#' @rdname dr_to_json
#' @export
dr_from_json <- function(txt, simplify = TRUE, max_depth = 64L, max_collisions = 2L) {
  if (!is_string(txt) && !is.raw(txt)) stop_argument("txt", "a single string or a raw vector", txt, sys.call())
  if (!missing(simplify)) check_flag(simplify, "simplify")
  if (!missing(max_depth)) check_count(max_depth, "max_depth", 1, 250)
  if (!missing(max_collisions)) check_count(max_collisions, "max_collisions", 1, .Machine$integer.max)
  value <- .Call(C_json_parse, if (is.raw(txt)) txt else enc2utf8(txt), simplify, max_depth, max_collisions)
  if (is.list(value)) return(value[[1L]])
  stop_drover("json", paste0("`txt` is not JSON that can be read: ", value))
}

# The text of a value. `arguments`: those of toJSON().
to_json <- function(x, arguments, call) {
  if (length(arguments)) check_json_arguments(arguments, call)
  if (is.numeric(arguments$pretty)) {
    text <- to_json(x, arguments[names(arguments) != "pretty"], call)
    return(as.character(jsonlite::prettify(text, arguments$pretty)))
  }
  written_json(x, arguments, call)
}

# The same with arguments that are known to be right, without `pretty`.
written_json <- function(x, arguments, call) {
  text <- write_parts(x, arguments, call)
  if (is.character(text)) return(text)
  if (is.null(text)) return(to_json_slowly(x, arguments, call))
  stop_drover("json", paste("`x`", text[[1L]]), call = call)
}

# What jsonlite's text of the whole is the way out of: parts that are given other values again and again.
MOST_PASSES <- 50L

# The native text, with answers to what the native writer asks about parts that are foreign to it. What C_json_write
# gives.
write_parts <- function(x, arguments, call) {
  known <- nothing_known
  for (pass in seq_len(MOST_PASSES)) {
    text <- .Call(C_json_write, x, arguments, known)
    if (!is.list(text) || length(text) == 1L) return(text)
    answers <- Map(function(part, context) json_part(part, context, arguments, call), text[[1L]], text[[2L]])
    if (!all(lengths(answers))) return(NULL)
    known <- list(c(known[[1L]], text[[1L]]), c(known[[2L]], text[[2L]]), c(known[[3L]], unname(answers)))
  }
  NULL
}

# jsonlite, for what is not native. It prints the source of functions, so what holds any is refused before.
to_json_slowly <- function(x, arguments, call) {
  text <- ask_jsonlite(x, call, function() do.call(jsonlite::toJSON, c(list(x), with_digits(arguments)), quote = TRUE))
  if (!is_string(text)) {
    stop_drover("json", "`x` cannot be written as JSON: it holds text that is not valid", call = call)
  }
  text
}

# Called from json.c with texts in which a client says `{"$date": text}`: seconds since 1970 as jsonlite reads them,
# with the name that R gives the time zone.
read_dates <- function(texts, utc) {
  unclass(as.POSIXct(strptime(texts, "%Y-%m-%dT%H:%M:%OS", tz = if (utc) "UTC" else "")))
}
