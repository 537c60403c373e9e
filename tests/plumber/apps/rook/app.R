# An app of httpuv with every form of answer, and what it is told. Requests: ../../requests-rook.R.

answers <- list(
  "/text" = function(req) list(status = 200L, headers = list("Content-Type" = "text/plain"), body = "hello"),
  "/raw" = function(req) list(status = 201L, headers = list("Content-Type" = "a/b"), body = as.raw(0:255)),
  "/utf8" = function(req) list(status = 200L, headers = list("Content-Type" = "text/plain"), body = "h\u00e9llo"),
  "/latin1" = function(req) {
    list(status = 200L, headers = list("Content-Type" = "text/plain; charset=latin1"), body = iconv("h\u00e9", "UTF-8", "latin1"))
  },
  "/double" = function(req) list(status = 200, headers = list("X-Number" = 1e6, "X-Flag" = TRUE, "X-Tenth" = 0.1), body = "x"),
  "/repeated" = function(req) list(status = 200L, headers = list("Set-Cookie" = "a=1", "Set-Cookie" = "b=2"), body = "x"),
  "/vector-headers" = function(req) list(status = 200L, headers = c("X-A" = "1", "X-B" = "2"), body = "x"),
  "/dates" = function(req) list(status = 200L, headers = list("X-D" = as.Date("2020-01-01"), "X-F" = factor("q")), body = "x"),
  "/no-headers" = function(req) list(status = 200L, body = "x"),
  "/empty" = function(req) list(status = 200L, headers = list("Content-Type" = "text/plain"), body = ""),
  "/no-body" = function(req) list(status = 200L, headers = list("Content-Type" = "text/plain"), body = NULL),
  "/na" = function(req) list(status = 200L, headers = list("X-Na" = NA), body = NA_character_),
  "/file" = function(req) list(status = 200L, headers = list("Content-Type" = "text/x-file"), body = c(file = "files/page.html")),
  "/file-list" = function(req) {
    list(status = 203L, headers = list("Content-Type" = "text/x-file"), body = list(file = "files/page.html", owned = FALSE))
  },
  "/owned" = function(req) {
    file <- tempfile()
    writeLines("mine", file)
    list(status = 200L, headers = list("Content-Type" = "text/plain"), body = list(file = file, owned = TRUE))
  },
  "/missing-file" = function(req) list(status = 200L, headers = list("Content-Type" = "a/b"), body = c(file = "files/none")),
  "/no-string" = function(req) list(status = 200L, headers = list("Content-Type" = "text/plain"), body = character()),
  "/stop" = function(req) stop("a secret reason"),
  "/null" = function(req) NULL,
  "/teapot" = function(req) list(status = 418L, headers = list("Content-Type" = "text/plain"), body = "teapot"),
  "/redirect" = function(req) list(status = 302L, headers = list(Location = "/text"), body = ""),
  "/promise" = function(req) promises::promise(function(resolve, reject) later::later(function() {
    resolve(list(status = 202L, headers = list("Content-Type" = "text/plain"), body = "in a while"))
  }, 0.05)),
  "/rejected" = function(req) promises::promise_reject("a secret rejection"),
  "/read" = function(req) {
    input <- req$rook.input
    first <- input$read(3L)
    rest <- input$read()
    input$rewind()
    lines <- input$read_lines()
    again <- input$read_lines()
    input$rewind()
    one <- input$read_lines(1L)
    say(list(first = first, rest = rest, lines = lines, again = again, one = one, left = input$read()))
  },
  "/large" = function(req) list(status = 200L, headers = list("Content-Type" = "a/b"), body = raw(500000)),
  "/count" = function(req) say(length(req$rook.input$read()))
)

say <- function(x) {
  list(status = 200L, headers = list("Content-Type" = "text/plain"), body = paste(deparse(x), collapse = "\n"))
}

# What every request has, but for the ports.
tell <- function(req) {
  known <- setdiff(sort(ls(req, all.names = TRUE)), c(".bodyData", "REMOTE_PORT", "SERVER_PORT", "HTTP_HOST", "HEADERS"))
  fields <- lapply(mget(known, envir = req), function(x) if (is.character(x) || inherits(x, "package_version")) format(x))
  ports <- vapply(mget(c("REMOTE_PORT", "SERVER_PORT"), envir = req), typeof, "")
  headers <- req$HEADERS[setdiff(names(req$HEADERS), "host")]
  say(list(fields, ports, headers, class(req), req$seen))
}

list(
  call = function(req) {
    answer <- answers[[req$PATH_INFO]]
    if (is.null(answer)) tell(req) else answer(req)
  },
  onHeaders = function(req) {
    req$seen <- c(req$REQUEST_METHOD, length(req$rook.input$read()))
    if (identical(req$HTTP_X_STOP, "now")) {
      list(status = 403L, headers = list("Content-Type" = "text/plain"), body = "not even its body")
    }
  },
  staticPaths = list(
    "/static" = "files", "/static/private" = httpuv::excludeStaticPath(),
    "/through" = httpuv::staticPath("files", fallthrough = TRUE, headers = list("X-Folder" = "yes"), html_charset = ""),
    "/locked" = httpuv::staticPath("files", validation = '"X-Key" == "abc"'),
    "/plain" = httpuv::staticPath("files", indexhtml = FALSE)
  )
)
