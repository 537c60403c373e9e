# A request is refused while its client still sends the body: it gets the answer, and no broken pipe. When such a client
# is cut off is tested where the clock can be told: httpd's timeouts/tests.rs.

# Far more than sockets hold, so that who sends all of it before reading has to be read to the end.
long_body <- 100e6

uploads_app <- function() {
  write_app(c(
    "app <- dr_app()",
    "dr_get(app, '/get', function(req) 'got')",
    "dr_post(app, '/body', function(req) 'all of it')",
    "dr_post(app, '/typed', function(body) 'typed', body = dr_schema(x = dr_int()))",
    "dr_ws(app, '/ws', on_message = function(conn, msg) NULL)",
    "dr_ws(app, '/long', on_message = function(conn, msg) dr_ws_close(conn, 4000L), max_message = '60MB')",
    "part <- function(prefix, change) {",
    "  part <- dr_app()",
    "  dr_post(part, '/', function(req) 'ok')",
    "  change(part)",
    "  dr_mount(app, prefix, part)",
    "}",
    "part('/locked', function(part) dr_auth_key(part, c(one = strrep('k', 32))))",
    "part('/limited', function(part) dr_rate_limit(part, 1, 3600, scope = 'global'))",
    "app"
  ))
}

# The status that a client in Python has got, or what it has got instead: the last line of its error.
upload <- function(server, path, how, ca = NULL, size = long_body) {
  ran <- processx::run("python3", c(
    file.path(here, "upload.py"), paste0(server$url, path), format(size, scientific = FALSE), how, ca
    # R has its own libraries first, and Python is to have those that it was built with
  ), env = c("current", LD_LIBRARY_PATH = ""), error_on_status = FALSE, timeout = patience(60))
  lines <- strsplit(trimws(paste0(ran$stdout, ran$stderr)), "\n", fixed = TRUE)[[1]]
  lines[length(lines)]
}

# A file of that length, which takes no room.
long_file <- function() {
  folder <- made_once("long-body", function(folder) {
    connection <- file(file.path(folder, "body"), "wb")
    on.exit(close(connection))
    seek(connection, long_body - 1)
    writeBin(raw(1L), connection)
  })
  file.path(folder, "body")
}

expect_status <- function(got, status, ...) expect(identical(got, status), ..., ": ", got, ", not ", status)

test("a body that is far too large: its client gets 413", function() {
  server <- serve(uploads_app(), workers = 1, max_body = 1e6)
  for (how in c("length", "chunks")) expect_status(upload(server, "/body", how), "413", "Python, ", how)
  file <- long_file()
  by_curl <- function(...) ask(server, "/body", "-X", "POST", "-T", file, "-H", "Expect:", ...)$status
  expect_status(by_curl(), "413", "curl")
  expect_status(by_curl("-H", "Transfer-Encoding: chunked"), "413", "curl, chunks")
  expect_status(by_curl("--http2-prior-knowledge"), "413", "curl, HTTP/2")
  expect_status(by_curl("--http1.0"), "413", "curl, HTTP/1.0")
  if (requireNamespace("curl", quietly = TRUE)) {
    connection <- base::file(file, "rb")
    on.exit(close(connection))
    handle <- curl::new_handle(
      post = TRUE, postfieldsize_large = long_body, readfunction = function(n) readBin(connection, raw(), n)
    )
    curl::handle_setheaders(handle, Expect = "")
    answer <- curl::curl_fetch_memory(paste0(server$url, "/body"), handle)
    expect_status(format(answer$status_code), "413", "R's curl")
  }
  expect(ask(server, "/get")$body == "got", "it does not go on")
})

# In R, TLS is a setting of another kind, and the server the same.
test("a body that is far too large, over TLS: its client gets 413", function() {
  server <- serve(uploads_app(), workers = 1, max_body = 1e6, tls_cert = pem("server.pem"), tls_key = pem("server.key"))
  ca <- pem("ca.pem")
  for (how in c("length", "chunks")) expect_status(upload(server, "/body", how, ca), "413", "Python, ", how)
  for (version in c("--http1.1", "--http2")) {
    got <- ask(server, "/body", "-X", "POST", "-T", long_file(), "-H", "Expect:", "--cacert", ca, version)$status
    expect_status(got, "413", "curl, ", version)
  }
}, ways = 1L)

test("what is refused before its body is here: its client gets the answer", function() {
  server <- serve(uploads_app(), workers = 1, max_body = 200e6)
  ask(server, "/limited/", "-X", "POST")
  refusals <- c("/nowhere" = "404", "/get" = "405", "/locked/" = "401", "/typed" = "415", "/limited/" = "429")
  for (path in names(refusals)) for (how in c("length", "chunks")) {
    expect_status(upload(server, path, how), refusals[[path]], path, ", ", how)
  }
})

test("a message that is far too large: its client gets the close that says so", function() {
  server <- serve(uploads_app(), workers = 1)
  expect_status(upload(server, "/ws", "message"), "1009", "Python")
})

test("a message of 50 MB counts once, and is taken", function() {
  server <- serve(uploads_app(), workers = 1)
  expect_status(upload(server, "/long", "message", size = 50e6), "4000", "Python")
})
