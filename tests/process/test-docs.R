# The description of an app and the page of documentation, however a server was started.

docs_app <- function(...) write_app(c(
  "app <- dr_app()",
  "dr_about(app, 'Orders', '1.2.0')",
  "dr_get(app, '/orders/<id:int>', function(req) 'an order')",
  ..., "app"
))

# The document that a server has, as R lists.
described_by <- function(answer) jsonlite::fromJSON(answer$body, simplifyVector = FALSE)

test_every_worker("an app is described, and shown by a page, without R", function(start) {
  server <- start(docs_app())
  json <- ask(server, "/openapi.json")
  expect(json$status == "200" && field(json, "content-type") == "application/json", "JSON: ", json$status)
  spec <- described_by(json)
  expect(spec$info$title == "Orders" && identical(names(spec$paths), "/orders/{id}"), json$body)
  yaml <- ask(server, "/openapi.yaml")
  expect(grepl('^openapi: "3.1.0"\n', yaml$body) && field(yaml, "content-type") == "application/yaml", yaml$body)
  page <- ask(server, "/__docs__/")
  expect(page$status == "200" && grepl("<title>API</title>", page$body, fixed = TRUE), "the page: ", page$body)
  expect(startsWith(field(page, "content-security-policy"), "default-src 'self';"), "the policy of the page")
  expect(!grepl("<script[^>]*>[^<]|style=|https?://", page$body), "the page has inline parts, or addresses of others")
  for (file in c("main.js", "style.css", "icon.png", "licenses.txt")) {
    expect(ask(server, paste0("/__docs__/", file))$status == "200", file)
  }
  packed <- ask(server, "/__docs__/main.js", "-H", "Accept-Encoding: gzip", "--compressed")
  expect(field(packed, "content-encoding") == "gzip", "a script of a megabyte is sent as it is")
  plain <- ask(server, "/__docs__/main.js")
  expect(is.na(field(plain, "content-encoding")) && nchar(plain$body) > 1e6, "a client that does not unpack gets it packed")
  expect(identical(packed$body, plain$body), "what is packed is something else")
  expect(ask(server, "/__docs__/../openapi.json", "--path-as-is")$status %in% c("400", "404"), "a path that leaves it")
  moved <- ask(server, "/__docs__")
  expect(moved$status == "307" && field(moved, "location") == "__docs__/", "no slash: ", moved$status)
  for (path in c("/openapi.json", "/openapi.yaml", "/__docs__/", "/__docs__/main.js")) {
    expect(ask(server, path, "-I")$status == "200", "HEAD ", path)
    post <- ask(server, path, "-d", "x")
    expect(post$status == "405" && field(post, "allow") == "GET, HEAD, OPTIONS", "POST ", path, ": ", post$status)
    tag <- field(ask(server, path), "etag")
    again <- ask(server, path, "-H", paste("If-None-Match:", tag))
    expect(again$status == "304" && !nzchar(again$body), path, " with its tag: ", again$status)
  }
})

test_every_worker("the app's own goes first, and what covers a path covers the description", function(start) {
  server <- start(docs_app(
    "dr_get(app, '/openapi.json', function(req) 'of the app')", "dr_post(app, '/openapi.yaml', function(req) 'posted')",
    "dr_auth_bearer(app, c(ada = '0123456789abcdef0123456789abcdef'), routes = '/__docs__')",
    "dr_not_found(app, function(req) 'nothing here')"
  ))
  expect(ask(server, "/openapi.json")$body == "of the app", "a route does not go first")
  expect(ask(server, "/openapi.yaml")$status == "405", "a path of the app has methods that it does not know of")
  expect(ask(server, "/__docs__/")$status == "401", "anybody gets the page")
  as_ada <- c("-H", "Authorization: Bearer 0123456789abcdef0123456789abcdef")
  expect(ask(server, "/__docs__/", as_ada)$status == "200", "ada does not get the page")
  expect(ask(server, "/__docs", as_ada)$body == "nothing here", "another path is taken")
}, of = c("the session", "drover serve"))

test_every_worker("docs says who gets the description", function(start) {
  file <- docs_app()
  gets <- function(server, ...) ask(server, "/openapi.json", ...)$status == "200"
  server <- start(file, admin = "127.0.0.1:0", docs = FALSE)
  expect(!gets(server) && !gets(admin_of(server)), "somebody gets it, with docs = FALSE")
  server <- start(file, admin = "127.0.0.1:0", host = c("127.0.0.1", "0.0.0.0"))
  expect(!gets(server), "it is there for others than this machine")
  expect(gets(admin_of(server)), "whoever runs the server does not get it")
  expect(ask(admin_of(server), "/__docs__/")$status == "200", "no page for whoever runs the server")
  expect(grepl('data-try="no"', ask(admin_of(server), "/__docs__/")$body, fixed = TRUE), "one that tries endpoints")
  expect(ask(admin_of(server), "/openapi.json", "-d", "x")$status == "405", "POST at admin")
  server <- start(file, host = "0.0.0.0", docs = TRUE)
  expect(gets(server), "it is not there, with docs = TRUE")
  server <- start(file)
  for (name in c("Via: 1.1 x", "Forwarded: for=192.0.2.1", "X-Forwarded-For: 192.0.2.1", "X-Real-IP: 192.0.2.1")) {
    expect(gets(server) && !gets(server, "-H", name), "with ", name)
  }
}, of = c("the session", "drover serve"))

test_every_worker("a reload has the description of the app as it is then", function(start) {
  file <- write_app("dr_get(dr_app(), readLines(Sys.getenv('APP_PATH')), function(req) 'x')")
  path <- tempfile("path-")
  writeLines("/before", path)
  Sys.setenv(APP_PATH = path)
  on.exit(Sys.unsetenv("APP_PATH"))
  server <- start(file)
  shown <- function() names(described_by(ask(server, "/openapi.json"))$paths)
  expect(identical(shown(), "/before"), "before: ", shown())
  tag <- field(ask(server, "/openapi.json"), "etag")
  writeLines("/after", path)
  send_signal(server$pid, tools::SIGHUP)
  expect(within(function() identical(shown(), "/after")), "after: ", shown())
  expect(ask(server, "/openapi.json", "-H", paste("If-None-Match:", tag))$status == "200", "the tag is the same")
}, of = c("dr_run()", "drover serve"))

test("what takes all paths without a description keeps these, and plumber's own page stays plumber's", function() {
  rook <- serve(write_app("function(req) list(status = 200L, headers = list(), body = paste('rook', req$PATH_INFO))"))
  for (path in c("/openapi.json", "/__docs__/")) {
    expect(ask(rook, path)$body == paste("rook", path), path, ": ", ask(rook, path)$body)
  }
  if (!requireNamespace("plumber", quietly = TRUE)) return(skip("plumber is not installed"))
  lines <- c("#* @apiTitle Mine", "", "#* A thing", "#* @get /thing/<id:int>", "function(id) id")
  file <- tempfile("plumber-", fileext = ".R")
  writeLines(lines, file)
  by_us <- serve(file, docs = TRUE)
  spec <- described_by(ask(by_us, "/openapi.json"))
  expect(spec$openapi == "3.1.0" && spec$info$title == "Mine" && spec$paths[["/thing/{id}"]]$get$summary == "A thing",
    ask(by_us, "/openapi.json")$body)
  expect(length(spec$paths) == 1L, "paths of plumber's own page are described: ", toString(names(spec$paths)))
  folder <- tempfile("own-")
  dir.create(folder)
  writeLines(lines, file.path(folder, "plumber.R"))
  writeLines("options(plumber.docs = TRUE); pr <- plumber::plumb('plumber.R')", file.path(folder, "app.R"))
  if (!requireNamespace("swagger", quietly = TRUE)) return(skip("swagger is not installed"))
  by_plumber <- serve(file.path(folder, "app.R"))
  expect(startsWith(described_by(ask(by_plumber, "/openapi.json"))$openapi, "3.0"), "plumber's own description is gone")
}, ways = 1)

test("an app of thousands of routes is described when it starts", function() {
  server <- serve(write_app(c(
    "app <- dr_app()", "for (i in 1:3000) dr_get(app, paste0('/a', i, '/<id:int>'), function(req) 'x')", "app"
  )), workers = "1")
  expect(length(described_by(ask(server, "/openapi.json"))$paths) == 3000L, "paths are missing")
}, ways = 1)
