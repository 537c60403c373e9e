# Several addresses at once, and one for whoever runs the server.

listeners_app <- function() write_app(c(
  "app <- dr_app()",
  "dr_get(app, '/who', function(req) paste(req$remote_addr, req$scheme))",
  "dr_get(app, '/livez', function(req) 'of the app')",
  "dr_get(app, '/version', function(req) readLines(Sys.getenv('VERSION')))",
  "app"
))

start_line <- function(server) grep("drover listening on", server$log(), value = TRUE)[1L]

# The URLs of the start line, and that of `admin`, as servers that ask() takes.
places_of <- function(server) {
  line <- start_line(server)
  urls <- strsplit(sub(" \\(.*", "", sub(".*listening on ", "", line)), ", | and ")[[1L]]
  admin <- if (grepl("admin=", line)) sub(".*admin=([^, )]+).*", "\\1", line)
  lapply(c(urls, admin), function(url) c(server[c("pid", "log")], url = url))
}

ask_unix <- function(path, ...) ask(list(url = "http://x"), "/who", "--unix-socket", path, ...)

test_every_way("a server listens on all its addresses, and says so first", function(start) {
  path <- tempfile("socket-")
  server <- start(listeners_app(), host = c("127.0.0.1", "127.0.0.1:0", "[::1]:0", paste0("unix:", path, "?mode=0600")))
  places <- places_of(server)
  urls <- vapply(places, `[[`, "", "url")
  expect(length(urls) == 4L && urls[[4L]] == paste0("unix:", path), start_line(server))
  expect(all(grepl("^http://127[.]0[.]0[.]1:[1-9]|^http://\\[::1\\]:[1-9]", urls[1:3])), toString(urls))
  for (place in places[1:2]) expect(ask(place, "/who")$body == "127.0.0.1 http", place$url)
  expect(ask(places[[3L]], "/who", "-g")$body == "::1 http", "IPv6: ", urls[[3L]])
  expect(ask_unix(path)$body == "unix: http", "the unix socket")
  # all of them outlive a reload
  send_signal(server$pid, tools::SIGHUP)
  expect(logged(server, "reloaded: "), "it does not reload")
  for (place in places[1:2]) expect(ask(place, "/who")$status == "200", place$url, " after a reload")
  expect(ask_unix(path)$status == "200", "the unix socket after a reload")
  send_signal(server$pid, tools::SIGTERM)
  expect(within(function() !server$process$is_alive()), "TERM does not end it")
  expect(!file.exists(path), "the file of its socket stays")
})

test_every_way("whoever runs the server has an address, and nothing of the app is there", function(start) {
  server <- start(listeners_app(), admin = "127.0.0.1:0", max_connections = 2L, header_timeout = 600,
    keep_alive = 600)
  places <- places_of(server)
  admin <- places[[2L]]
  for (page in c("/livez", "/readyz")) {
    answer <- ask(admin, page)
    expect(answer$status == "200" && answer$body == "ok", page, ": ", answer$status, " ", answer$body)
  }
  expect(ask(admin, "/livez", "-I")$status == "200", "HEAD")
  expect(ask(admin, "/livez", "-d", "x")$status == "405", "POST")
  expect(ask(admin, "/who")$status == "404", "the app is at admin")
  expect(ask(admin, "/metrics")$status == "404", "there are metrics that nobody wants")
  expect(ask(server, "/livez")$body == "of the app", "the page is where it was not asked for")
  # also when there are as many connections as there may be
  open <- lapply(1:4, function(i) socketConnection("127.0.0.1", server$port, open = "r+b", blocking = TRUE))
  on.exit(for (connection in open) close(connection))
  expect(logged(server, "new connections wait: 2 are open"), "it is not full")
  for (i in 1:5) expect(ask(admin, "/readyz", "--max-time", "30")$status == "200", "it waits with the others")
})

test_every_way("figures are told at the address for whoever runs the server, and to no client", function(start) {
  server <- start(listeners_app(), admin = "127.0.0.1:0", metrics = TRUE)
  admin <- places_of(server)[[2L]]
  expect(ask(server, "/metrics")$status == "404", "clients get them")
  expect(ask(server, "/who")$status == "200", "the app is not served")
  line <- 'drover_requests_total{route="/who",method="GET",status="2xx"} 1'
  counted <- function() grepl(line, ask(admin, "/metrics")$body, fixed = TRUE)
  expect(within(counted), "they are not told: ", ask(admin, "/metrics")$body)
})

test_every_way("an address that is taken is named, and none of the others is left", function(start) {
  taken <- serve(listeners_app())
  path <- tempfile("socket-")
  log <- tryCatch({
    start(listeners_app(), host = c(paste0("unix:", path), paste0("127.0.0.1:", taken$port)))
    "it listens"
  }, error = function(e) utils::tail(servers, 1L)[[1L]]$log())
  expect(any(grepl(paste0("cannot listen on 127.0.0.1:", taken$port, ": Address already in use"), log)), log)
  expect(!any(grepl("listening on", log)) && !file.exists(path), "something is left")
})

test("what is no address is told", function() {
  told <- function(...) paste(run_to_end(command_of(listeners_app(), ...))$log, collapse = "\n")
  expect(grepl("cannot listen on 127.0.0.1:x: its port must be a number in 0..65535", told(host = "127.0.0.1:x")), "port")
  expect(grepl("admin: cannot listen on [::1: write HOST, HOST:PORT", told(admin = "[::1"), fixed = TRUE), "admin")
  expect(grepl("host: it names no address|must be one value", told(host = ",")), "nothing")
})

test("an admin address that others reach is warned of", function() {
  server <- serve(listeners_app(), admin = "0.0.0.0:0")
  expect(logged(server, "WARN `admin` is reached from other machines: 0.0.0.0:"), server$log())
  other <- serve(listeners_app(), admin = paste0("unix:", tempfile("admin-")))
  expect(ask(other, "/who")$status == "200" && !any(grepl("reached from", other$log())), "it is warned of a unix socket")
})

test("TLS is for addresses with a port, not for sockets in the file system", function() {
  path <- tempfile("socket-")
  server <- serve(listeners_app(), host = c("127.0.0.1", paste0("unix:", path)), tls_cert = pem("server.pem"),
    tls_key = pem("server.key"), admin = "127.0.0.1:0")
  expect(grepl("https://127.0.0.1:[0-9]+ and unix:", start_line(server)), start_line(server))
  expect(ask(server, "/who", "--cacert", pem("ca.pem"))$body == "127.0.0.1 https", "TLS")
  expect(ask_unix(path)$body == "unix: http", "the unix socket")
  expect(ask(places_of(server)[[3L]], "/livez")$body == "ok", "admin")
  ended <- run_to_end(command_of(listeners_app(), host = paste0("unix:", path, "2"), tls_cert = pem("server.pem"),
    tls_key = pem("server.key")))
  expect(any(grepl("tls: connections by a socket in the file system are in cleartext", ended$log)), ended$log)
}, ways = 1L)
