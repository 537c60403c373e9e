# Compression in every way of starting a server: what handlers in R answer is compressed in their process, whole or
# piece by piece, and what clients have compressed is unpacked before a handler sees it. Which responses, by which
# fields, the tests of the engine have (src/rust/crates/engine/tests/compression.rs).

compressed_app <- function() {
  write_app(c(
    "api <- dr_app()",
    "dr_get(api, '/data', function(req) list(x = rep('some text', 2000)))",
    "dr_get(api, '/later', function(req) promises::promise(function(resolve, reject) {",
    "  later::later(function() resolve(list(x = rep('some text', 2000))), 0.05)",
    "}))",
    # longer than what goes through shared memory, even when compressed
    "set.seed(1)",
    "noise <- rawToChar(as.raw(sample(33:126, 6e6, TRUE)))",
    "dr_get(api, '/long', function(req) noise)",
    "dr_get(api, '/cookie', function(req) dr_set_cookie(dr_text(strrep('x', 5000)), 'a', '1'))",
    "dr_get(api, '/short', function(req) 'short')",
    "dr_get(api, '/own', function(req) dr_json(list(x = 1:5000), headers = list(ETag = '\"1\"', Vary = 'Accept')))",
    "dr_get(api, '/events', function(req) dr_stream_sse(function(state, cancelled) {",
    "  n <- if (is.null(state)) 1 else state + 1",
    "  list(data = paste('event', n), state = n, done = n == 3)",
    "}, min_interval = 0.1))",
    "dr_get(api, '/waits', function(req) dr_stream(function(state, cancelled) {",
    "  if (is.null(state)) return(list(chunk = 'first', state = 1))",
    "  if (is_open('go')) list(chunk = ' last', state = 1, done = TRUE)",
    "  else list(chunk = NULL, state = 1)",
    "}))",
    "dr_post(api, '/rows', function(req) {",
    "  list(rows = length(req$json), length = req$headers[['content-length']],",
    "    encoding = is.null(req$headers[['content-encoding']]))",
    "})",
    "dr_post(api, '/upload', function(req) {",
    "  list(field = req$form$field, size = req$files[[1]]$size)",
    "})",
    "dr_compress(api)",
    "dr_decompress(api, c('gzip', 'zstd'))",
    "app <- dr_app()",
    "dr_get(app, '/data', function(req) list(x = rep('some text', 2000)))",
    "dr_mount(app, '/api', api)"
  ))
}

accepts <- function(encodings) c("-H", paste("Accept-Encoding:", encodings))

# Sends a request whose answer has bytes that are no text: a function that waits for it, as ask_later() does, with the
# body in `raw`; `so_far()` is how much of it has come.
ask_raw_later <- function(server, path, ...) {
  files <- c(head = tempfile(), body = tempfile())
  client <- start_client("curl", c("-s", "-N", "--max-time", "120", "-D", files[["head"]], "-o", files[["body"]], ...,
    paste0(server$url, path)))
  list(
    client = client,
    so_far = function() sum(file.size(files[["body"]]), na.rm = TRUE),
    end = function() {
      client$wait(125000)
      head <- readLines(files[["head"]], warn = FALSE)
      # there is no file of a body without a byte
      body <- if (file.exists(files[["body"]])) readBin(files[["body"]], "raw", 2e7) else raw()
      list(head = head, status = strsplit(head[1L], " ")[[1L]][2L], raw = body)
    }
  )
}

ask_raw <- function(...) ask_raw_later(...)$end()

gunzip <- function(raw) rawToChar(memDecompress(raw, "gzip"))

gzip_file <- function(text) {
  file <- tempfile()
  con <- gzfile(file, "wb")
  cat(text, file = con)
  close(con)
  file
}

test_every_worker("what R answers is compressed where its client takes that", function(start) {
  server <- start(compressed_app(), compress = FALSE)
  cases <- expand.grid(path = paste0("/api/", c("data", "later", "own", "long")), stringsAsFactors = FALSE,
    version = c("--http1.1", "--http2-prior-knowledge"))
  for (i in seq_len(nrow(cases))) {
    path <- cases$path[[i]]
    ask_raw <- function(...) ask_raw_later(..., cases$version[[i]])$end()
    plain <- ask_raw(server, path)
    expect(is.na(field(plain, "content-encoding")), path, " is compressed for nobody")
    expect(grepl("accept-encoding", field(plain, "vary")), path, " varies by ", field(plain, "vary"))
    gzip <- ask_raw(server, path, accepts("gzip"))
    expect(identical(field(gzip, "content-encoding"), "gzip"), path, " has coding ", field(gzip, "content-encoding"))
    expect(identical(field(gzip, "content-length"), as.character(length(gzip$raw))), path, ": another length")
    expect(length(gzip$raw) < length(plain$raw), path, " is longer")
    expect(identical(gunzip(gzip$raw), rawToChar(plain$raw)), path, " says something else")
    zstd <- ask_raw(server, path, accepts("gzip, deflate, br, zstd"))
    expect(identical(field(zstd, "content-encoding"), "zstd"), path, " has coding ", field(zstd, "content-encoding"))
    magic <- as.raw(c(0x28, 0xb5, 0x2f, 0xfd))
    expect(identical(zstd$raw[1:4], magic) && length(zstd$raw) < length(plain$raw), path, " is no zstd")
  }
  own <- ask_raw(server, "/api/own", accepts("gzip"))
  expect(identical(field(own, "etag"), "W/\"1\""), "ETag ", field(own, "etag"))
  expect(identical(field(own, "vary"), "Accept, accept-encoding"), "Vary ", field(own, "vary"))
  expect(identical(field(ask(server, "/api/own"), "etag"), "\"1\""), "what is not compressed has a weak tag")
  for (case in list(
    list("/api/short", "short"), list("/api/cookie", "sets a cookie"), list("/data", "is not below the mount"),
    list("/api/data", "has a cookie", "-H", "Cookie: a=1"),
    list("/api/data", "says who it is", "-H", "Authorization: Basic eDp5"),
    list("/api/nothing", "is an error")
  )) {
    answer <- do.call(ask_raw, c(list(server, case[[1L]], accepts("gzip")), case[-(1:2)]))
    expect(is.na(field(answer, "content-encoding")), "what ", case[[2L]], " is compressed")
  }
})

test_every_worker("events of compressed streams are with their clients at once", function(start) {
  server <- start(compressed_app())
  events <- ask_raw(server, "/api/events", accepts("zstd, gzip"))
  expect(identical(field(events, "content-encoding"), "gzip"), "coding ", field(events, "content-encoding"))
  expect(identical(gunzip(events$raw), "data: event 1\n\ndata: event 2\n\ndata: event 3\n\n"), gunzip(events$raw))
  answer <- ask_raw_later(server, "/api/waits", accepts("gzip"))
  # ten bytes of head; the first piece is there before there is a second
  expect(within(function() answer$so_far() > 14), "the first piece does not come")
  open_gate(server, "go")
  expect(identical(gunzip(answer$end()$raw), "first last"), "another body")
})

test_every_worker("handlers see what clients have compressed as it was", function(start) {
  server <- start(compressed_app(), max_body = 2e6, spool_above = 1e5)
  post <- function(path, file, ..., encoding = "gzip") {
    ask(server, path, "--data-binary", paste0("@", file), "-H", paste("Content-Encoding:", encoding), ...)
  }
  json <- "Content-Type: application/json"
  # in memory, and in a file
  for (rows in c(10, 50000)) for (version in c("--http1.1", "--http2-prior-knowledge")) {
    text <- paste0("[", toString(seq_len(rows)), "]")
    answer <- post("/api/rows", gzip_file(text), "-H", json, version)
    expected <- sprintf("{\"rows\":%.0f,\"length\":\"%d\",\"encoding\":true}", rows, nchar(text))
    expect(identical(answer$body, expected), answer$status, " ", answer$body)
    chunked <- post("/api/rows", gzip_file(text), "-H", json, "-H", "Transfer-Encoding: chunked")
    expect(grepl(sprintf("{\"rows\":%.0f,", rows), chunked$body, fixed = TRUE), "in chunks: ", chunked$body)
  }
  part <- function(head, text) sprintf("--b\r\nContent-Disposition: form-data; %s\r\n\r\n%s\r\n", head, text)
  parts <- paste0(part("name=\"field\"", "value"), part("name=\"f\"; filename=\"a\"", strrep("y", 3e5)), "--b--\r\n")
  answer <- post("/api/upload", gzip_file(parts), "-H", "Content-Type: multipart/form-data; boundary=b")
  expect(identical(answer$body, "{\"field\":\"value\",\"size\":300000}"), answer$status, " ", answer$body)
  bomb <- gzip_file(strrep("0", 1.9e6))
  expect(post("/api/rows", bomb)$status == "413", "a bomb is unpacked")
  expect(post("/api/rows", gzip_file(strrep("0123456789abcdef", 2e5)))$status == "413", "`max_body` does not hold")
  broken <- tempfile()
  writeLines("no gzip", broken)
  expect(post("/api/rows", broken)$status == "400", "what is broken is taken")
  refused <- post("/api/rows", bomb, encoding = "br")
  expect(refused$status == "415" && identical(field(refused, "accept-encoding"), "gzip, zstd"), "415: ",
    refused$status, " ", field(refused, "accept-encoding"))
})

test("what is kept compressed is given to clients that take it so, and is one call of the handler", function() {
  app <- write_app(c(
    "app <- dr_app()",
    "calls <- 0",
    "dr_get(app, '/data', function(req) { calls <<- calls + 1; dr_text(paste(calls, strrep('x', 5000))) })",
    "dr_cache(app, '1h', etag = TRUE)",
    "dr_compress(app)"
  ))
  server <- serve(app, workers = "1-1")
  seen <- function(...) {
    answer <- ask_raw(server, "/data", ...)
    coding <- field(answer, "content-encoding")
    text <- if (identical(coding, "gzip")) gunzip(answer$raw) else rawToChar(answer$raw)
    list(coding = coding, call = substr(text, 1L, 1L), etag = field(answer, "etag"), head = answer)
  }
  for (round in 1:2) {
    gzip <- seen(accepts("gzip"))
    plain <- seen()
    expect(identical(gzip[c("coding", "call")], list(coding = "gzip", call = "1")), "gzip: ", toString(gzip[1:2]))
    expect(identical(plain[c("coding", "call")], list(coding = NA_character_, call = "1")), "plain: ",
      toString(plain[1:2]))
    expect(identical(gzip$etag, paste0("W/", plain$etag)), "tags ", gzip$etag, " and ", plain$etag)
    expect(grepl("accept-encoding", field(gzip$head, "vary")), "Vary ", field(gzip$head, "vary"))
  }
  for (tag in c(gzip$etag, plain$etag)) {
    known <- ask_raw(server, "/data", accepts("gzip"), "-H", paste("If-None-Match:", tag))
    expect(identical(known$status, "304"), "what is known has status ", known$status)
  }
})

test_every_worker("what is kept is compressed once for each encoding", function(start) {
  text <- paste(seq_len(40000), collapse = " ")
  server <- start(write_app(c(
    "text <- paste(seq_len(40000), collapse = ' ')",
    "app <- dr_app()",
    "dr_get(app, '/<name>', function(req) {",
    "  file.create(tempfile(paste0(req$params$name, '-'), Sys.getenv('MARKS')))",
    "  if (!is.null(req$query$gate)) stand_at(req$query$gate)",
    "  switch(req$params$name, shown = dr_text(text, headers = list(`Cache-Control` = 'no-store')),",
    "    kept = dr_json(list(text = text)), own = dr_text(text, headers = list(`Cache-Control` = 'no-transform')), text)",
    "})",
    "dr_cache(app, '1h', etag = TRUE)",
    "dr_compress(app)"
  )), metrics = TRUE)
  calls <- function(name) length(list.files(server$marks, paste0("^", name, "-")))
  takes <- function(encodings) c("--compressed", "-H", paste("Accept-Encoding:", encodings))
  # all of them, whichever comes first, of one call
  encodings <- c("gzip", "zstd", "br", "identity", "gzip, br, zstd", "zstd;q=0.5, gzip;q=0.4")
  all <- lapply(encodings, function(each) ask_later(server, "/all?gate=one", takes(each)))
  expect_figure(server, length(encodings) + 1L, "drover_requests_open")
  open_gate(server, "one")
  got <- lapply(all, function(answer) answer())
  expect(all(vapply(got, function(one) identical(one$body, text), NA)), "another body")
  codings <- vapply(got, field, "", "content-encoding")
  expect(identical(unname(codings[c(1L, 2L, 4L, 6L)]), c("gzip", "zstd", NA, "zstd")), "codings ", toString(codings))
  expect(codings[[5L]] %in% c("zstd", "br"), "brotli is waited for: ", codings[[5L]])
  expect(all(vapply(got, function(one) grepl("accept-encoding", field(one, "vary")), NA)), "Vary is missing")
  for (each in encodings) {
    again <- ask(server, "/all?gate=one", takes(each))
    expect(identical(again$body, text), each, " is another body")
    expect(grepl("hit", field(again, "cache-status")), each, " is told as ", field(again, "cache-status"))
  }
  expect(calls("all") == 1L, calls("all"), " calls")
  # brotli comes when it is done, also for clients that take nothing else, and is smaller
  for (each in c("br", "gzip, br, zstd")) {
    coding <- function() field(ask(server, "/all?gate=one", takes(each)), "content-encoding")
    expect(within(function() identical(coding(), "br")), each, " is never answered with brotli")
  }
  size <- function(each) length(ask_raw(server, "/all?gate=one", accepts(each))$raw)
  sizes <- vapply(c("br", "gzip", "identity"), size, 0L)
  expect(!is.unsorted(sizes, strictly = TRUE), "sizes ", toString(sizes))
  head <- ask(server, "/all?gate=one", "-I", accepts("gzip"))
  expect(identical(field(head, "content-length"), as.character(sizes[["gzip"]])), "HEAD says ",
    field(head, "content-length"), " and GET ", sizes[["gzip"]])
  expect(calls("all") == 1L, calls("all"), " calls in the end")
  # what is not kept is compressed for each, and what must not be is not
  for (i in 1:2) {
    shown <- ask(server, "/shown", takes("gzip"))
    expect(identical(shown$body, text) && identical(field(shown, "content-encoding"), "gzip"), "not kept: ",
      field(shown, "content-encoding"))
    own <- ask(server, "/own", takes("gzip"))
    expect(identical(own$body, text) && is.na(field(own, "content-encoding")), "`no-transform` does not hold")
  }
  expect(calls("shown") == 2L && calls("own") == 1L, calls("shown"), " and ", calls("own"), " calls")
  # credentials: neither from the cache nor compressed
  known <- ask(server, "/all?gate=one", takes("gzip"), "-H", "Cookie: a=1")
  expect(identical(known$body, text) && is.na(field(known, "content-encoding")), "a client with a cookie gets ",
    field(known, "content-encoding"))
})

test("a server compresses unless it is told not to, and unpacks when it is told to, whatever its app is", function() {
  app <- write_app(c(
    "list(call = function(req) {",
    "  body <- paste(rawToChar(req$rook.input$read()), strrep('x', 5000))",
    "  list(status = 200L, headers = list('Content-Type' = 'text/plain'), body = body)",
    "})"
  ))
  server <- serve(app, workers = 1L, decompress = TRUE)
  answer <- ask_raw(server, "/", accepts("gzip"), "--data-binary", paste0("@", gzip_file("sent")), "-H",
    "Content-Encoding: gzip")
  expect(identical(field(answer, "content-encoding"), "gzip"), "coding ", field(answer, "content-encoding"))
  expect(identical(gunzip(answer$raw), paste("sent", strrep("x", 5000))), "another body")
  plain <- ask_raw(serve(app, workers = 1L, compress = FALSE), "/", accepts("gzip"))
  expect(is.na(field(plain, "content-encoding")) && is.na(field(plain, "vary")), "it compresses all the same")
})

test("a thousand compressed streams need little more memory than others", function() {
  app <- write_app(c(
    "opened <- 0",
    "app <- dr_app()",
    "dr_get(app, '/opened', function(req) opened)",
    "dr_get(app, '/s', function(req) {",
    "  opened <<- opened + 1",
    "  dr_stream(function(state, cancelled) {",
    "    list(chunk = paste(c('some text that is about a kilobyte long', sample(1000, 250)), collapse = ' '), state = 1)",
    "  }, min_interval = 5)",
    "})",
    "dr_compress(app)"
  ))
  grown <- function(encoding) {
    server <- serve(app, workers = "1-1", max_connections = 3000)
    one <- ask_raw_later(server, "/s", accepts(encoding))
    expect(within(function() one$so_far() > 0), "no piece comes")
    one$client$kill()
    expect(identical(field(one$end(), "content-encoding"), if (encoding == "gzip") "gzip" else NA_character_),
      "coding with ", encoding)
    memory <- function() sum(census(server)$pss)
    before <- memory()
    for (i in 1:4) {
      start_client("curl", c("-s", "--parallel", "--parallel-immediate", "--parallel-max", "250", "--max-time", "300",
        accepts(encoding), "-o", "/dev/null", paste0(server$url, "/s?n=[1-250]")))
    }
    # the first one was another client's
    expect(within(function() ask(server, "/opened")$body == "1001", 60), ask(server, "/opened")$body, " are open")
    memory() - before
  }
  # a fork writes to some pages of R's heap in one run and not in the next, more than a stream ever needs: the least of
  # what is measured, and a compressor for each would be 256 MB every time
  needed <- Inf
  for (round in 1:3) if (needed >= 15e6) needed <- min(needed, grown("gzip") - grown("identity"))
  expect(needed < 15e6, "they need ", needed, " bytes more")
})

test("drover compress writes compressed files beside others, and says which", function() {
  folder <- tempfile("www-")
  dir.create(folder)
  writeLines(rep("body { color: black }", 500), file.path(folder, "style.css"))
  run <- function(dir) run_to_end(c(drover_program(), "compress", dir))
  ended <- run(folder)
  expect(identical(ended$status, 0L), "its exit status is ", ended$status)
  for (encoding in c("br", "zstd", "gzip")) {
    expect(any(grepl(paste0("^style.css: ", encoding, " [0-9]+ -> [0-9]+ bytes$"), ended$log)), "it does not say ",
      encoding)
  }
  expect(setequal(list.files(folder), paste0("style.css", c("", ".br", ".zst", ".gz"))), toString(list.files(folder)))
  wrong <- run(file.path(folder, "nowhere"))
  expect(identical(wrong$status, 1L), "its exit status is ", wrong$status)
  expect(any(grepl("`dir` must be the path of a folder that exists", wrong$log)), toString(wrong$log))
})

test_every_worker("what a key guards is compressed only where the app says so", function(start) {
  server <- start(write_app(c(
    "app <- dr_app()",
    "for (path in c('/open', '/key/data', '/key/told')) dr_get(app, path, function(req) strrep('text ', 2000))",
    "dr_compress(app)",
    "dr_compress(app, credentials = TRUE, routes = '/key/told')",
    "dr_auth_key(app, c(partner = 'key-of-the-partner-0123'), routes = '/key')"
  )))
  coding <- function(path) {
    answer <- ask(server, path, "-H", "Accept-Encoding: gzip", "-H", "X-Api-Key: key-of-the-partner-0123")
    expect(answer$status == "200", path, " has status ", answer$status)
    field(answer, "content-encoding")
  }
  expect(identical(coding("/open"), "gzip"), "what is open is not compressed")
  expect(is.na(coding("/key/data")), "what a key guards is compressed")
  expect(identical(coding("/key/told"), "gzip"), "what the app says is not compressed")
})
