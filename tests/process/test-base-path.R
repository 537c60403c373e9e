# Apps below a path: where a proxy passes the path on (`base_path`), and where it takes it off and says so
# (`base_path_field`). What is a base path, the tests of the engine have (src/rust/crates/engine/src/edge/base_path.rs).

below_app <- function(...) write_app(c(
  "app <- dr_app()",
  "dr_about(app, 'Notes', '1.0.0')",
  "dr_get(app, '/who', function(req) paste(sep = '|', req$base_path, req$path, req$url))",
  "dr_get(app, '/', function(req) 'index')",
  "dr_post(app, '/visit', function(req) { req$session <- list(n = 1); 'visited' })",
  "dr_get(app, '/visits', function(req) format(sum(req$session$n)))",
  "dr_session(app, strrep('k', 32), name = 'visits', secure = FALSE)",
  "dr_get(app, '/broken', function(req) stop('broken'))",
  "dr_get(app, '/shut', function(req) 'shut')",
  "dr_rate_limit(app, 1, '1h', routes = '/shut', key = 'address')",
  "dr_get(app, '/drawn', function(req) paste(req$base_path, stats::runif(1)))",
  "dr_cache(app, '1h', routes = '/drawn')",
  "dr_ws(app, '/ws', function(conn, msg) dr_ws_send(conn, conn$state),",
  "  on_connect = function(conn) conn$state <- paste(conn$request$base_path, conn$request$path))",
  "dr_mount(app, '/rook', list(call = function(env) list(",
  "  status = 200L, headers = list(`Content-Type` = 'text/plain'), body = paste(sep = '|', env$SCRIPT_NAME, env$PATH_INFO)",
  ")))",
  sprintf("dr_static(app, '/files', %s)", deparse(files_below())),
  "dr_not_found(app, function(req) 'of the app')",
  ..., "app"
))

files_below <- function() {
  folder <- tempfile("files-")
  dir.create(file.path(folder, "deep"), recursive = TRUE)
  writeLines("deep index", file.path(folder, "deep", "index.html"))
  folder
}

# The same server, asked for what is not below its base path.
outside <- function(server) {
  server$url <- server$origin
  server
}

prefixed <- function(prefix, field = "X-Forwarded-Prefix") c("-H", paste0(field, ": ", prefix))

test_every_worker("an app below a path that a proxy passes on", function(start) {
  log <- tempfile("access-", fileext = ".log")
  server <- start(below_app(), base_path = "/team/app/", health = TRUE, access_log = log)
  expect(endsWith(server$url, "/team/app"), "its address is ", server$url)
  all <- outside(server)
  for (version in c("--http1.1", "--http2-prior-knowledge")) {
    expect(ask(server, "/who?q=1", version)$body == "/team/app|/who|/who?q=1", version, ": ", ask(server, "/who?q=1")$body)
  }
  expect(ask(all, "/team/%61pp/who")$body == "/team/app|/who|/who", "an escaped letter")
  expect(ask(server, "/nothing")$body == "of the app", "below it, the app does not answer 404")
  others <- c("/who", "/", "/team", "/team/apple", "/team/app%2fwho", "//team/app/who", "/x/../team/app/who")
  for (path in others) {
    answer <- ask(all, path, "--path-as-is")
    expect(answer$status == "404" && !grepl("of the app", answer$body), path, ": ", answer$status, " ", answer$body)
  }
  for (path in c("/livez", "/readyz", "/team/app/livez")) expect(ask(all, path)$status == "200", path)
  bare <- ask(all, "/team/app?q=1")
  expect(bare$status == "307" && field(bare, "location") == "./app/?q=1", "without a slash: ", field(bare, "location"))
  expect(ask(all, "/team/app", "-L")$body == "index", "it does not lead to the index")
  expect(ask(server, "/files/deep", "-L")$body == "deep index", "a folder without its slash")
  expect(ask(server, "/rook/x/y")$body == "/team/app/rook|/x/y", "Rook: ", ask(server, "/rook/x/y")$body)
  socket <- ws(server, "/team/app/ws")
  expect(identical(ws_ask(socket, "where"), "/team/app /ws"), "a WebSocket")
  expect(identical(c(ask(server, "/shut")$status, ask(server, "/shut")$status), c("200", "429")), "a policy of a path")
  visit <- ask(server, "/visit", "-d", "x")
  expect(grepl("; Path=/team/app;", field(visit, "set-cookie"), fixed = TRUE), field(visit, "set-cookie"))
  jar <- tempfile("jar-")
  for (i in 1:2) ask(server, "/visit", "-d", "x", "-c", jar)
  expect(ask(server, "/visits", "-b", jar)$body == "1", "the session is not found again")
  spec <- jsonlite::fromJSON(ask(server, "/openapi.json")$body, simplifyVector = FALSE)
  expect(identical(spec$servers, list(list(url = "/team/app"))), "the description names other servers")
  yaml <- ask(server, "/openapi.yaml")$body
  expect(grepl("^servers:\n  - url: \"/team/app\"\nopenapi: ", yaml), substr(yaml, 1L, 80L))
  expect(ask(server, "/__docs__", "-L")$status == "200", "the page of documentation")
  expect(within(function() any(grepl("GET /team/app/who?q=1 ", readLines(log), fixed = TRUE))), readLines(log))
  expect(ask(server, "/who", prefixed("/outer"))$body == "/team/app|/who|/who", "a field that was not named is read")
  expect(ask(server, "/broken")$status == "500" && logged(server, " GET /team/app/broken 500 "), server$log())
})

test_every_worker("an app below a path that a proxy takes off", function(start) {
  server <- start(below_app(), base_path_field = "X-Script-Name", trusted_proxies = "127.0.0.1", docs = TRUE)
  who <- function(prefix, ...) ask(server, "/who", prefixed(prefix, "X-Script-Name"), ...)$body
  for (prefix in c("/app", "/app/", "https://hub.example/app/", "http://hub.example/app")) {
    expect(who(prefix) == "/app|/who|/who", prefix, ": ", who(prefix))
  }
  hostile <- c(
    "//evil.example", "/..", "/a/../b", "/a/./b", "/a%0d%0aSet-Cookie:x", "%2f%2fevil", "/%2e%2e", "/a;Path=/", "/a, /b",
    "https://evil.example//x", "https:/evil", "javascript:alert(1)", "/a b", "/\\evil", "/a?b", "/a#b", "app", "/\u00e4",
    paste0("/", strrep("a", 255)), "https://hub.example", "/"
  )
  for (prefix in hostile) expect(who(prefix) == "|/who|/who", prefix, ": ", who(prefix))
  expect(who("/a", prefixed("/b", "X-Script-Name")) == "|/who|/who", "one of two is believed")
  expect(ask(server, "/who", prefixed("/app"))$body == "|/who|/who", "another field is believed")
  below <- prefixed("/app", "X-Script-Name")
  expect(ask(server, "/rook/x", below)$body == "/app/rook|/x", "Rook")
  visit <- ask(server, "/visit", "-d", "x", below)
  expect(grepl("; Path=/app;", field(visit, "set-cookie"), fixed = TRUE), field(visit, "set-cookie"))
  visit <- ask(server, "/visit", "-d", "x")
  expect(grepl("; Path=/;", field(visit, "set-cookie"), fixed = TRUE), field(visit, "set-cookie"))
  spec <- jsonlite::fromJSON(ask(server, "/openapi.json", below)$body, simplifyVector = FALSE)
  expect(identical(spec$servers, list(list(url = "/app"))), "the description names other servers")
  expect(!grepl("\"servers\"", ask(server, "/openapi.json")$body), "a server is named without a base path")
  # what was made for one address is not for another
  drawn <- function(...) ask(server, "/drawn", ...)$body
  own <- drawn()
  expect(identical(drawn(), own) && identical(drawn(below), drawn(below)), "it is not cached")
  expect(startsWith(drawn(below), "/app ") && startsWith(own, " "), "one is kept for the other: ", drawn(below))
})

test("both at once, and only what a trusted proxy says", function() {
  server <- serve(below_app(), workers = 1L, base_path = "/app", base_path_field = "x-forwarded-prefix",
    trusted_proxies = "127.0.0.1")
  expect(ask(server, "/who", prefixed("/outer"))$body == "/outer/app|/who|/who", "they do not stand behind each other")
  expect(ask(outside(server), "/who", prefixed("/app"))$status == "404", "what was said is taken for what is there")
  server <- serve(below_app(), workers = 1L, base_path_field = "X-Forwarded-Prefix", trusted_proxies = "10.0.0.0/8")
  expect(ask(server, "/who", prefixed("/app"))$body == "|/who|/who", "anybody is believed")
})

test("an app with routes in other cases, and an app of plumber", function() {
  server <- serve(below_app(), workers = 1L, base_path = "/App")
  expect(ask(outside(server), "/aPP/WHO")$body == "/App|/WHO|/WHO", ask(outside(server), "/aPP/WHO")$body)
  server <- serve(below_app(), workers = 1L, base_path = "/App", case_sensitive = TRUE)
  expect(ask(outside(server), "/app/who")$status == "404", "case is not told apart")
  file <- tempfile("plumber-", fileext = ".R")
  writeLines(c("#* @get /where", "#* @serializer text", "function(req) paste(req$SCRIPT_NAME, req$PATH_INFO)"), file)
  for (how in c("fast", "full")) {
    server <- serve(file, workers = 1L, base_path = "/app", plumber = how)
    expect(ask(server, "/where")$body == "/app /where", how, ": ", ask(server, "/where")$body)
    page <- ask(server, "/__docs__/")
    expect(page$status == "200" && nzchar(page$body), how, ": the page of documentation: ", page$status)
    spec <- ask(server, "/openapi.json", "-H", paste0("Referer: ", server$url, "/__docs__/"))
    url <- jsonlite::fromJSON(spec$body)$servers$url
    expect(identical(sub("/$", "", sub("^http://[^/]+", "", url)), "/app"), how, ": ", spec$body)
  }
})

test("what is no base path is told before it listens", function() {
  wrong <- function(pattern, ...) {
    ended <- run_to_end(command_of(below_app(), ...))
    expect(ended$status == 2L && any(grepl(pattern, ended$log)), "status ", ended$status, ": ", toString(ended$log))
  }
  for (path in c("app", "//evil", "/a/../b", "/a b", "/a%2f", paste0("/", strrep("a", 255)))) {
    wrong("base_path: must be a path such as /app", base_path = path)
  }
  wrong("base_path_field: must be the name of a field, .*not 'a b'", base_path_field = "a b", trusted_proxies = "10.0.0.1")
  wrong("base_path_field: is believed of trusted_proxies only", base_path_field = "X-Forwarded-Prefix")
})

test("HOST says where to listen when it is an address, and no flag or DROVER_HOST does", function() {
  listens_on <- function(env, ...) {
    server <- launch(command_of(below_app(), workers = 1L, ...), env = env)
    expect(!is.null(server$url), toString(env), ": it does not listen")
    sub("^http://(.*):[0-9]+$", "\\1", server$url)
  }
  expect(listens_on(c(HOST = "127.0.0.2")) == "127.0.0.2", "HOST counts for nothing")
  expect(listens_on(c(HOST = "x86_64-pc-linux-gnu")) == "127.0.0.1", "the name of a system is taken for an address")
  expect(listens_on(c(HOST = "127.0.0.2", DROVER_HOST = "127.0.0.3")) == "127.0.0.3", "DROVER_HOST does not go before")
  expect(listens_on(c(HOST = "127.0.0.2"), host = "127.0.0.4") == "127.0.0.4", "a flag does not go before")
})
