# `drover dev`: what is seen of a change, in the terminal and by a browser.

# Starts it for a file: port 0, and whatever else.
develop <- function(file, ..., env = NULL) {
  server <- launch(c(drover_program(), "dev", file, "--port", "0", ...), env = c(runtime_folder(), env))
  expect(!is.null(server$url), paste(c("it does not listen", server$log()), collapse = "\n"))
  server
}

# As a browser asks.
browse <- function(server, path = "/") ask(server, path, "-H", "Accept: text/html,*/*;q=0.8")

generation <- function(server) ask(server, "/__drover_dev__/generation")$body

# An app of one page.
write_page <- function(text, file) {
  write_app(c(
    sprintf("app <- dr_get(dr_app(), '/', function(req) dr_html('<html><body><p>%s</p></body></html>'))", text),
    "dr_get(app, '/data', function(req) list(a = 1))", "dr_get(app, '/n/<n>', function(req) req$params[['n']])",
    "if (dir.exists('www')) dr_static(app, '/files', 'www')", "app"
  ), file)
}

# A folder with such an app.
page_folder <- function(text) {
  folder <- tempfile("page-")
  dir.create(folder)
  write_page(text, file.path(folder, "app.R"))
  folder
}

comes <- function(server, text, path = "/") {
  seen <- within(function() grepl(text, browse(server, path)$body, fixed = TRUE))
  expect(seen, paste(c(paste(text, "does not come"), server$log()), collapse = "\n"))
}

test("an app that does not load is told with line and calls, at the terminal and to browsers, until it does", function() {
  folder <- page_folder("one")
  file <- file.path(folder, "app.R")
  broken <- c("f <- function(x) {", "  g(x)", "}", "g <- function(x) log(x)", "app <- dr_app()", "f('<b>')")
  write_app(broken, file)
  server <- develop(file)
  shown <- browse(server)
  expect(shown$status == "500" && grepl("^text/html", field(shown, "content-type")), "another answer")
  for (text in c("app.R does not load", "line 8: non-numeric argument to mathematical function in log(x)",
    "f(&quot;&lt;b&gt;&quot;) at app.R:8", "g(x) at app.R:4", "/__drover_dev__/refresh.js")) {
    expect(grepl(text, shown$body, fixed = TRUE), paste0("no '", text, "' in\n", shown$body))
  }
  expect(grepl("^text/plain", field(ask(server, "/data"), "content-type")), "a page for who asks for data")
  expect(logged(server, "app.R does not load: line 8: non-num") && logged(server, "g\\(x\\) at app.R:4"), "not told")
  before <- generation(server)
  write_page("mended", file)
  comes(server, "<p>mended</p>")
  expect(generation(server) != before, "open pages would not be loaded again")
  write_app("app <- dr_app(", file)
  comes(server, "line 4, column 0: unexpected end of input")
  write_page("again", file)
  comes(server, "<p>again</p>")
}, ways = 1)

test("a file of plumber that does not load is told with its calls, too", function() {
  folder <- page_folder("one")
  writeLines(c("inner <- function(x) stop('too deep: ', x)", "outer <- function(x) {", "  inner(x + 1)", "}", "outer(1)"),
    file.path(folder, "helper.R"))
  file <- file.path(folder, "plumber.R")
  endpoint <- c("#* @get /", "#* @serializer html", "function() 'loaded'")
  writeLines(c("mild <- tryCatch(stop('caught'), error = identity)", "source('helper.R')", endpoint), file)
  server <- develop(file)
  expect(logged(server, "plumber.R does not load: line 2: too deep: 2"), server$log())
  expect(logged(server, "    source\\(\"helper.R\"\\) at plumber.R:2"), server$log())
  expect(logged(server, "    outer\\(1\\) at helper.R:5") && logged(server, "    inner\\(x \\+ 1\\) at helper.R:3"), server$log())
  expect(grepl("inner(x + 1) at helper.R:3", browse(server)$body, fixed = TRUE), "not in the page")
  # what @plumber is given the router by
  writeLines(c(endpoint, "add <- function(pr) stop('no route')", "#* @plumber", "function(pr) {", "  add(pr)", "}"), file)
  expect(logged(server, "line 6: no route") && logged(server, "    add\\(pr\\) at plumber.R:7"), server$log())
  writeLines(c(endpoint, "#* @plumber", "function(pr) plumber::pr_get(pr, '/more', function() 'more')"), file)
  comes(server, "loaded")
  expect(grepl("more", ask(server, "/more")$body), "the router was not added to")
}, ways = 1)

test("pages get a script that has them loaded again, and nothing else does", function() {
  folder <- page_folder("one")
  dir.create(file.path(folder, "www"))
  writeLines("<p>static</p>", file.path(folder, "www", "page.html"))
  server <- develop(folder)
  script <- paste0("<script src=\"/__drover_dev__/refresh.js\" data-generation=\"", generation(server), "\"></script>")
  expect(browse(server)$body == paste0("<html><body><p>one</p>", script, "</body></html>"), browse(server)$body)
  expect(identical(field(browse(server), "cache-control"), "no-store"), "a browser may keep it")
  static <- browse(server, "/files/page.html")
  expect(static$body == paste0("<p>static</p>\n", script) && is.na(field(static, "etag")), static$body)
  expect(ask(server, "/data")$body == "{\"a\":1}", "JSON is changed")
  expect(grepl("location.reload", ask(server, "/__drover_dev__/refresh.js")$body), "no script")
  below <- develop(folder, "--base-path", "/app")
  expect(grepl("<script src=\"/app/__drover_dev__/refresh.js\"", browse(below)$body, fixed = TRUE), browse(below)$body)
  expect(nzchar(generation(below)), "below a path the script asks in vain")
  plain <- serve(folder, workers = 1)
  expect(!grepl("script", browse(plain)$body) && generation(plain) != generation(server), "drover serve has it, too")
  expect(ask(plain, "/__drover_dev__/generation")$status == "404", "drover serve has it, too")
}, ways = 1)

test("a change of what is sourced, or beside, counts; a picture's has pages loaded again and not the app", function() {
  folder <- page_folder("one")
  shared <- tempfile("shared-", fileext = ".R")
  writeLines("greeting <- 'first'", shared)
  write_app(c(
    sprintf("source('%s')", shared), "app <- dr_get(dr_app(), '/', function(req) paste(greeting, Sys.getpid()))", "app"
  ), file.path(folder, "app.R"))
  server <- develop(folder)
  writeLines("greeting <- 'second'", shared)
  comes(server, "second ")
  before <- c(generation(server), ask(server, "/")$body)
  writeLines("p {}", file.path(folder, "site.css"))
  expect(within(function() generation(server) != before[[1L]]), "pages are not loaded again")
  expect(ask(server, "/")$body == before[[2L]], "the app was loaded again for a picture")
  expect(logged(server, "site.css changed: pages that are open are loaded again"), "not told")
}, ways = 1)

test("an error is a page for a browser, which is loaded again when the app is mended", function() {
  folder <- page_folder("one")
  file <- file.path(folder, "app.R")
  write_app(c("app <- dr_get(dr_app(), '/', function(req) stop('<not> yet'))",
    "dr_get(app, '/own', function(req) dr_json(list(a = 1), status = 500))"), file)
  server <- develop(file)
  for (path in c("/", "/own", "/nowhere")) {
    shown <- browse(server, path)
    expect(as.integer(shown$status) >= 404L && grepl("^text/html", field(shown, "content-type")), path)
    script <- paste0("refresh.js\" data-generation=\"", generation(server), "\"></script>")
    expect(grepl(script, shown$body, fixed = TRUE), shown$body)
    expect(!grepl("refresh", ask(server, path)$body), path, " is a page for who asks for data")
  }
  expect(grepl("&lt;not&gt; yet", browse(server)$body, fixed = TRUE), browse(server)$body)
  before <- generation(server)
  write_page("mended", file)
  comes(server, "<p>mended</p>")
  expect(generation(server) != before, "the page of the error would not be loaded again")
}, ways = 1)

test("who names a folder is told which of its files does not load, at the terminal and in the browser", function() {
  folder <- page_folder("one")
  writeLines(c("library(drover)", "x <- (1 +"), file.path(folder, "app.R"))
  there <- paste("cd", shQuote(folder), "&& exec", shQuote(drover_program()), "dev . --port 0")
  server <- launch(c("sh", "-c", there), env = runtime_folder())
  shown <- browse(server)$body
  title <- paste0("<h1>", normalizePath(folder), " does not load</h1>")
  expect(grepl(title, shown, fixed = TRUE) && grepl("<pre>app.R: line 3, column 0: ", shown, fixed = TRUE), shown)
  expect(logged(server, "does not load: app.R: line 3, column 0"), "not told")
  writeLines(c("engine: drover", "file: other.R"), file.path(folder, "_server.yml"))
  writeLines("stop('elsewhere')", file.path(folder, "other.R"))
  comes(server, "other.R: line 1: elsewhere")
}, ways = 1)

test("a change of data beside the app has it loaded again, and what programs write has not", function() {
  folder <- page_folder("one")
  write_app(c("data <- readLines('data.csv')", "dr_get(dr_app(), '/', function(req) paste(data, Sys.getpid()))"),
    file.path(folder, "app.R"))
  writeLines("first", file.path(folder, "data.csv"))
  dir.create(file.path(folder, "made"))
  server <- develop(folder, "--ignore", file.path(folder, "made"), "--access-log", file.path(folder, "asked.txt"))
  comes(server, "first")
  for (name in c("a.log", "db.sqlite", "db.sqlite-wal", "Rplots.pdf", "made/a.csv")) {
    writeLines("x", file.path(folder, name))
  }
  writeLines("second", file.path(folder, "data.csv"))
  comes(server, "second")
  # all of them were there with the data
  expect(logged(server, "drover: data.csv changed: loading anew"), server$log())
  expect(!any(grepl("(a.log|db.sqlite|Rplots|made|asked).* changed", server$log())), server$log())
}, ways = 1)

test("an app that writes a file whenever it is loaded is not loaded for ever", function() {
  folder <- page_folder("one")
  write_app(c("saveRDS(Sys.time(), 'cache.rds')", "dr_get(dr_app(), '/', function(req) 'x')"), file.path(folder, "app.R"))
  server <- develop(folder)
  expect(logged(server, "cache.rds changes whenever the app is loaded or asked, and is not watched"), server$log())
  before <- generation(server)
  write_page("another", file.path(folder, "app.R"))
  comes(server, "<p>another</p>")
  expect(generation(server) != before, "it is not loaded again for its own file")
  # a page that is loaded again, and whose handler then writes
  write_app(c("app <- dr_get(dr_app(), '/', function(req) {", "  for (name in c('a.json', 'b.png')) writeLines('x', name)",
    "  'x'", "})", "app"), file.path(folder, "app.R"))
  shown <- ""
  ends <- function() {
    now <- generation(server)
    if (now != shown) browse(server)
    shown <<- now
    all(vapply(c("a.json changes whenever", "b.png changes whenever"), grepl, NA, paste(server$log(), collapse = "\n")))
  }
  expect(within(ends), paste(server$log(), collapse = "\n"))
}, ways = 1)

test("a page of another site reads nothing under a name that its owner has pointed here", function() {
  file <- file.path(page_folder("one"), "app.R")
  of <- function(server, host, path = "/") {
    ask(server, path, "-H", paste("Host:", host), "-H", "Accept: application/json")
  }
  server <- develop(file)
  for (path in c("/", "/data", "/__drover_dev__/generation")) {
    refused <- of(server, "evil.example:8000", path)
    expect(refused$status == "421" && grepl("--allowed-hosts", refused$body), path, ": ", refused$status)
    expect(grepl("^application/problem", field(refused, "content-type")), "no problem: ", field(refused, "content-type"))
    for (host in c("127.0.0.1", "localhost:8000", "app.localhost", Sys.info()[["nodename"]])) {
      expect(of(server, host, path)$status == "200", host, " is refused at ", path)
    }
  }
  expect(logged(server, "evil\\.example"), "the developer is not told")
  server <- develop(file, "--allowed-hosts", "hub.example,*.example.org")
  for (host in c("hub.example", "a.example.org:80", "127.0.0.1")) expect(of(server, host)$status == "200", host)
  expect(of(server, "evil.example")$status == "421", "others are allowed")
  expect(of(develop(file, "--allowed-hosts", "*"), "evil.example")$status == "200", "not all are allowed")
  # without development, all are allowed unless it is said which
  expect(of(serve(file, workers = 1L), "evil.example")$status == "200", "not all are allowed")
  named <- serve(file, workers = 1L, allowed_hosts = "shop.example,*.shop.example")
  expect(of(named, "evil.example")$status == "421" && of(named, "www.shop.example")$status == "200", "others are")
}, ways = 1)

test("changes under load: no request fails", function() {
  folder <- page_folder("0")
  server <- develop(folder, "--workers", "2")
  load <- start_load(server, "/n/{n}", echo = TRUE, connections = 4)
  for (version in c("1", "2", "3")) {
    write_page(version, file.path(folder, "app.R"))
    comes(server, paste0("<p>", version, "</p>"))
  }
  expect_account(end_load(load))
}, ways = 1)

test("other settings have it started again, and wrong ones are told", function() {
  folder <- page_folder("one")
  # one that nobody has any more: the next one may be a client's
  other <- serve(workers = 1)
  send_signal(other$pid, tools::SIGTERM)
  exit_status(other)
  server <- launch(c(drover_program(), "dev", folder, "--port", other$port), env = runtime_folder())
  expect(!is.null(server$url), paste(server$log(), collapse = "\n"))
  settings <- file.path(folder, "drover.toml")
  writeLines("max_bdoy = 1", settings)
  expect(logged(server, "max_bdoy is not a setting") && logged(server, "the settings from before go on"), "not told")
  expect(ask(server, "/data")$status == "200", "it has ended")
  writeLines(c("[limits]", "max_body = 3"), settings)
  asked <- function() ask(server, "/data", "-X", "GET", "-d", "longer")$status
  expect(within(function() asked() == "413"), paste(server$log(), collapse = "\n"))
  expect(server$process$is_alive(), "it is another process")
}, ways = 1)

test("--open has a browser open the app when it serves", function() {
  opened <- tempfile("opened-")
  browser <- tempfile("browser-")
  writeLines(c("#!/bin/sh", paste0("echo \"$1\" > ", opened, ".new; mv ", opened, ".new ", opened)), browser)
  Sys.chmod(browser, "0755")
  server <- develop(page_folder("one"), "--open", env = c(BROWSER = browser))
  expect(within(function() file.exists(opened)), "nothing is opened")
  expect(readLines(opened) == server$url, readLines(opened))
}, ways = 1)
