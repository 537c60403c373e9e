# Real proxies before a server, as inst/deploy/ has them: who the client is, by fields of HTTP and by PROXY protocol.
# The client comes from another address than the proxy, as all of 127.0.0.0/8 is this machine.

CLIENT <- "127.0.0.5"

proxied_app <- function() write_app(c(
  "app <- dr_app()",
  "dr_get(app, '/who', function(req) paste(req$remote_addr, req$scheme, req$host))",
  "dr_get(app, '/held', function(req) { stand_at('gate'); 'let go' })",
  "app"
))

program <- function(name) {
  path <- c(Sys.which(name), file.path("/usr/sbin", name))
  path <- path[nzchar(path) & file.exists(path)]
  if (!length(path)) skip("there is no ", name)
  path[[1L]]
}

# Starts a proxy with this configuration, and waits until it answers at the URL.
start_proxy <- function(name, lines, url, flags = character()) {
  path <- program(name)
  folder <- tempfile("proxy-")
  dir.create(folder)
  file <- file.path(folder, "proxy.conf")
  writeLines(gsub("FOLDER", folder, lines, fixed = TRUE), file)
  log <- file.path(folder, "log")
  start_client(path, c(if (name == "nginx") "-c" else c("-db", "-f"), file), stdout = log, stderr = "2>&1")
  up <- within(function() ask(list(url = url), "/who", flags)$status == "200")
  expect(up, name, " does not serve: ", paste(c(readLines(file), readLines(log)), collapse = "\n"))
}

# nginx on a port, with what inst/deploy/nginx.conf has of maps and of lines about requests to drover.
nginx_before <- function(target, port) {
  temp <- sprintf("%s_temp_path FOLDER;", c("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
  config <- readLines(file.path(root, "inst/deploy/nginx.conf"))
  is_map <- cumsum(grepl("^map ", config)) > 0L & cumsum(grepl("^server ", config)) == 0L
  c(
    "daemon off;", "worker_processes 1;", if (Sys.info()[["user"]] == "root") "user root;", "pid FOLDER/pid;",
    "error_log stderr warn;", "events {}", "http {", "access_log off;", temp, config[is_map], "server {",
    sprintf("listen 127.0.0.1:%d;", port), "server_name example.org;", "location / {", sprintf("proxy_pass http://%s;", target),
    grep("proxy_set_header|proxy_http_version", config, value = TRUE), "}", "}", "}"
  )
}

spoofed <- c("-H", "X-Forwarded-For: 6.6.6.6", "-H", "X-Forwarded-Proto: https", "-H", "X-Forwarded-Host: evil.example",
  "-H", "X-Forwarded-Port: 1", "-H", "Forwarded: for=6.6.6.6")

test("nginx says who the client is, by a port and by a unix socket", function() {
  program("nginx")
  path <- tempfile("socket-")
  server <- serve(proxied_app(), host = c("127.0.0.1", paste0("unix:", path)), trusted_proxies = c("127.0.0.1", "unix"))
  for (target in c(paste0("127.0.0.1:", server$port), paste0("unix:", path, ":"))) {
    port <- free_ports(1L)
    url <- paste0("http://127.0.0.1:", port)
    start_proxy("nginx", nginx_before(target, port), url)
    for (flags in list(character(), spoofed)) {
      answer <- ask(list(url = url), "/who", "--interface", CLIENT, "-H", "Host: shop.example", flags)
      expect(answer$body == paste(CLIENT, "http shop.example"), target, ": ", answer$body)
    }
  }
}, ways = 1L)

test("nginx passes WebSockets and events on, and pages on another port than 443 are not taken for forged", function() {
  program("nginx")
  server <- serve(write_app(c(
    "app <- dr_csrf(dr_app())", "dr_get(app, '/who', function(req) req$host)",
    "dr_post(app, '/form', function(req) 'taken')", "dr_ws(app, '/echo', function(conn, msg) dr_ws_send(conn, msg))",
    "dr_get(app, '/events', function(req) dr_stream_sse(function(state, cancelled) {",
    "  if (state == 0) return(list(data = 'first', state = 1))",
    "  list(data = if (is_open('gate')) 'last', done = is_open('gate'))",
    "}, state = 0, min_interval = 0.01))", "app"
  )), trusted_proxies = "127.0.0.1")
  proxy <- list(port = free_ports(1L))
  proxy$url <- paste0("http://127.0.0.1:", proxy$port)
  start_proxy("nginx", nginx_before(paste0("127.0.0.1:", server$port), proxy$port), proxy$url)
  expect(ask(proxy, "/who")$body == sub("http://", "", proxy$url), "another host: ", ask(proxy, "/who")$body)
  old <- ask(proxy, "/who", "--http1.0", "-H", "Host:")
  expect(old$status == "200", "a client that names no host: ", old$status, " ", old$body)
  page <- c("-H", paste("Origin:", proxy$url), "-H", "Cookie: a=1", "-d", "a=1")
  for (flags in list(page, c(page, "-H", "Sec-Fetch-Site: same-origin"))) {
    form <- ask(proxy, "/form", flags)
    expect(form$status == "200", "a form of its own page: ", form$status, " ", form$body)
  }
  forged <- ask(proxy, "/form", "-H", "Origin: http://evil.example", "-H", "Cookie: a=1", "-d", "a=1")
  expect(forged$status == "403", "a forged form: ", forged$status)
  socket <- ws(proxy, "/echo", c(paste("Origin:", proxy$url), "Cookie: a=1"))
  expect(identical(ws_ask(socket, "hello"), "hello"), "another message")
  events <- read_stream(proxy, "/events")
  # the stream goes on until the gate is open
  expect(within(function() grepl("data: first", events$body())), "events are collected: ", events$body())
  open_gate(server, "gate")
  expect(events$end() == 0L && grepl("data: last", events$body()), "the last event: ", events$body())
}, ways = 1L)

test("HAProxy says who the client is by PROXY protocol, version 1 and 2, before TLS too", function() {
  program("haproxy")
  plain <- serve(proxied_app(), proxy_protocol = "127.0.0.1", workers = 1L)
  tls <- serve(proxied_app(), proxy_protocol = "127.0.0.1", workers = 1L, tls_cert = pem("server.pem"),
    tls_key = pem("server.key"))
  ports <- free_ports(3L)
  listen <- function(name, port, to, how) c(
    paste("listen", name), paste0("    bind 127.0.0.1:", port), sprintf("    server one 127.0.0.1:%d %s check", to, how)
  )
  urls <- paste0(c("http", "http", "https"), "://127.0.0.1:", ports)
  start_proxy("haproxy", c(
    "defaults", "    mode tcp", "    timeout connect 60s", "    timeout server 60s", "    timeout client 60s",
    listen("v1", ports[[1L]], plain$port, "send-proxy"), listen("v2", ports[[2L]], plain$port, "send-proxy-v2"),
    listen("tls", ports[[3L]], tls$port, "send-proxy-v2")
  ), urls[[1L]])
  for (url in urls) {
    expected <- paste(CLIENT, sub(":.*", "", url), sub(".*//", "", url))
    for (version in c("--http1.1", if (startsWith(url, "https")) "--http2")) {
      answer <- ask(list(url = url), "/who", "--interface", CLIENT, "--cacert", pem("ca.pem"), version)
      expect(answer$body == expected, url, " ", version, ": ", answer$body)
    }
  }
  expect(!any(grepl("PROXY protocol", c(plain$log(), tls$log()))), "its checks are refused")
}, ways = 1L)

test("inst/deploy/haproxy.cfg is what HAProxy takes, and says who the client is", function() {
  program("haproxy")
  server <- serve(proxied_app(), trusted_proxies = "127.0.0.1", health = TRUE, agent_check = "0")
  agent <- sub(".*agent_check=127.0.0.1:([0-9]+).*", "\\1", grep("listening on", server$log(), value = TRUE)[1L])
  ports <- free_ports(2L)
  both <- tempfile(fileext = ".pem")
  writeLines(c(readLines(pem("server.pem")), readLines(pem("server.key"))), both)
  config <- readLines(file.path(root, "inst/deploy/haproxy.cfg"))
  change <- function(from, to) {
    expect(any(grepl(from, config, fixed = TRUE)), "inst/deploy/haproxy.cfg does not have: ", from)
    config <<- gsub(from, to, config, fixed = TRUE)
  }
  change("bind :80", paste0("bind 127.0.0.1:", ports[[1L]]))
  change("bind :443", paste0("bind 127.0.0.1:", ports[[2L]]))
  change("/etc/ssl/example.org/both.pem", both)
  change("agent-port 9902", paste("agent-port", agent))
  change("127.0.0.1:8080", paste0("127.0.0.1:", server$port))
  url <- paste0("https://127.0.0.1:", ports[[2L]])
  trust <- c("--cacert", pem("ca.pem"))
  start_proxy("haproxy", config, url, trust)
  for (flags in list(character(), spoofed)) {
    answer <- ask(list(url = url), "/who", "--interface", CLIENT, "-H", "Host: shop.example", trust, flags)
    expect(answer$body == paste(CLIENT, "https shop.example"), answer$body)
  }
  plain <- ask(list(url = paste0("http://127.0.0.1:", ports[[1L]])), "/who")
  expect(plain$status == "302" && grepl("^https://", field(plain, "location")), "plain HTTP: ", plain$status)
}, ways = 1L)

agent_line <- function(server) {
  port <- sub(".*agent_check=127.0.0.1:([0-9]+).*", "\\1", grep("listening on", server$log(), value = TRUE)[1L])
  con <- socketConnection("127.0.0.1", as.integer(port), open = "r+b", blocking = TRUE, timeout = 60)
  on.exit(close(con))
  # as agents may be sent something first
  writeBin(charToRaw("hello\n"), con)
  readLines(con, warn = FALSE)
}

test_every_worker("a balancer that asks how much a server can take gets a line", function(start) {
  server <- start(proxied_app(), agent_check = "0", max_queue = 4L, drain_delay = 600, timeout = 600)
  expect(identical(agent_line(server), "up ready 100%"), "idle: ", agent_line(server))
  running <- ask_later(server, "/held")
  expect(marked(server, "gate"), "it does not begin")
  waiting <- lapply(1:3, function(i) ask_later(server, "/who"))
  expect(within(function() grepl("^up ready (25|50|75)%$", agent_line(server))), "with a queue: ", agent_line(server))
  open_gate(server, "gate")
  expect(running()$status == "200" && all(vapply(waiting, function(answer) answer()$status == "200", NA)), "lost")
  expect(within(function() identical(agent_line(server), "up ready 100%")), "again: ", agent_line(server))
  send_signal(server$pid, tools::SIGTERM)
  expect(within(function() startsWith(agent_line(server), "up drain")), "told to end")
  # a signal that comes within half a second is taken for the first
  let_pass(0.6)
  send_signal(server$pid, tools::SIGTERM)
  expect(!is.na(exit_status(server)), "a second signal does not end it")
})
