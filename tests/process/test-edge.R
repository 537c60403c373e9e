# Policies, which the engine decides without R: in every way of starting a server, for all its workers together, and
# across reloads. What each says of which request, the tests of the engine have
# (src/rust/crates/engine/tests/policies.rs).

# `/api/slow` is over its time.
edge_app <- function(version = "1", capacity = 5, window = 60) {
  write_app(c(
    "api <- dr_app()",
    "dr_get(api, '/slow', function(req) { Sys.sleep(1); 'slow' }, timeout = 0.5)",
    "dr_get(api, '/held/:name', function(req) { stand_at(req$params$name); 'let go' })",
    "dr_get(api, '/pid', function(req) {",
    "  if (!is.null(req$query$gate)) stand_at(req$query$gate)",
    "  as.character(Sys.getpid())",
    "})",
    "dr_get(api, '/keyed/:n', function(req) 'keyed')",
    "dr_rate_limit(api, 2, '1h', routes = '/keyed', key = dr_key_param('n'))",
    "dr_post(api, '/upload', function(req) 'uploaded')",
    "dr_post(api, '/change', function(req) 'changed')",
    "dr_get(api, '/own', function(req) dr_text('own', headers = list(Vary = 'Accept', 'Referrer-Policy' = 'origin')))",
    "one_piece <- function(state, cancelled) list(chunk = 'x', state = NULL, done = TRUE)",
    "dr_get(api, '/stream', function(req) dr_stream(one_piece))",
    "dr_cors(api, c('https://app.example', 'https://*.app.example'), headers = 'X-Token', credentials = TRUE)",
    "dr_csrf(api, routes = '/change')",
    "dr_security_headers(api)",
    sprintf("dr_rate_limit(api, %d, %d, routes = '/pid', scope = 'global', key = dr_key_header('X-Key'))", capacity,
      window),
    "app <- dr_app()",
    sprintf("dr_get(app, '/version', function(req) '%s')", version),
    "dr_ws(app, '/api/ws', function(conn, msg) NULL)",
    "files <- tempfile('files-')",
    "dir.create(files)",
    "writeLines('file', file.path(files, 'a.txt'))",
    "dr_static(app, '/api/files', files)",
    "dr_on_error(app, function(req, err) dr_json(list(oops = err$status), status = err$status))",
    "dr_rate_limit(app, 1, 3600, 'token_bucket', 'global', routes = '/api/ws')",
    "dr_mount(app, '/api', api)"
  ))
}

good <- c("-H", "Origin: https://x.app.example")
bad <- c("-H", "Origin: https://evil.example")

expect_cors <- function(answer, status, reads, what) {
  expect(answer$status %in% status, what, " has status ", answer$status, ", not ", toString(status))
  told <- field(answer, "access-control-allow-origin")
  expect(identical(told, if (reads) "https://x.app.example" else NA_character_), what, " may be read by ", told)
  expect(grepl("origin", field(answer, "vary"), ignore.case = TRUE), what, " varies by ", field(answer, "vary"))
  expect(!any(grepl("evil", answer$head)), what, " says the origin")
}

test_every_worker("pages of other origins are told the same, wherever the answer comes from", function(start) {
  server <- start(edge_app(), max_body = 1000)
  for (case in list(
    list("/api/own", "200"), list("/api/own", "200", "-I"), list("/api/files/a.txt", "200"), list("/api/stream", "200"),
    list("/api/nothing", "404"), list("/api/own", "405", "-X", "DELETE"),
    # the session cannot be interrupted: the next one waits too long
    list("/api/slow", c("504", "503")),
    list("/api/upload", "413", "-d", strrep("x", 2000)),
    list("/api/change", "403", "-d", "x", "-H", "Sec-Fetch-Site: cross-site")
  )) {
    what <- paste(unlist(case[-2L]), collapse = " ")
    asks <- function(...) do.call(ask, c(list(server, case[[1L]]), case[-(1:2)], ...))
    expect_cors(asks(good), case[[2L]], TRUE, what)
    expect_cors(asks(bad), case[[2L]], FALSE, what)
    expect_cors(asks("-H", "Origin: null"), case[[2L]], FALSE, what)
  }
  expect(identical(field(ask(server, "/api/own"), "vary"), "Accept, origin"), "the handler's Vary is lost")
  expect(is.na(field(ask(server, "/version", good), "vary")), "what is not below the mount has the policy")
  expect(identical(field(ask(server, "/api/own"), "referrer-policy"), "origin"), "the handler's field is lost")
  expect(identical(field(ask(server, "/api/nothing"), "x-frame-options"), "SAMEORIGIN"), "404 has no such field")
})

test_every_worker("a pre-flight is answered while R is busy", function(start) {
  server <- start(edge_app(), timeout = 600)
  busy <- ask_later(server, "/api/held/busy")
  expect(marked(server, "busy"), "R is not busy")
  preflight <- function(origin, path = "/api/change") {
    ask(server, path, "-X", "OPTIONS", origin, "-H", "Access-Control-Request-Method: POST", "-H",
      "Access-Control-Request-Headers: x-token, x-evil")
  }
  answer <- preflight(good)
  expect_cors(answer, "204", TRUE, "pre-flight")
  for (one in list(
    c("access-control-allow-methods", "POST, OPTIONS"), c("access-control-allow-headers", "X-Token"),
    c("access-control-allow-credentials", "true"), c("access-control-max-age", "600")
  )) {
    expect(identical(field(answer, one[[1L]]), one[[2L]]), one[[1L]], " is ", field(answer, one[[1L]]))
  }
  expect_cors(preflight(bad), "204", FALSE, "pre-flight of another origin")
  files <- preflight(good, "/api/files/a.txt")
  expect(identical(field(files, "access-control-allow-methods"), "GET, HEAD, OPTIONS"), "files")
  expect(!is_over(busy), "R was not busy")
  open_gate(server, "busy")
  expect(busy()$status == "200", "another status")
})

test_every_worker("a limit refuses in the app's form, and by what it is told to only", function(start) {
  server <- start(edge_app(capacity = 2))
  key <- function(value, ...) ask(server, "/api/pid", "-H", paste0("X-Key: ", value), ...)
  expect(identical(field(key("a"), "ratelimit"), "\"limit-3\";r=1;t=60"), "the first: ", field(key("b"), "ratelimit"))
  expect(key("a", "-H", "X-Forwarded-For: 1.2.3.4")$status == "200", "the second of two is refused")
  refused <- key("a", "-H", "X-Forwarded-For: 4.3.2.1", good)
  expect(refused$status == "429", "the third of two has status ", refused$status)
  expect(identical(refused$body, "{\"oops\":429}"), "429: ", refused$body)
  expect(identical(field(refused, "ratelimit-policy"), "\"limit-3\";q=2;w=60"), field(refused, "ratelimit-policy"))
  seconds <- as.integer(field(refused, "retry-after"))
  # the window has to end, and then the half of it to slide out
  expect(seconds > 60L && seconds <= 90L, "try again after ", seconds)
  expect_cors(refused, "429", TRUE, "a refusal")
  # any number of others does not make it forget a client that has used up what it has
  keyed <- function() ask(server, "/api/keyed/victim")$status
  expect(identical(c(keyed(), keyed(), keyed()), c("200", "200", "429")), "a limit by a param of the path")
  account <- load(server, "/api/keyed/{n}", connections = 8, requests = 5000)
  expect_account(account)
  expect(keyed() == "429", "it is forgotten after ", account[["s200"]], " others")
})

test_every_worker("a request for a WebSocket counts", function(start) {
  server <- start(edge_app())
  asks <- function() ws_open(server, "/api/ws", "Origin: null")$status
  expect(asks() == 101L, "the first is refused")
  expect(asks() == 429L, "the second is not refused")
})

test("a limit holds for all workers together, and its count for reloads", function() {
  app <- edge_app(capacity = 20, window = 3600)
  server <- serve(app, workers = 2L, threads = 2L)
  asks <- function(path) ask_later(server, path, "-H", "X-Key: a")
  # both workers have one of these
  held <- lapply(c("/api/pid?gate=one", "/api/pid?gate=two"), asks)
  expect(marked(server, "one") && marked(server, "two"), "they are not held")
  open_gate(server, "one")
  open_gate(server, "two")
  answers <- lapply(c(held, lapply(rep("/api/pid", 38), asks)), function(answer) answer())
  statuses <- vapply(answers, `[[`, "", "status")
  expect(sum(statuses == "200") == 20L && sum(statuses == "429") == 20L, toString(statuses))
  pids <- unique(vapply(answers[statuses == "200"], `[[`, "", "body"))
  expect(length(pids) == 2L, "only one worker has answered")
  file.copy(edge_app("2", 20, 3600), app, overwrite = TRUE)
  send_signal(server$pid, tools::SIGHUP)
  expect(within(function() ask(server, "/version")$body == "2"), "it does not reload")
  expect(ask(server, "/api/pid", "-H", "X-Key: a")$status == "429", "the reload has set the limit back")
  expect(ask(server, "/api/pid", "-H", "X-Key: b")$status == "200", "another key is refused")
  file.copy(edge_app("3", 21, 3600), app, overwrite = TRUE)
  send_signal(server$pid, tools::SIGHUP)
  expect(within(function() ask(server, "/version")$body == "3"), "it does not reload")
  expect(ask(server, "/api/pid", "-H", "X-Key: a")$status == "200", "the old limit still holds")
}, ways = 1:2)

test("policies can be added to routers of plumber and apps of httpuv", function() {
  app <- write_app(c(
    "answer <- list(status = 200L, headers = list('Content-Type' = 'text/plain'), body = 'rook')",
    "app <- dr_rook(list(call = function(req) answer))",
    "if (requireNamespace('plumber', quietly = TRUE)) {",
    "  dr_mount(app, '/pr', plumber::pr_get(plumber::pr(), '/hello', function() 'plumber'))",
    "}",
    "dr_cors(app, '*')",
    "dr_rate_limit(app, 3, routes = '/limited')"
  ))
  server <- serve(app, workers = 1L)
  paths <- c("/", "/any/path", if (requireNamespace("plumber", quietly = TRUE)) c("/pr/hello", "/pr/nothing"))
  for (path in paths) {
    answer <- ask(server, path, bad)
    expect(identical(field(answer, "access-control-allow-origin"), "*"), path, " may not be read")
    answer <- ask(server, path, bad, "-X", "OPTIONS", "-H", "Access-Control-Request-Method: PUT")
    told <- field(answer, "access-control-allow-origin")
    expect(answer$status == "204" && identical(told, "*"), path, ": pre-flight ", answer$status)
  }
  statuses <- vapply(1:4, function(i) ask(server, paste0("/limited/", i))$status, "")
  expect(identical(statuses, c("200", "200", "200", "429")), toString(statuses))
})
