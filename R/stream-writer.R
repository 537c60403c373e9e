# Streams that a function writes, rather than being called for each piece; and lines of JSON. Neighbours: stream.R, of
# whose kind these are; src/streams.c, where they wait for their clients.

#' Stream what a function writes
#'
#' A response whose body a function writes, piece by piece, as with [cat()]. For work that cannot be cut into calls of
#' [dr_stream()]: a loop in a package, a query that hands over its rows, a function with callbacks.
#'
#' `writer(out)` is called once, when the handler has returned, and the body is complete when it returns. `out` has
#' these functions:
#' - `out$write(x)` sends a single string (as UTF-8), a raw vector, or a list, which is sent as a line of JSON, and a
#'   data frame as a line for each row. It returns when the client has taken most of what was sent before: a slow client
#'   slows the function down, and memory holds what is written at a time and at most 256 kB.
#' - `out$event(data, event, id, retry, comment)` writes a Server-Sent Event, with the fields of [dr_stream_sse()].
#'   How a browser hears that there is no more is told there, too.
#' - `out$is_open()` says whether somebody still reads.
#' - `out$trailers(fields)` sends header fields after the complete body: see `trailers` of [dr_stream()]. A later call
#'   replaces an earlier one.
#'
#' When the client has gone or the server ends, the next `out$write()` does not return: the function ends there,
#' quietly, and its [on.exit()] code runs. For [tryCatch()] that is a condition of class `drover_stream_over`, which is
#' not an error.
#'
#' **The function keeps its worker** until it returns, also while it waits for its client: other requests need another
#' worker, so give the server more than one, or use [dr_stream()], whose worker is free between two pieces. A worker
#' process is killed when the function writes nothing while a request has waited for its whole `timeout`, and for
#' `kill_after` more.
#'
#' An error in the function ends the stream in a way that the client can tell from a complete body, and writes a line
#' to the log.
#'
#' @param writer A function of one argument, `out`, see Details.
#' @inheritParams dr_stream
#' @inherit dr_stream return
#' @section Errors: `drover_error_argument` when an argument is not as described, of the functions in `out` too, and
#'   when they are called after `writer` has returned.
#' @seealso [dr_stream()], which should be preferred where it can be used.
#' @examples
#' app <- dr_app()
#' dr_get(app, "/fit", function(req) {
#'   dr_stream_writer(function(out) {
#'     for (step in 1:3) {
#'       Sys.sleep(0.1)
#'       out$write(list(step = step, loss = 1 / step))
#'     }
#'   }, content_type = "application/x-ndjson")
#' })
#' @export
dr_stream_writer <- function(writer, content_type = "text/plain", headers = list(), status = 200L,
                             on_drain = "finish") {
  check_names()
  check_takes(writer, "writer", 1L, "one argument, out")
  new_stream(writing(writer), NULL, content_type, headers, 0, status, on_drain)
}

# The function for dr_stream() whose calls are those of `writer`, until `is_over`: most often one.
writing <- function(writer, is_over = function() TRUE) {
  force(writer)
  function(state, cancelled) {
    # cancelled before it began
    if (cancelled) return()
    out <- stream_output()
    on.exit(out$close())
    tryCatch(writer(out$functions), drover_stream_over = function(over) NULL)
    list(done = is_over(), trailers = out$close())
  }
}

# What a writer writes with, until it is closed.
stream_output <- function() {
  open <- TRUE
  behind <- NULL
  write <- function(x) {
    if (!(is_string(x) || is.raw(x) || is.list(x))) {
      stop_argument("x", "a single string, a raw vector or a list", x, sys.call())
    }
    send(x, sys.call())
    invisible()
  }
  event <- function(data = NULL, event = NULL, id = NULL, retry = NULL, comment = NULL) {
    fields <- list(data = data, event = event, id = id, retry = retry, comment = comment)
    send(event_text(fields), sys.call())
    invisible()
  }
  trailers <- function(fields) {
    check_open(sys.call())
    behind <<- check_headers(fields, sys.call(), "fields")
    invisible()
  }
  check_open <- function(call) {
    if (!open) stop_drover("argument", "this stream is over: its `writer` has returned", call = call)
  }
  send <- function(chunk, call) {
    check_open(call)
    if (.Call(C_streams_write, chunk)) return()
    over <- structure(class = c("drover_stream_over", "condition"), list(message = "nobody reads this", call = call))
    signalCondition(over)
  }
  list(
    functions = list(
      write = write, event = event, trailers = trailers, is_open = function() open && .Call(C_streams_write, "")
    ),
    # what is to stand behind the body
    close = function() {
      open <<- FALSE
      behind
    }
  )
}

# Called from C when a session is to end while a stream is written: for how many seconds it may still be. In a worker
# process that is for its server to say.
seconds_to_finish <- function(unused) server$graceful_timeout %||% 1e6

# Called from C for the fields behind a body: as text. Which there cannot be is known to the engine.
trailer_text <- function(trailers) {
  fields <- check_headers(trailers, NULL, "trailers")
  text <- paste0(names(fields), ": ", enc2utf8(as.character(fields)), "\r\n", recycle0 = TRUE, collapse = "")
  # more than any client takes
  if (nchar(text, "bytes") > 4096L) stop("`trailers` of a stream are longer than 4096 bytes", call. = FALSE)
  text
}

# Called from C for a chunk that is a list. https://github.com/ndjson/ndjson-spec
json_lines <- function(x) {
  if (!length(x)) return("")
  rows <- if (is.data.frame(x)) lapply(seq_len(nrow(x)), row_of, x = x) else list(x)
  lines <- vapply(rows, dr_to_json, "", auto_unbox = TRUE)
  paste0(lines, "\n", recycle0 = TRUE, collapse = "")
}

# A row of a data frame as a list. A column may be a data frame, which is an object in each row, or a matrix: an array.
row_of <- function(i, x) {
  lapply(x, function(column) {
    if (is.data.frame(column)) return(row_of(i, column))
    if (is.matrix(column)) as.list(unname(column[i, ])) else column[[i]]
  })
}
