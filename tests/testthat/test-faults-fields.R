# What both versions of HTTP make of header fields and statuses that a handler should not set, and of requests that they
# both refuse. HTTP/1.1 alone, byte by byte, is in tests/conformance.

of_the_server <- c(
  "Connection", "Content-Length", "HTTP2-Settings", "Keep-Alive", "Proxy-Connection", "TE", "Trailer",
  "Transfer-Encoding", "Upgrade"
)

server <- local_server({
  app <- dr_app()
  dr_get(app, "/ok", function(req) "ok")
  for (name in strsplit(Sys.getenv("OF_THE_SERVER"), " ")[[1]]) {
    local({
      fields <- stats::setNames(list("5", "kept"), c(name, "X-Kept"))
      dr_get(app, paste0("/set/", name), function(req) dr_text("body", headers = fields))
      dr_get(app, paste0("/abort/", name), function(req) dr_abort(418, "no", headers = fields))
    })
  }
  dr_get(app, "/fields/<n:int>", function(req) {
    n <- req$params[["n"]]
    dr_text("many", headers = stats::setNames(as.list(rep("1", n)), paste0("X-", seq_len(n))))
  })
  dr_get(app, "/cookies/<n:int>", function(req) {
    dr_text("many", headers = list("Set-Cookie" = rep("a=1", req$params[["n"]])))
  })
  dr_get(app, "/fields-of-file/<n:int>", function(req) {
    n <- req$params[["n"]]
    dr_file(system.file("DESCRIPTION", package = "drover"),
      headers = stats::setNames(as.list(rep("1", n)), paste0("X-", seq_len(n))))
  })
  dr_get(app, "/status/<n:int>", function(req) dr_text("content", req$params[["n"]]))
  dr_get(app, "/file-205", function(req) {
    file <- dr_file(system.file("DESCRIPTION", package = "drover"))
    file$status <- 205L
    file
  })
}, env = c(OF_THE_SERVER = paste(of_the_server, collapse = " ")), frame = teardown_env())

versions <- list("HTTP/1.1" = "--http1.1", "HTTP/2" = "--http2-prior-knowledge")

for (version in names(versions)) local({
  ask <- function(target, ...) http(server, target, versions[[version]], ...)

  test_that(paste("fields about the connection and the framing are the server's, over", version), {
    for (name in of_the_server) {
      for (way in c("set", "abort")) {
        answer <- ask(paste0("/", way, "/", name))
        expect_identical(answer$status, if (way == "set") 200L else 418L, info = name)
        expect_identical(answer$headers[["x-kept"]], "kept", info = name)
        if (name == "Content-Length") {
          expect_identical(answer$headers[["content-length"]], as.character(length(answer$raw)))
        } else {
          expect_false(tolower(name) %in% names(answer$headers), info = name)
        }
      }
    }
  })

  # fewer than curl reads
  test_that(paste("a response may have many fields, and not too many, over", version), {
    many <- ask("/cookies/200")
    expect_identical(sum(names(many$headers) == "set-cookie"), 200L)
    for (path in c("/fields/20000", "/fields/40000", "/cookies/40000", "/fields-of-file/40000")) {
      answer <- ask(path)
      expect_identical(answer$status, 500L, info = path)
      expect_false(grepl("many", answer$body), info = path)
      wrong <- paste0("GET ", path, " 500 the handler set more than 16384 headers")
      expect_true(within(function() any(grepl(wrong, server$log(), fixed = TRUE))), info = path)
    }
    expect_false(any(grepl("panicked", server$log())))
  })

  test_that(paste("statuses without content have none, over", version), {
    for (path in c("/status/204", "/status/205", "/status/304", "/file-205")) {
      answer <- ask(path)
      expect_length(answer$raw, 0)
      expect_identical(answer$status, as.integer(sub("\\D*", "", path)))
      if (answer$status == 205L && version == "HTTP/1.1") expect_identical(answer$headers[["content-length"]], "0")
    }
    expect_identical(ask("/status/206")$body, "content")
  })

  test_that(paste("unknown expectations, TRACE and backslashes are refused, over", version), {
    expect_identical(ask("/ok", "-H", "Expect: something")$status, 417L)
    expect_identical(ask("/ok", "-H", "Expect: 100-continue")$status, 200L)
    trace <- ask("/ok", "-X", "TRACE")
    expect_identical(trace$status, 405L)
    expect_identical(trace$headers[["allow"]], "GET, HEAD, OPTIONS")
    expect_identical(ask("/ok?a=\\b")$status, 400L)
    expect_identical(ask("/ok?a=%5Cb")$status, 200L)
  })
})
