# Responses whose body an R function makes piece by piece, and Server-Sent Events. When the function is called, and what
# becomes of its chunks: src/streams.c. Neighbours: response.R, whose functions take these responses too.

#' Stream a response
#'
#' A response whose body is made piece by piece: the tokens of a model, the progress of a long computation, a large
#' download. A handler returns it like any other response. The worker is free between two pieces: it serves requests and
#' other streams.
#'
#' `next_chunk(state, cancelled)` is called for each piece, and returns a list:
#' - `chunk`: the next bytes of the body: a single string (sent as UTF-8), a raw vector, or a list, which is sent as a
#'   line of JSON, and a data frame as a line for each row (`application/x-ndjson`). An empty one, or none, sends
#'   nothing; the function is called again, but not before 10 milliseconds have passed.
#' - `state`: what the next call gets as `state`. Without it, or with `NULL`, the state stays as it is.
#' - `done`: `TRUE` when the body is complete with this chunk. `FALSE` or nothing: there is more to come. What it means
#'   to `EventSource` in a browser, [dr_stream_sse()] says.
#' - `trailers`: with `done`, header fields that are sent behind the body, for what is known only then, such as a
#'   checksum: a named list of strings, as for [dr_response()]. Those that a client needs before the body, such as
#'   `Content-Type` and `Set-Cookie`, are an error. `headers = list(Trailer = "Digest")` announces them.
#'   Browsers do not show them, and HTTP/1.0 has none.
#'
#' It is called when its client has received most of what was sent, so a slow client slows it down, and memory holds one
#' chunk and at most 256 kB for each stream; less where many are not read, as all streams share 64 MB. When the client
#' has gone or the server ends, it is called once more with `cancelled = TRUE`, to close what it has open; the result of
#' that call is not used. There is no such call after it has returned `done`, or failed.
#'
#' An error in `next_chunk()` ends the stream in a way that the client can tell from a complete body, and writes a line
#' to the log. So does the end of the worker process. The status and header fields have been sent by then: check what
#' can fail before you return the stream.
#'
#' While `next_chunk()` runs, its worker serves nothing else: do a part of the work in each call. A worker process is
#' killed when a call has kept a request waiting for its whole `timeout`, and for `kill_after` more.
#'
#' @param next_chunk A function of two arguments, `state` and `cancelled`, see Details.
#' @param state Any value: the state of the first call.
#' @param content_type The media type of the body: a single string. A `Content-Type` in `headers` wins.
#' @param headers Header fields: a named list of strings, as for [dr_response()].
#' @param min_interval Seconds from one call of the function to the next, at least: a single number, or a time such as
#'   `"500ms"`. 0 is as fast as the client reads.
#' @param status The HTTP status: a single integer in 200..599.
#' @param on_drain What becomes of the stream when the server stops or the app is reloaded: `"finish"`, it goes on
#'   until it is done, and is broken off after `graceful_timeout` seconds; or `"end"`, it ends as if it were complete,
#'   after the last call of the function. Browsers come back by themselves when Server-Sent Events end.
#' @returns A list of class `dr_stream` and `dr_response`, which can be changed as every response:
#'   [dr_set_header()], [dr_set_cookie()]. Assigning a body to it makes it an ordinary response.
#' @section Errors: `drover_error_argument` when an argument is not as described.
#' @seealso [dr_stream_sse()] for Server-Sent Events; [dr_stream_writer()] for functions that write; [dr_file()] for
#'   files; [dr_get_cpp_stream()] for streams of C handlers.
#' @examples
#' app <- dr_app()
#' dr_get(app, "/countdown", function(req) {
#'   dr_stream(function(state, cancelled) {
#'     list(chunk = paste0(state, "\n"), state = state - 1, done = state == 1)
#'   }, state = 10, content_type = "text/plain", min_interval = 0.1)
#' })
#' @export
dr_stream <- function(next_chunk, state = NULL, content_type = "text/event-stream", headers = list(),
                      min_interval = 0, status = 200L, on_drain = "finish") {
  # what is as usual, in one call
  usual <- .Call(
    C_stream_response, sys.call(), sys.function(), next_chunk, state, content_type, headers, min_interval, status,
    on_drain
  )
  if (!is.null(usual)) return(usual)
  check_names()
  check_takes(next_chunk, "next_chunk", 2L, "two arguments, state and cancelled")
  check_order(next_chunk, "next_chunk", c("state", "cancelled"))
  new_stream(next_chunk, state, content_type, headers, min_interval, status, on_drain)
}

#' Stream Server-Sent Events
#'
#' A stream of events for browsers (`EventSource`) and other clients of `text/event-stream`. As [dr_stream()], but the
#' function returns events, and the text of an event is made for it.
#'
#' `generator(state, cancelled)` returns a list of `state`, `done` and `trailers`, as for [dr_stream()], and of the
#' fields of an event:
#' - `data`: text; each of its lines becomes a line of the event. A value that is no string becomes JSON. Without
#'   data, there is no event, but other fields are sent.
#' - `event`: the type of the event, a single string; `"message"` to the browser if it is left out.
#' - `id`: a single string or number. A browser that comes back sends the last one in `req$headers$"last-event-id"`.
#' - `retry`: a number of milliseconds after which a browser is to come back.
#' - `comment`: text that clients ignore.
#'
#' `done = TRUE` ends the response, and not yet the stream in a browser: `EventSource` comes back, as after a connection
#' that was lost, and a stream without `id` begins anew. It stays away when its page calls `close()` at the last event,
#' or when the handler answers with `dr_response(status = 204)` as `req$headers$"last-event-id"` is the `id` of the last
#' one: see the example.
#'
#' `Cache-Control: no-cache` and `X-Accel-Buffering: no` are sent unless `headers` has other values for them.
#'
#' @param generator A function of two arguments, `state` and `cancelled`, see Details.
#' @param heartbeat Seconds without an event after which an empty comment is sent, so that proxies do not close a
#'   connection that is quiet: a single number, or a time such as `"30s"`; 0 for none.
#' @inheritParams dr_stream
#' @inherit dr_stream return
#' @section Errors: `drover_error_argument` when an argument is not as described.
#' @seealso [dr_stream()] for everything else about streams.
#' @examples
#' app <- dr_app()
#' dr_get(app, "/clock", function(req) {
#'   dr_stream_sse(function(state, cancelled) {
#'     list(data = format(Sys.time()), event = "tick", id = state, state = state + 1)
#'   }, state = 1, min_interval = 1)
#' })
#'
#' # a stream that ends for good: a browser that comes back has seen the last event
#' dr_get(app, "/three", function(req) {
#'   if (identical(req$headers$"last-event-id", "3")) return(dr_response(status = 204))
#'   dr_stream_sse(function(state, cancelled) {
#'     list(data = state, id = state, state = state + 1, done = state == 3)
#'   }, state = 1, min_interval = 1)
#' })
#' @export
dr_stream_sse <- function(generator, state = NULL, headers = list(), min_interval = 0, status = 200L,
                          on_drain = "end", heartbeat = 15) {
  usual <- .Call(
    C_events_response, sys.call(), sys.function(), generator, state, headers, min_interval, status, on_drain, heartbeat
  )
  if (!is.null(usual)) return(usual)
  check_names()
  check_takes(generator, "generator", 2L, "two arguments, state and cancelled")
  check_order(generator, "generator", c("state", "cancelled"))
  min_interval <- as_seconds(min_interval)
  check_seconds(min_interval, "min_interval", zero = TRUE)
  heartbeat <- as_seconds(heartbeat)
  check_seconds(heartbeat, "heartbeat", zero = TRUE)
  beats <- beats_between(min_interval, heartbeat)
  chunks <- event_chunks(generator, beats, heartbeat)
  new_stream(chunks, state, "text/event-stream", headers, min_interval / beats, status, on_drain, event_headers)
}

# Events that a proxy collects, or a browser finds in its cache, come too late.
event_headers <- list("Cache-Control" = "no-cache", "X-Accel-Buffering" = "no")

# `defaults`: header fields that are sent unless `headers` has them.
new_stream <- function(next_chunk, state, content_type, headers, min_interval, status, on_drain, defaults = list(),
                       call = sys.call(-1L)) {
  check_string(content_type, "content_type", call = call)
  min_interval <- as_seconds(min_interval)
  check_seconds(min_interval, "min_interval", zero = TRUE, call = call)
  check_choice(on_drain, "on_drain", c("finish", "end"), call = call)
  # without its class, as `$` of an object takes several times as long
  head <- unclass(new_response("", status, headers, content_type, call = call))
  if (length(defaults)) {
    given <- tolower(names(defaults)) %in% tolower(names(head$headers))
    head$headers <- c(head$headers, defaults[!given])
  }
  response <- list(
    status = head$status, body = NULL, headers = head$headers,
    stream = list(
      next_chunk = next_chunk, state = state, min_interval = min_interval, ends_on_drain = on_drain == "end"
    )
  )
  class(response) <- c("dr_stream", "dr_response")
  response
}

# How many times to look from one event to the next, so that no more than `heartbeat` seconds pass in between.
beats_between <- function(min_interval, heartbeat) {
  if (heartbeat > 0) max(1, ceiling(min_interval / heartbeat)) else 1
}

# A function for dr_stream() that makes text of the events of `generator`, each after `beats` calls: see src/events.c.
event_chunks <- function(generator, beats = 1, heartbeat = 0) {
  force(generator)
  force(heartbeat)
  calls <- 0
  # when the stream said something last, which C changes in place
  said <- .Call(C_event_clock)
  function(state, cancelled) {
    is_due <- TRUE
    if (beats > 1) {
      is_due <- cancelled || calls %% beats == 0
      calls <<- calls + 1
    }
    event <- if (is_due) generator(state, cancelled) else list()
    if (cancelled) return()
    chunk <- .Call(C_event_chunk, event, said, heartbeat, is_due)
    if (!is.null(chunk)) return(chunk)
    stop("the generator of dr_stream_sse() returned ", describe(event), "; return list(data = , state = , done = )",
      call. = FALSE)
  }
}

# The text of one event, "" for none: https://html.spec.whatwg.org/multipage/server-sent-events.html
event_text <- function(event) .Call(C_event_text, event) %||% event_text_slowly(event)

# The same of any fields, or an error for what is wrong with one.
event_text_slowly <- function(event) {
  data <- event[["data"]]
  if (!is.null(data) && !is.character(data)) data <- plain_json(data)
  lines <- c(
    event_lines("", event[["comment"]]),
    event_line("event", event[["event"]]), event_line("id", event[["id"]]), event_line("retry", event[["retry"]]),
    event_lines("data", data)
  )
  if (length(lines)) paste0(c(lines, "", ""), collapse = "\n") else ""
}

# Text of any number of lines: each is a field of its own.
event_lines <- function(name, text) {
  if (is.null(text)) return()
  text <- enc2utf8(as.character(text))
  # most text is one line, which takes half the time of an event to split
  if (length(text) != 1L || grepl("[\r\n]", text, useBytes = TRUE)) {
    text <- strsplit(paste0(paste(text, collapse = "\n"), "\n"), "\r\n|\n|\r", perl = TRUE)[[1L]]
  }
  paste0(name, ": ", text)
}

# A field that has one line: a second one would be another field.
event_line <- function(name, value) {
  if (is.null(value)) return()
  text <- if (is.numeric(value)) format(value, scientific = FALSE, digits = 17L) else value
  if (!is_string(text) || grepl("[\r\n]", text) || (name == "retry" && !grepl("^[0-9]+$", text))) {
    what <- if (name == "retry") "a whole number of milliseconds" else "a single string without line breaks"
    stop("the `", name, "` of an event must be ", what, call. = FALSE)
  }
  paste0(name, ": ", text)
}

# Called from C when a generator returns a list with an unknown field: the body would be empty, or never end.
stop_chunk_field <- function(chunk) stop_stream_field(chunk, "next_chunk() of a stream", c("chunk", stream_fields))

stop_event_field <- function(event) {
  fields <- c("data", "event", "id", "retry", "comment", stream_fields)
  stop_stream_field(event, "the generator of dr_stream_sse()", fields)
}

stream_fields <- c("state", "done", "trailers")

stop_stream_field <- function(value, by, fields) {
  wrong <- setdiff(names(value), fields)[[1L]]
  stop(
    by, " returned a list with ", if (nzchar(wrong)) paste0("`", wrong, "`") else "an element without a name",
    if (nzchar(wrong)) did_you_mean(wrong, fields), " (its fields are ",
    and_list(paste0("`", fields, "`")), ")", call. = FALSE
  )
}
