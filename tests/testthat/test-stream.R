# Streams as values, the text of events, and a session that is idle at its console. Over sockets, in every way of
# starting: tests/process/test-streams.R.

generator <- function(state, cancelled) list(done = TRUE)

test_that("a stream is a response that can be changed", {
  stream <- dr_stream(generator, headers = list("X-A" = "1"), status = 203L)
  expect_s3_class(stream, c("dr_stream", "dr_response"), exact = TRUE)
  expect_identical(stream$status, 203L)
  expect_null(stream$body)
  expect_identical(stream$headers, list("Content-Type" = "text/event-stream", "X-A" = "1"))
  expect_output(print(stream), "<dr_response> 203.*X-A: 1\n  stream$")
  changed <- dr_set_header(stream, "X-B", "2")
  expect_identical(changed$headers[["X-B"]], "2")
  expect_identical(changed$stream, stream$stream)
  expect_identical(dr_stream(generator, headers = list("content-type" = "text/csv"))$headers,
    list("content-type" = "text/csv"))
  changed$body <- "text"
  expect_null(changed$stream)
  expect_output(print(changed), "4 bytes")
})

test_that("events are not cached or buffered, unless the handler says so", {
  expect_identical(dr_stream_sse(generator)$headers, list(
    "Content-Type" = "text/event-stream", "Cache-Control" = "no-cache", "X-Accel-Buffering" = "no"
  ))
  own <- dr_stream_sse(generator, headers = list("cache-control" = "no-store"))$headers
  expect_identical(own[-1L], list("cache-control" = "no-store", "X-Accel-Buffering" = "no"))
})

test_that("wrong arguments are named", {
  refused <- function(call, text) expect_error(call, text, class = "drover_error_argument")
  refused(dr_stream("x"), "`next_chunk` must be a function")
  refused(dr_stream(function(state) NULL), "two arguments, state and cancelled")
  refused(dr_stream_sse(function() NULL), "two arguments, state and cancelled")
  refused(dr_stream(function(cancelled, state) NULL), "`next_chunk` must be function\\(state, cancelled\\), in this order")
  refused(dr_stream_sse(function(cancelled, state) NULL), "`generator` must be function\\(state, cancelled\\), in this")
  refused(dr_stream(generator, content_type = 1), "`content_type`")
  refused(dr_stream(generator, min_interval = -1), "`min_interval`")
  refused(dr_stream(generator, min_interval = "soon"), "`min_interval`")
  refused(dr_stream(generator, on_drain = "stop"), "`on_drain`")
  refused(dr_stream(generator, status = 99), "`status`")
  refused(dr_stream(generator, headers = list(A = "x\r\ny")), "`headers`|line breaks|control")
  refused(dr_stream_sse(generator, heartbeat = -1), "`heartbeat`")
  refused(dr_stream_writer(function() NULL), "one argument, out")
  refused(dr_stream_writer("x"), "`writer` must be a function")
  refused(dr_stream_writer(function(out) NULL, on_drain = "stop"), "`on_drain`")
  expect_identical(dr_stream(generator, min_interval = "500ms")$stream$min_interval, 0.5)
})

test_that("lists are lines of JSON, and data frames a line for each row", {
  expect_identical(json_lines(list(a = 1L, b = "x\ny")), "{\"a\":1,\"b\":\"x\\ny\"}\n")
  expect_identical(json_lines(list()), "")
  rows <- data.frame(n = 1:2, f = factor(c("u", "v")), t = as.Date("2026-01-02") + 0:1)
  expect_identical(
    json_lines(rows), paste0("{\"n\":", 1:2, ",\"f\":\"", c("u", "v"), "\",\"t\":\"2026-01-0", 2:3, "\"}\n", collapse = "")
  )
  expect_identical(json_lines(rows[0L, ]), "")
  nested <- data.frame(n = 1:3)
  nested$frame <- data.frame(u = 4:6, v = c("x", "y", "z"))
  nested$matrix <- matrix(1:6, 3L, dimnames = list(NULL, c("p", "q")))
  nested$narrow <- matrix(7:9)
  expect_identical(json_lines(nested), paste0(
    "{\"n\":", 1:3, ",\"frame\":{\"u\":", 4:6, ",\"v\":\"", c("x", "y", "z"), "\"},\"matrix\":[", 1:3, ",", 4:6,
    "],\"narrow\":[", 7:9, "]}\n", collapse = ""
  ))
})

test_that("events that are far apart have heartbeats in between", {
  chunk_of <- function(stream) stream$stream$next_chunk(1, FALSE)$chunk
  seldom <- dr_stream_sse(function(state, cancelled) list(data = "x"), min_interval = 40, heartbeat = 15)
  expect_equal(seldom$stream$min_interval, 40 / 3)
  expect_identical(replicate(5, chunk_of(seldom)), c("data: x\n\n", ":\n\n", ":\n\n", "data: x\n\n", ":\n\n"))
  # a generator that has nothing to say, and its clock (event_chunks() in R/stream.R) set back by more than a heartbeat
  nothing <- dr_stream_sse(function(state, cancelled) list(), heartbeat = 600)
  expect_identical(chunk_of(nothing), "")
  clock <- environment(nothing$stream$next_chunk)
  clock$said <- clock$said - 601
  expect_identical(c(chunk_of(nothing), chunk_of(nothing)), c(":\n\n", ""))
  without <- dr_stream_sse(function(state, cancelled) list(), min_interval = 40, heartbeat = 0)
  expect_identical(c(chunk_of(without), without$stream$min_interval), c("", "40"))
  # the last call is one whenever it comes
  told <- FALSE
  last <- dr_stream_sse(function(state, cancelled) if (cancelled) told <<- TRUE else list(data = "x"), min_interval = 40)
  chunk_of(last)
  expect_null(last$stream$next_chunk(1, TRUE))
  expect_true(told)
})

test_that("an event is written as browsers read it", {
  text <- function(...) event_text(list(...))
  expect_identical(text(data = "a"), "data: a\n\n")
  expect_identical(text(data = "a\nb\r\nc\rd\n"), "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n")
  expect_identical(text(data = ""), "data: \n\n")
  expect_identical(text(data = c("a", "b")), "data: a\ndata: b\n\n")
  expect_identical(text(data = iconv("h\u00e9", "UTF-8", "latin1")), "data: h\u00e9\n\n")
  expect_identical(text(data = "h\u00e9\nb"), "data: h\u00e9\ndata: b\n\n")
  expect_identical(text(data = character()), "data: \n\n")
  expect_identical(text(data = list(x = 1)), "data: {\"x\":1}\n\n")
  expect_identical(text(data = 7), "data: 7\n\n")
  expect_identical(text(data = "a", event = "tick", id = 1e6, retry = 2000),
    "event: tick\nid: 1000000\nretry: 2000\ndata: a\n\n")
  expect_identical(text(comment = ""), ": \n\n")
  expect_identical(text(comment = "a\nb"), ": a\n: b\n\n")
  expect_identical(text(state = 1), "")
  # what would be another field, or another event
  for (event in list(list(event = "a\ndata: b"), list(id = "1\r2"), list(id = c("a", "b")))) {
    expect_error(event_text(event), "must be a single string without line breaks")
  }
  for (retry in list(-1, 1.5, "soon", NA)) expect_error(event_text(list(retry = retry)), "whole number of milliseconds")
})

test_that("the short way to the text of an event gives the same bytes, or leaves it to the long one", {
  latin1 <- iconv("h\u00e9\nx", "UTF-8", "latin1")
  invalid <- "a\xff"
  bytes <- "b"
  Encoding(bytes) <- "bytes"
  texts <- list(
    "", "a", "\n", "\r", "\r\n", "\n\r", "a\n", "a\r", "a\r\n", "a\nb", "a\r\nb\rc\n\nd", "a\r\r", "a\n\r\n",
    " a: b ",
    "h\u00e9\u20ac", "h\u00e9\nb", latin1, invalid, bytes, NA_character_, character(), c("a", "b"), c("a\n", "b\r"),
    structure("a", class = "json"), structure("a", names = "n"), factor("f"), strrep("long ", 5000), ":", "data: x"
  )
  values <- list(
    0, -0, 1, -1, 1L, 1e5, 1e6, 123456789012, 2^53, 1e15, 1e15 - 1, 1.5, NA, NA_integer_, NA_real_, Inf, NaN, numeric(),
    c(1, 2), TRUE, "7", "007", "7a", "", "a\nb", "a\r", invalid, bytes, "h\u00e9", latin1, NA_character_, c("a", "b"),
    list("a"), as.raw(7), 5i
  )
  others <- list(7, TRUE, NULL, list(), list(x = 1, y = "a\nb"), list(1, "b"), data.frame(a = 1:2), 1:3, NA, as.raw(1))
  data <- c(texts, others)
  result <- function(call) {
    tryCatch(list(text = charToRaw(call)), error = function(error) list(error = conditionMessage(error)))
  }
  events <- c(
    lapply(data, function(x) list(data = x)), lapply(texts, function(x) list(comment = x)),
    lapply(values, function(x) list(id = x)), lapply(values, function(x) list(retry = x, data = "d")),
    lapply(c(values, texts), function(x) list(event = x, data = "d")),
    Map(function(a, b) list(data = a, id = 1L, event = "tick", comment = b, retry = 10), texts, rev(texts)),
    list(
      list(), list(state = 1, done = TRUE), list("a"), list(data = "a", data = "b"), list(dat = "a"),
      structure(list(data = "a"), class = "mine"), list(id = 12, event = "e", data = "", comment = "c")
    )
  )
  short <- 0L
  for (event in events) {
    short <- short + !is.null(tryCatch(.Call(drover:::C_event_text, event), error = function(error) NULL))
    expect_identical(result(event_text(event)), result(event_text_slowly(event)))
  }
  # the usual is short: text, whole numbers, and JSON
  expect_gt(short, length(events) / 3)
  for (event in list(list(data = "a\nb", id = 7, event = "e", retry = 10L, comment = ""), list(data = list(x = 1)))) {
    expect_false(is.null(.Call(drover:::C_event_text, event)))
  }
})

test_that("streams that are made in one call are the same", {
  made <- dr_stream(generator, 3, "text/csv", min_interval = 1L, status = 201L, on_drain = "end")
  expect_identical(made, new_stream(generator, 3, "text/csv", list(), 1L, 201L, "end"))
  expect_identical(dr_stream(generator), new_stream(generator, NULL, "text/event-stream", list(), 0, 200L, "finish"))
  events <- dr_stream_sse(generator, list(1), min_interval = 40, status = 202L)
  expect_identical(unclass(events)[c("status", "body", "headers")], list(
    status = 202L, body = NULL,
    headers = list("Content-Type" = "text/event-stream", "Cache-Control" = "no-cache", "X-Accel-Buffering" = "no")
  ))
  expect_identical(events$stream[-1L], list(state = list(1), min_interval = 40 / 3, ends_on_drain = TRUE))
  expect_s3_class(events, c("dr_stream", "dr_response"), exact = TRUE)
  # what one is given does not change the next
  changed <- dr_set_header(events, "Cache-Control", "no-store")
  expect_identical(dr_stream_sse(generator)$headers[["Cache-Control"]], "no-cache")
  expect_identical(changed$headers[["Cache-Control"]], "no-store")
  expect_error(dr_stream(generator, min = 1), "`min` is not an argument")
  expect_error(dr_stream_sse(generator, heart = 1), "`heart` is not an argument")
})

test_that("a generator of events gets state and end through, and is told of wrong events", {
  chunks <- dr_stream_sse(function(state, cancelled) list(data = state, state = state + 1, done = state == 2))
  expect_identical(chunks$stream$next_chunk(2, FALSE), list(chunk = "data: 2\n\n", state = 3, done = TRUE))
  last <- dr_stream_sse(function(state, cancelled) list(data = 1, done = TRUE, trailers = list("X-Sum" = "1")))
  expect_identical(last$stream$next_chunk(1, FALSE)$trailers, list("X-Sum" = "1"))
  wrong <- dr_stream_sse(function(state, cancelled) "text")$stream$next_chunk
  expect_error(wrong(1, FALSE), "dr_stream_sse\\(\\) returned")
  misspelt <- function(...) dr_stream_sse(function(state, cancelled) list(...))$stream$next_chunk(1, FALSE)
  expect_error(misspelt(dta = 1), "returned a list with `dta`: did you mean `data`\\? \\(its fields are `data`, `event`, ")
  expect_error(misspelt(data = 1, zzzzz = 1), "returned a list with `zzzzz` \\(its fields are ")
  expect_error(misspelt(data = 1, 2), "returned a list with an element without a name")
  expect_null(wrong(1, TRUE))
})

test_that("middleware sees a stream, and one that gives another body ends it", {
  server <- local_server(c(
    "app <- dr_app()",
    "dr_use(app, function(req, nxt) dr_set_header(nxt(), 'X-Seen', 'yes'))",
    "dr_get(app, '/stream', function(req) dr_stream(function(state, cancelled)",
    "  list(chunk = 'abc', done = TRUE), content_type = 'text/plain'))",
    "dr_get(app, '/promise', function(req) promises::promise(function(resolve, reject) later::later(function()",
    "  resolve(dr_stream(function(state, cancelled) list(chunk = 'later', done = TRUE))), 0.05)))"
  ))
  response <- http(server, "/stream")
  expect_identical(response$body, "abc")
  expect_identical(response$headers[["x-seen"]], "yes")
  skip_if_not_installed("promises")
  expect_identical(http(server, "/promise")$body, "later")
})

test_that("streams go on in a session that is idle", {
  folder <- withr::local_tempdir()
  got <- file.path(folder, "out.txt")
  ran <- run_script(c(
    "app <- dr_get(dr_app(), '/tick', function(req) dr_stream_sse(function(state, cancelled) {",
    "  if (cancelled) { told <<- TRUE; cat('cancelled\\n') }",
    "  list(data = state, state = state + 1)",
    "}, 1, min_interval = 0.05))",
    "dr_serve(app, port = 0, block = FALSE)",
    "begun <- proc.time()[['elapsed']]",
    sprintf("got <- '%s'", got),
    "client <- processx::process$new('curl', c('-s', '-N', '-o', got, paste0(dr_url(), '/tick')))",
    "events <- function() if (file.exists(got)) sum(grepl('^data: ', readLines(got, warn = FALSE))) else 0",
    "calls <- 0",
    "while ((n <- events()) < 20) { later::run_now(600); calls <- calls + 1 }",
    "cat('seconds', proc.time()[['elapsed']] - begun, 'events', n, 'calls', calls, '\\n')",
    "client$kill()",
    "told <- FALSE",
    "while (!told) later::run_now(600)",
    "dr_stop()"
  ))
  expect_identical(ran$status, 0L, info = paste(ran$stderr, collapse = "\n"))
  counts <- grep("^seconds", ran$stdout, value = TRUE)
  count <- function(name) as.numeric(sub(paste0(".*", name, " ([0-9.]+).*"), "\\1", counts))
  # no more often than its interval allows, however slow the machine is
  expect_lte(count("events"), count("seconds") / 0.05 + 1)
  # the session is called when a stream is due, and not more often
  expect_lte(count("calls"), 3 * count("events"))
  expect_identical(sum(ran$stdout == "cancelled"), 1L)
})
