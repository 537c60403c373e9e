# What a handler may return: every type of R value, alone, through dr_json() and inside a list, gives a defined answer
# or a 500, and never its source code or invalid text. Not here: the JSON of the values that have one (test-json-*.R).

server <- local_server({
  app <- dr_app()
  methods::setClass("S4Point", methods::representation(x = "numeric"))
  Account <- methods::setRefClass("Account", fields = list(n = "numeric"))
  closure <- function(x) "secret_source"
  bytes <- rawToChar(as.raw(c(0x61, 0xff)))
  marked <- function(text, encoding) {
    Encoding(text) <- encoding
    text
  }
  deep <- function(n) {
    x <- list()
    for (i in seq_len(n)) x <- list(x)
    x
  }
  liar <- structure(list(1), class = "liar")
  registerS3method("length", "liar", function(x) 10L)
  registerS3method("as.character", "grumpy", function(x, ...) stop("secret_source"))
  registerS3method("[[", "grumpy", function(x, ...) stop("secret_source"))
  registerS3method("$", "grumpy", function(x, name) stop("secret_source"))
  # makers, so that a value with a promise or an odd type is made anew and by no one else evaluated
  values <- list(
    null = function() NULL, symbol = function() quote(secret_source), pairlist = function() pairlist(a = 1),
    closure = function() closure, environment = function() list2env(list(a = "secret_source")),
    promise_in_environment = function() {
      e <- new.env()
      delayedAssign("x", stop("secret_source"), assign.env = e)
      e
    },
    call = function() quote(f(secret_source)), special = function() `if`, builtin = function() `+`,
    logical = function() c(TRUE, NA), integer = function() c(1L, NA), double = function() c(1.5, NA, NaN, Inf, -Inf),
    complex = function() c(1+2i, NA), character = function() c("a", NA), text = function() "text",
    dots = function() (function(...) get("..."))(secret_source), list = function() list(1, "a", NULL),
    expression = function() expression(secret_source + 1), bytecode = function() compiler::compile(quote(secret_source + 1)),
    external_pointer = function() methods::new("externalptr"), raw = function() as.raw(0:255),
    s4 = function() methods::new("S4Point", x = 1), s4_generic = function() methods::getGeneric("show"),
    reference_object = function() Account$new(n = 1), missing_argument = function() quote(expr = ),
    connection = function() stdout(), formula = function() secret_source ~ x, factor = function() factor(c("a", "b")),
    bad_factor = function() structure(5L, levels = "a", class = "factor"),
    date = function() as.Date("2026-01-01"), time = function() as.POSIXct("1970-01-01", tz = "UTC"), time_list = function() as.POSIXlt("1970-01-01", tz = "UTC"),
    difftime = function() as.difftime(1, units = "mins"), matrix = function() matrix(1:4, 2), array = function() array(1:8, c(2, 2, 2)),
    bad_dim = function() list(matrix(list(1, "a", NULL, 2), 2)),
    frame = function() data.frame(x = 1:2, y = c("a", NA)), empty_frame = function() data.frame(),
    bad_frame = function() structure(list(x = 1:2, y = 1:3), class = "data.frame", row.names = 1:2),
    nameless_frame = function() structure(list(1:2), class = "data.frame", row.names = 1:2),
    closure_frame = function() structure(list(x = list(closure, 1)), class = "data.frame", row.names = 1:2),
    compact_sequence = function() 1:100000, lazy_text = function() as.character(1:1000),
    na_names = function() structure(list(1, 2), names = c(NA, "b")), same_names = function() list(a = 1, a = 2),
    bad_name = function() structure(list(1), names = bytes), empty_name = function() list(a = 1, 2),
    bytes_text = function() marked(bytes, "bytes"), latin1_text = function() marked(rawToChar(as.raw(0xe9)), "latin1"),
    invalid_text = function() bytes, invalid_utf8 = function() marked(bytes, "UTF-8"),
    control_text = function() paste0("a\001\033\177\"\\/", intToUtf8(0x2028)), na_text = function() NA_character_, empty_text = function() "",
    no_text = function() character(), deep_64 = function() deep(50), deep_100000 = function() deep(100000),
    liar = function() liar, grumpy = function() structure(list(1), class = "grumpy"),
    grumpy_text = function() structure("x", class = "grumpy"), condition = function() simpleCondition("secret_source"),
    error = function() simpleError("secret_source"), namespace = function() asNamespace("stats"), globalenv = function() globalenv(),
    bad_response = function() structure(list(status = "x", body = new.env(), headers = 3), class = "dr_response"),
    empty_response = function() structure(list(), class = "dr_response"),
    fake_response = function() structure("text", class = "dr_response"),
    closure_response = function() structure(list(status = 200L, body = closure, headers = list()), class = "dr_response"),
    list_headers = function() structure(list(status = 200L, body = "x", headers = list("X-A" = list(closure))), class = "dr_response")
  )
  dr_get(app, "/names", function(req) names(values))
  dr_get(app, "/value/<name>", function(req) values[[req$params[["name"]]]]())
  dr_get(app, "/json/<name>", function(req) dr_json(values[[req$params[["name"]]]]()))
  dr_get(app, "/element/<name>", function(req) list(a = 1, value = values[[req$params[["name"]]]]()))
  dr_get(app, "/body/<name>", function(req) dr_response(values[[req$params[["name"]]]]()))
  dr_get(app, "/alive", function(req) paste("alive", Sys.getpid()))

  dr_post(app, "/echo", function(req) req$raw)
  dr_post(app, "/echo-text", function(req) if (is.raw(req$body)) "raw" else req$body)
  dr_get(app, "/resolve/<name>", function(req) {
    value <- values[[req$params[["name"]]]]
    promises::promise(function(resolve, reject) later::later(function() resolve(value()), 0.01))
  })
  dr_get(app, "/reject", function(req) promises::promise_reject("secret_source"))
  dr_get(app, "/reject-error", function(req) {
    promises::promise(function(resolve, reject) later::later(function() reject(simpleError("secret_source")), 0.01))
  })
  dr_get(app, "/reject-status", function(req) promises::then(promises::promise_resolve(1), function(x) dr_abort(409L, "taken")))
  dr_get(app, "/promise-of-promise", function(req) {
    promises::then(promises::promise_resolve(1), function(x) promises::promise_resolve(dr_text("inner", status = 201L)))
  })
  headers <- list(
    crlf = list("X-A" = "a\r\nSet-Cookie: evil=1"), lf = list("X-A" = "a\nSet-Cookie: evil=1"), cr = list("X-A" = "a\rb"),
    name_crlf = list("X-A\r\nSet-Cookie: evil=1" = "a"), name_space = list("X A" = "a"), name_colon = list("X:A" = "a"),
    name_empty = structure(list("a"), names = ""), name_utf8 = structure(list("a"), names = paste0("X-", intToUtf8(0xe9))), control = list("X-A" = "a\001b"),
    content_type = list("Content-Type" = "text/html\r\nSet-Cookie: evil=1"), na = list("X-A" = NA_character_),
    nameless = list("a"), closure = list("X-A" = closure)
  )
  dr_get(app, "/header/<name>", function(req) {
    structure(list(status = 200L, body = "x", headers = headers[[req$params[["name"]]]]), class = "dr_response")
  })
  dr_get(app, "/made-header/<name>", function(req) dr_response("x", headers = headers[[req$params[["name"]]]]))
  dr_get(app, "/redirect", function(req) dr_redirect("/a\r\nSet-Cookie: evil=1"))
  download <- tempfile()
  writeLines("content", download)
  dr_get(app, "/download", function(req) dr_file(download, download_as = "a\"\r\nSet-Cookie: evil=1"))
  framing <- list(
    short_length = list("Content-Length" = "3"), long_length = list("Content-Length" = "300"), bad_length = list("Content-Length" = "x"),
    chunked = list("Transfer-Encoding" = "chunked"), gzip = list("Transfer-Encoding" = "gzip"), upgrade = list("Upgrade" = "x", Connection = "upgrade"),
    trailer = list(Trailer = "X-A"), keep = list(Connection = "keep-alive")
  )
  dr_get(app, "/framing/<name>", function(req) dr_response("abcdef", headers = framing[[req$params[["name"]]]]))
  statuses <- list(zero = 0L, low = 99L, high = 600L, thousand = 1000L, negative = -1L, na = NA_integer_, text = "200", huge = 1e10,
    none = integer(), two = c(200L, 201L), fraction = 200.5, continue = 100L, switching = 101L, null = NULL)
  dr_get(app, "/status/<name>", function(req) {
    structure(list(status = statuses[[req$params[["name"]]]], body = "x", headers = list()), class = "dr_response")
  })
  dr_get(app, "/made-status/<name>", function(req) dr_response("x", status = statuses[[req$params[["name"]]]]))
  dr_get(app, "/bare/<status:int>", function(req) dr_response("a body", status = req$params[["status"]]))
  dr_get(app, "/huge-raw", function(req) rep(as.raw(0:249), 200000))
  dr_get(app, "/huge-text", function(req) strrep("0123456789", 5000000))
  dr_get(app, "/huge-json", function(req) list(x = rep("0123456789", 1000000)))
}, frame = teardown_env())

names <- jsonlite::fromJSON(fetch(server, "/names")$text)

# The answers that must not be 200: these values have no text and no JSON.
never <- c(
  "symbol", "closure", "environment", "promise_in_environment", "call", "special", "builtin", "dots", "expression", "bytecode",
  "external_pointer", "s4", "s4_generic", "reference_object", "missing_argument", "formula", "namespace", "globalenv"
)
always <- c("logical", "integer", "double", "complex", "character", "text", "list", "factor", "date", "time", "matrix", "array", "frame",
  "empty_frame", "compact_sequence", "lazy_text", "same_names", "latin1_text", "control_text", "empty_text", "deep_64")

expect_defined <- function(response, label) {
  expect_false(is.null(response), label = paste(label, "has no answer"))
  expect_true(response$status %in% c(200L, 204L, 500L), label = paste0(label, " -> ", response$status))
  expect_false(grepl("secret_source", response$text, useBytes = TRUE), label = paste(label, "leaks"))
  type <- response$headers["content-type"]
  if (response$status == 200L && grepl("json", type)) {
    expect_true(validUTF8(response$text) && isTRUE(as.logical(jsonlite::validate(response$text))),
      label = paste(label, "is valid JSON:", printable(head(response$body, 100))))
  }
  if (response$status == 200L && grepl("^text/", type)) {
    expect_true(validUTF8(response$text), label = paste(label, "is valid UTF-8"))
  }
}

for (way in c("value", "json", "element", "body")) local({
  way <- way
  test_that(paste("every type of value has a defined answer as", way), {
    statuses <- vapply(names, function(name) {
      response <- fetch(server, paste0("/", way, "/", name))
      expect_defined(response, paste(way, name))
      response$status
    }, 0L)
    expect_identical(names(statuses)[names(statuses) %in% never & statuses != 500L], character())
    if (way != "body") expect_identical(names(statuses)[names(statuses) %in% always & statuses != 200L], character())
    expect_identical(fetch(server, "/alive")$text, paste("alive", server$pid))
  })
})

test_that("text in another encoding is sent as UTF-8, invalid text never as it is", {
  expect_identical(fetch(server, "/value/latin1_text")$body, as.raw(c(0xc3, 0xa9)))
  expect_identical(jsonlite::fromJSON(fetch(server, "/json/latin1_text")$text), "\u00e9")
  for (name in c("bytes_text", "invalid_text", "invalid_utf8", "bad_name")) for (way in c("/value/", "/json/", "/element/")) {
    response <- fetch(server, paste0(way, name))
    expect_true(response$status == 500L || validUTF8(response$text), label = paste(way, name))
  }
  expect_identical(jsonlite::fromJSON(fetch(server, "/json/control_text")$text), paste0("a\001\033\177\"\\/", intToUtf8(0x2028)))
})

test_that("bodies with NUL bytes arrive whole in both directions", {
  bytes <- rep(as.raw(c(0, 1, 255, 0, 13, 10)), 1000)
  expect_identical(fetch(server, "/echo", "POST", body = bytes)$body, bytes)
  expect_identical(fetch(server, "/echo", "POST", body = as.raw(0))$body, as.raw(0))
  expect_identical(fetch(server, "/echo-text", "POST", body = bytes)$text, "raw")
  expect_identical(fetch(server, "/echo-text", "POST", body = "plain")$text, "plain")
  expect_identical(fetch(server, "/value/raw")$body, as.raw(0:255))
})

test_that("promises answer with what they resolve to, or like an error", {
  skip_if_not_installed("promises")
  expect_identical(fetch(server, "/resolve/text")$text, "text")
  expect_identical(fetch(server, "/resolve/null")$status, 204L)
  expect_identical(fetch(server, "/resolve/raw")$body, as.raw(0:255))
  expect_identical(fetch(server, "/promise-of-promise")[c("status", "text")], list(status = 201L, text = "inner"))
  for (name in c("closure", "symbol", "s4", "environment", "bad_response")) {
    expect_identical(fetch(server, paste0("/resolve/", name))$status, 500L, label = name)
  }
  for (path in c("/reject", "/reject-error")) {
    response <- fetch(server, path)
    expect_identical(response$status, 500L)
    expect_false(grepl("secret_source", response$text))
  }
  expect_true(within(function() any(grepl("GET /reject-error 500 .*secret_source", server$log()))))
  expect_identical(fetch(server, "/reject-status")$status, 409L)
  expect_match(fetch(server, "/reject-status")$text, "taken")
})

test_that("a header cannot split a response", {
  for (way in c("/header/", "/made-header/")) {
    for (name in c("crlf", "lf", "cr", "name_crlf", "name_space", "name_colon", "name_empty", "name_utf8", "control", "content_type", "closure")) {
      response <- fetch(server, paste0(way, name))
      expect_identical(response$status, 500L, label = paste0(way, name))
      expect_false("set-cookie" %in% names(response$headers))
    }
    for (name in c("na", "nameless")) expect_true(fetch(server, paste0(way, name))$status %in% c(200L, 500L))
  }
  redirected <- fetch(server, "/redirect")
  expect_true(redirected$status %in% c(302L, 500L))
  expect_false("set-cookie" %in% names(redirected$headers))
  downloaded <- fetch(server, "/download")
  expect_true(downloaded$status %in% c(200L, 500L))
  expect_false("set-cookie" %in% names(downloaded$headers))
})

test_that("a header of a handler cannot break the framing of the connection", {
  for (name in c("short_length", "long_length", "bad_length", "chunked", "gzip", "upgrade", "trailer", "keep")) {
    client <- raw_client(server$port)
    client_send(client, c(request_bytes(paste0("/framing/", name)), request_bytes("/alive")))
    first <- client_response(client, 3)
    expect_true(first$status %in% c(200L, 500L), label = name)
    if (first$status == 200L) expect_identical(first$text, "abcdef", label = name)
    second <- client_response(client, 3)
    if (!is.null(second)) expect_identical(second$text, paste("alive", server$pid), label = name)
    else expect_true(client$closed && !length(client$buffer), label = paste(name, "closes cleanly"))
  }
})

test_that("a status that is none gives a 500", {
  for (name in c("zero", "low", "high", "thousand", "negative", "na", "text", "huge", "none", "two", "fraction", "continue", "switching", "null")) {
    expect_identical(fetch(server, paste0("/status/", name))$status, 500L, label = name)
    expect_identical(fetch(server, paste0("/made-status/", name))$status, 500L, label = name)
  }
})

test_that("204, 304 and HEAD have no body and keep the connection in step", {
  client <- raw_client(server$port)
  client_send(client, c(
    request_bytes("/bare/204"), request_bytes("/bare/304"), request_bytes("/bare/200", "HEAD"), request_bytes("/value/null"),
    request_bytes("/none", "HEAD"), request_bytes("/value/s4", "HEAD"), request_bytes("/alive")
  ))
  no_content <- client_response(client)
  expect_identical(no_content$status, 204L)
  expect_false("content-length" %in% names(no_content$headers))
  expect_false("transfer-encoding" %in% names(no_content$headers))
  expect_identical(client_response(client)$status, 304L)
  head <- client_response(client, head = TRUE)
  expect_identical(head$status, 200L)
  expect_identical(head$headers[["content-length"]], "6")
  expect_identical(client_response(client)$status, 204L)
  expect_identical(client_response(client, head = TRUE)$status, 404L)
  expect_identical(client_response(client, head = TRUE)$status, 500L)
  expect_identical(client_response(client)$text, paste("alive", server$pid))
})

test_that("answers of 50 MB arrive whole", {
  for (target in c("/huge-raw", "/huge-text")) {
    response <- http(server, target)
    expect_identical(length(response$raw), 50000000L, label = target)
    pattern <- if (target == "/huge-raw") as.raw(0:249) else charToRaw("0123456789")
    expect_true(all(response$raw == pattern), label = paste(target, "is intact"))
  }
  expect_identical(length(http(server, "/huge-json")$raw), 6L + 13L * 1000000L + 1L)
  expect_identical(fetch(server, "/alive")$text, paste("alive", server$pid))
})
