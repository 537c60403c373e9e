# TLS from a client's point of view, by curl and openssl: certificates are made here. What is said byte by byte is
# tested by the crate engine (tests/tls).

# An authority and certificates of it, made once. Paths by name: ca, and for each name NAME.pem and NAME.key.
certificates <- local({
  folder <- NULL
  function() {
    if (is.null(folder)) {
      folder <<- tempfile("tls-")
      dir.create(folder)
      openssl("req", "-x509", new_key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Test CA", "-days", "2",
        "-addext", "keyUsage=keyCertSign,cRLSign")
      certify("server", "localhost", c("DNS:localhost", "IP:127.0.0.1"))
      certify("other", "other.test", "DNS:other.test")
      certify("alice", "alice", "DNS:alice")
    }
    folder
  }
})

new_key <- c("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")

openssl <- function(..., wd = certificates()) {
  processx::run("openssl", c(...), wd = wd)
}

certify <- function(file, name, alt, folder = certificates(), days = 2) {
  run <- function(...) openssl(..., wd = folder)
  run("req", "-new", new_key, "-keyout", paste0(file, ".key"), "-out", "request.pem", "-subj",
    paste0("/O=Test/CN=", name))
  writeLines(paste0("subjectAltName=", paste(alt, collapse = ",")), file.path(folder, "extensions"))
  run("x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", days,
    "-out", paste0(file, ".pem"), "-extfile", "extensions")
}

pem <- function(...) file.path(certificates(), c(...))

# The certificate as the settings of any way of starting take it: a copy of its own that a test may change.
own_copy <- function(name = "server") {
  folder <- tempfile("own-")
  dir.create(folder)
  file.copy(pem(paste0(name, c(".pem", ".key"))), folder)
  file.rename(file.path(folder, paste0(name, c(".pem", ".key"))), file.path(folder, c("cert.pem", "cert.key")))
  file.path(folder, c("cert.pem", "cert.key"))
}

tls_app <- function() {
  write_app(c(
    "app <- dr_app()",
    "dr_get(app, '/tls', function(req) c(list(scheme = req$scheme, http = req$protocol), req$tls))",
    "dr_post(app, '/echo', function(req) req$raw)",
    "dr_get(app, '/held', function(req) { stand_at('held'); 'let go' }, timeout = 600)",
    "dr_get(app, '/stream', function(req) dr_stream(function(state, cancelled) {",
    "  list(chunk = strrep('0123456789', 1000), state = state + 1, done = state == 300)",
    "}, state = 1, content_type = 'text/plain'))",
    "dr_ws(app, '/ws', function(conn, msg) dr_ws_send(conn, msg))",
    "app"
  ))
}

tls_flags <- function(files = pem("server.pem", "server.key"), ...) {
  list(tls_cert = files[[1L]], tls_key = files[[2L]], ...)
}

serve_tls <- function(..., app = tls_app()) {
  server <- do.call(serve, c(list(app), tls_flags(...)))
  server$url <- sub("127.0.0.1", "localhost", server$url, fixed = TRUE)
  server
}

curl_tls <- function(server, path, ...) ask(server, path, "--cacert", pem("ca.pem"), ...)

test("a server with a certificate is reached by https", function() {
  server <- serve_tls(workers = "1-1")
  expect(startsWith(server$url, "https://"), "it says ", server$url)
  for (version in c("--http1.1", "--http2")) for (tls in c("1.2", "1.3")) {
    flags <- c(version, paste0("--tlsv", tls), "--tls-max", tls)
    answer <- do.call(curl_tls, c(list(server, "/tls"), flags))
    expect(answer$status == "200", toString(flags), ": ", answer$status)
    said <- json(answer$body)
    expect(said$protocol == paste0("TLSv", tls), answer$body)
    expect(said$scheme == "https" && said$server_name == "localhost", answer$body)
    expect(said$http == if (version == "--http2") "HTTP/2" else "HTTP/1.1", answer$body)
  }
  expect(ask(server, "/tls")$status == "000", "a client that trusts nobody is answered")
  status <- run_to_end(c(drover_program(), "status"))
  expect(any(grepl("https://127.0.0.1:", status$log, fixed = TRUE)), toString(status$log))
})

test("bodies are whole in both directions, over both versions", function() {
  server <- serve_tls(workers = "1-1", max_body = "20MB")
  file <- tempfile("body-")
  writeBin(as.raw(sample(0:255, 5e6, TRUE)), file)
  for (version in c("--http1.1", "--http2")) {
    back <- tempfile("back-")
    ran <- processx::run("curl", c("-s", version, "--cacert", pem("ca.pem"), "--data-binary", paste0("@", file), "-H",
      "Expect:", "-o", back, paste0(server$url, "/echo")), error_on_status = FALSE, timeout = patience(60))
    is_same <- ran$status == 0L && tools::md5sum(back) == tools::md5sum(file)
    expect(is_same, version, ": another body, status ", ran$status)
    answer <- curl_tls(server, "/stream", version)
    expect(nchar(answer$body) == 3e6, version, ": a stream of ", nchar(answer$body))
  }
})

test("plain HTTP at the port is told where to come", function() {
  server <- serve_tls(workers = "1-1")
  plain <- server
  plain$url <- sub("https", "http", server$url)
  answer <- ask(plain, "/tls?a=1")
  expect(answer$status == "308", answer$status)
  expect(field(answer, "location") == paste0(server$url, "/tls?a=1"), field(answer, "location"))
  answer <- ask(plain, "/tls", "-L", "--cacert", pem("ca.pem"))
  expect(answer$status == "200", answer$status)
})

test_every_worker("a server with a certificate ends in peace, with its word on each connection", function(start) {
  files <- tls_flags(workers = 1L)
  app <- tls_app()
  server <- if (identical(start, starts[["drover serve"]])) {
    do.call(start, c(list(app), files[c("tls_cert", "tls_key")]))
  } else {
    start(app, tls = bquote(dr_tls(.(files$tls_cert), .(files$tls_key))))
  }
  server$url <- sub("127.0.0.1", "localhost", server$url, fixed = TRUE)
  expect(startsWith(server$url, "https://"), "it says ", server$url)
  kept <- start_client("openssl", c("s_client", "-connect", paste0("127.0.0.1:", server$port), "-CAfile",
    pem("ca.pem"), "-servername", "localhost"), stdin = "|", stdout = "|", stderr = "|")
  said <- ""
  # the client has ended its handshake; the server has before it has come to the request of another one
  expect(within(function() {
    said <<- paste0(said, kept$read_output())
    grepl("Verify return code", said)
  }), "no connection: ", said)
  running <- ask_later(server, "/held", "--cacert", pem("ca.pem"))
  expect(marked(server, "held"), "it does not begin")
  send_signal(server$pid, tools::SIGTERM)
  expect(never(function() is_over(running), 0.3), "it does not wait for what runs")
  open_gate(server, "held")
  answer <- running()
  expect(answer$status == "200" && answer$body == "let go", "the request in flight got ", answer$status)
  expect(within(function() !server$process$is_alive()), "TERM does not end it")
  expect(server$process$get_exit_status() == 0L, "status ", server$process$get_exit_status())
  expect(within(function() !kept$is_alive()), "a connection stays")
  # without close_notify openssl says so
  said <- kept$read_all_error()
  expect(!grepl("unexpected eof", said), said)
})

test("new certificates are taken with HUP, and wrong ones are not", function() {
  files <- own_copy()
  server <- serve_tls(files, workers = "1-1")
  fingerprint <- function() {
    said <- processx::run("sh", c("-c", sprintf(
      "openssl s_client -connect 127.0.0.1:%d -servername localhost </dev/null 2>&1 | openssl x509 -noout -subject",
      server$port
    )))
    trimws(said$stdout)
  }
  before <- fingerprint()
  expect(grepl("CN = localhost", before), before)
  writeLines("nonsense", files[[1L]])
  send_signal(server$pid, tools::SIGHUP)
  why <- "the certificates from before are kept: tls_cert: .*cert.pem: there is no certificate in it"
  expect(logged(server, why), "not logged")
  expect(identical(fingerprint(), before), "another certificate: ", fingerprint())
  file.copy(pem("other.pem"), files[[1L]], overwrite = TRUE)
  file.copy(pem("other.key"), files[[2L]], overwrite = TRUE)
  send_signal(server$pid, tools::SIGHUP)
  expect(within(function() grepl("CN = other.test", fingerprint())), "still ", fingerprint())
})

test("clients show certificates, and handlers see whose they are", function() {
  server <- serve_tls(tls_client_ca = pem("ca.pem"), tls_client_auth = "optional", workers = "1-1")
  own <- c("--cert", pem("alice.pem"), "--key", pem("alice.key"))
  for (version in c("--http1.1", "--http2")) {
    said <- json(do.call(curl_tls, c(list(server, "/tls", version), own))$body)
    expect(said$client_subject == "O=Test, CN=alice" && said$client_issuer == "CN=Test CA", unlist(said))
    shown <- openssl("x509", "-in", "alice.pem", "-noout", "-fingerprint", "-sha256")$stdout
    shown <- tolower(gsub("^[^=]*=|:|\\s", "", shown))
    expect(said$client_fingerprint == shown, said$client_fingerprint, " is not ", shown)
    said <- json(curl_tls(server, "/tls", version)$body)
    expect(is.null(said$client_subject), "of nobody: ", unlist(said))
  }
  server <- serve_tls(tls_client_ca = pem("ca.pem"), workers = "1-1")
  expect(curl_tls(server, "/tls")$status == "000", "a client without one is answered")
  expect(do.call(curl_tls, c(list(server, "/tls"), own))$status == "200", "a client with one is not")
  expect(logged(server, "TLS handshake failed: peer sent no certificates"), "not logged")
})

test("a WebSocket is spoken over TLS, with the authorities that the system trusts", function() {
  server <- serve_tls(workers = "1-1")
  script <- c(
    "library(drover)", "said <- NULL",
    sprintf("client <- dr_ws_connect('%s/ws', function(msg) said <<- msg)", sub("https", "wss", server$url)),
    "dr_ws_client_send(client, strrep('hello ', 1000))",
    "end <- Sys.time() + 100", "while (is.null(said) && Sys.time() < end) later::run_now(0.1)",
    "cat(identical(said, strrep('hello ', 1000)))"
  )
  ran <- processx::run(file.path(R.home("bin"), "Rscript"), c("--vanilla", "-e", paste(script, collapse = "; ")),
    env = c("current", SSL_CERT_FILE = pem("ca.pem"), R_LIBS = paste(.libPaths(), collapse = ":")),
    error_on_status = FALSE, timeout = 120)
  expect(ran$stdout == "TRUE", ran$stdout, ran$stderr)
})

test("what is wrong with a certificate is said before the server listens", function() {
  for (way in list(
    list(pem("missing.pem", "server.key"), "tls_cert: .*missing.pem: No such file"),
    list(pem("server.pem", "other.key"), "tls_key: .*other.key: the key is not that of the certificate in .*server.p"),
    list(pem("server.key", "server.pem"), "tls_cert: .*server.key: there is no certificate .* it holds a private key")
  )) {
    ran <- run_to_end(do.call(command_of, c(list(tls_app()), tls_flags(way[[1L]]))))
    expect(!identical(ran$status, 0L) && any(grepl(way[[2L]], ran$log)), toString(ran$log))
    expect(!any(grepl("listening", ran$log)), "it listened before")
    script <- c(
      "library(drover)", "app <- dr_get(dr_app(), '/', function() 1)",
      "serve <- function(...) dr_serve(app, port = 0, block = FALSE, tls = dr_tls(...))",
      sprintf("tryCatch(serve('%s', '%s'),", way[[1L]][[1L]], way[[1L]][[2L]]),
      "  drover_error_argument = function(e) cat('ERROR', conditionMessage(e)))"
    )
    file <- tempfile(fileext = ".R")
    writeLines(script, file)
    ran <- processx::run(file.path(R.home("bin"), "Rscript"), file, error_on_status = FALSE, timeout = 120)
    expect(grepl(paste0("ERROR ", way[[2L]]), ran$stdout), ran$stdout, ran$stderr)
  }
  ran <- run_to_end(command_of(tls_app(), tls_key = pem("server.key")))
  expect(any(grepl("tls_key: it needs tls_cert", ran$log)), toString(ran$log))
})

test("drover serve --tls-dev needs no certificate", function() {
  cache <- tempfile("cache-")
  server <- launch(c(command_of(tls_app(), workers = "1-1"), "--tls-dev"), env = c(R_USER_CACHE_DIR = cache))
  expect(isTRUE(startsWith(server$url, "https://")), toString(server$log()))
  expect(logged(server, "clients that trust .*dev-ca.pem trust this server"), "it does not say how to trust it")
  ca <- file.path(cache, "R", "drover", "tls", "dev-ca.pem")
  for (host in c("localhost", "127.0.0.1")) {
    server$url <- sprintf("https://%s:%d", host, server$port)
    answer <- ask(server, "/tls", "--cacert", ca)
    expect(answer$status == "200", host, ": ", answer$status)
  }
  script <- sprintf("tls <- drover::dr_tls_self_signed(); cat(attr(tls, 'ca'), readLines(tls$cert)[3])")
  environment <- c("current", R_USER_CACHE_DIR = cache)
  ran <- processx::run(file.path(R.home("bin"), "Rscript"), c("-e", script), env = environment)
  expect(ran$stdout == paste(ca, readLines(file.path(dirname(ca), "dev.pem"))[[3L]]), ran$stdout)
})

test("handshakes that do not come hold nobody up, and end in time", function() {
  # as many as R may have open
  open <- list()
  close_all <- function() {
    for (con in open) close(con)
    open <<- list()
  }
  on.exit(close_all())
  ended <- function(con) socketSelect(list(con), timeout = 0) && !length(readBin(con, "raw", 1L))
  # most say nothing, the others something
  begin_handshakes <- function(server) {
    for (i in 1:110) {
      open[[i]] <<- socketConnection("127.0.0.1", server$port, open = "r+b", blocking = FALSE)
      if (i > 90) writeBin(as.raw(c(0x16, 3, 1, 2, 0, 1, 0)), open[[i]])
    }
  }
  server <- serve_tls(workers = "1-1", header_timeout = 600)
  begin_handshakes(server)
  expect(curl_tls(server, "/tls")$status == "200", "a client waits for them")
  expect(!any(vapply(open, ended, NA)), "they have been ended")
  close_all()
  begin_handshakes(serve_tls(workers = "1-1", header_timeout = 1))
  expect(within(function() all(vapply(open, ended, NA))), "some are still open")
})

# Whether these bytes, in whichever order, are in the writable memory of a process.
holds <- function(pid, secret) {
  maps <- strsplit(readLines(sprintf("/proc/%d/maps", pid)), " +")
  writable <- Filter(function(line) startsWith(line[[2L]], "rw"), maps)
  copy <- tempfile("memory-")
  on.exit(unlink(copy))
  any(vapply(writable, function(line) {
    bounds <- strsplit(line[[1L]], "-")[[1L]]
    # what the system lets nobody read is no memory of the program
    part <- sprintf("skip=$((0x%s)) count=$((0x%s-0x%s))", bounds[[1L]], bounds[[2L]], bounds[[1L]])
    system(sprintf("dd if=/proc/%d/mem iflag=skip_bytes,count_bytes %s bs=1M of=%s 2>/dev/null", pid, part, copy))
    memory <- readBin(copy, "raw", file.size(copy))
    length(grepRaw(secret, memory, fixed = TRUE)) > 0L || length(grepRaw(rev(secret), memory, fixed = TRUE)) > 0L
  }, NA))
}

test("keys are not in processes that run code of the app", function() {
  server <- serve_tls(workers = "1-1")
  expect(curl_tls(server, "/tls")$status == "200", "it does not answer")
  openssl("pkcs8", "-topk8", "-nocrypt", "-in", "server.key", "-outform", "DER", "-out", "server.der")
  # the number itself, behind what says that it is one, as the library holds it in whatever form
  der <- readBin(pem("server.der"), "raw", 1000L)
  secret <- der[37:60]
  expect(holds(server$pid, secret), "it is not even in the server: nothing is seen here")
  others <- setdiff(family()$pid, c(server$pid, Sys.getpid()))
  expect(length(others) >= 2L, "there is no zygote and worker")
  expect(!any(vapply(others, holds, NA, secret)), "the key is in a process of R")
}, ways = 1:2)

test("a key that is encrypted is opened by the password in a file", function() {
  folder <- tempfile("locked-")
  dir.create(folder)
  at <- function(name) file.path(folder, name)
  for (way in list("aes-256-cbc", "aes-128-cbc", c("-scrypt"))) {
    openssl("pkcs8", "-topk8", "-in", "server.key", "-out", at("locked.key"), "-passout", "pass:a secret",
      if (identical(way, "-scrypt")) way else c("-v2", way))
    writeLines(c("a secret", "and what is below it is not read"), at("password"))
    Sys.chmod(at(c("locked.key", "password")), "0600")
    server <- serve_tls(files = c(pem("server.pem"), at("locked.key")), tls_key_password = at("password"))
    expect(curl_tls(server, "/tls")$status == "200", "with a key of ", way)
    expect(!any(grepl("WARN", server$log())), server$log())
    send_signal(server$pid, tools::SIGTERM)
  }
  writeLines("another", at("password"))
  flags <- tls_flags(c(pem("server.pem"), at("locked.key")), tls_key_password = at("password"))
  ran <- run_to_end(do.call(command_of, c(list(tls_app()), flags)))
  expect(!identical(ran$status, 0L) && any(grepl("tls_key: .*the password in .* does not open the key", ran$log)),
    toString(ran$log))
}, ways = 1L)
