# Apps of httpuv and Rook, and scripts of Rserve, over sockets. What they are told and answer in every detail is
# compared with httpuv in tests/plumber.

test_that("a function of a request, a list with `call` and an object with `$call` are served as they are", {
  rook <- c(
    "say <- function(text) list(status = 200L, headers = list('Content-Type' = 'text/plain', 'X-N' = 1e6), body = text)",
    "object <- new.env()", "object$call <- function(req) say('an object')",
    "app <- dr_app()", "dr_mount(app, '/function', function(req) say('a function'))",
    "dr_mount(app, '/list', list(call = function(req) say(charToRaw('a list'))))", "dr_mount(app, '/object', object)"
  )
  server <- local_server(rook)
  for (kind in c("function", "list", "object")) {
    answer <- http(server, paste0("/", kind, "/x"))
    expect_identical(answer$body, paste(if (kind == "function") "a" else if (kind == "list") "a" else "an", kind))
    expect_identical(answer$headers[["x-n"]], "1e+06")
  }
})

test_that("every method and path goes to the app, which is told where it is mounted", {
  server <- local_server({
    tell <- function(req) {
      list(status = 200L, headers = list("Content-Type" = "text/plain"), body = paste(
        req$REQUEST_METHOD, req$SCRIPT_NAME, req$PATH_INFO, req$QUERY_STRING, req$SERVER_NAME, req$HTTP_X_A
      ))
    }
    app <- dr_rook(tell)
    dr_mount(app, "/v/:version/api", tell)
  })
  ask <- function(...) http(server, ...)$body
  expect_identical(ask("/a%20b/?c=%20"), "GET  /a%20b/ ?c=%20 127.0.0.1 ")
  expect_identical(ask("/", "-X", "OPTIONS"), "OPTIONS  /  127.0.0.1 ")
  expect_identical(ask("/x", "-X", "BREW", "-H", "x-a: 1"), "BREW  /x  127.0.0.1 1")
  expect_identical(http(server, "/x", "--head")$status, 200L)
  expect_identical(http(server, "/x", "-X", "TRACE")$status, 405L)
})

test_that("below a prefix, the path is what is left of it", {
  server <- local_server({
    tell <- function(req) list(status = 200L, body = paste(req$SCRIPT_NAME, req$PATH_INFO))
    app <- dr_mount(dr_mount(dr_app(), "/v/:version/api", tell), "/api", tell)
  })
  ask <- function(path) http(server, path)$body
  expect_identical(ask("/v/1%2F2/api/x/y"), "/v/1%2F2/api /x/y")
  expect_identical(ask("/v/1/api"), "/v/1/api /")
  expect_identical(ask("/api/"), "/api /")
  expect_identical(ask("/API/x"), "/API /x")
  expect_identical(http(server, "/apix")$status, 404L)
})

test_that("an error, and what is no answer, is 500 without a reason for the client and with one in the log", {
  server <- local_server({
    app <- dr_rook(function(req) switch(req$PATH_INFO,
      "/stop" = stop("a secret"), "/null" = NULL, "/status" = list(status = "200", body = "x"),
      "/body" = list(status = 200L, body = list(1)), "/split" = list(status = 200L, headers = list(A = "1\r\nB: 2"), body = ""),
      "/names" = list(status = 200L, headers = list("x"), body = ""), "/file" = list(status = 200L, body = c(file = "/none")),
      "/rejected" = promises::promise_reject("a secret")
    ))
  })
  for (path in c("/stop", "/null", "/status", "/body", "/split", "/names", "/file", "/rejected")) {
    answer <- http(server, path)
    expect_identical(answer$status, 500L, info = path)
    expect_false(grepl("secret|none", answer$body), info = path)
  }
  expect_match(server$wait_log("GET /stop"), "a secret", all = FALSE)
  expect_match(server$wait_log("GET /null"), "it must be list\\(status", all = FALSE)
  expect_match(server$wait_log("GET /status"), "must be a whole number from 200 to 599", all = FALSE)
})

test_that("promises, and answers of this package, are answers", {
  skip_if_not_installed("promises")
  server <- local_server({
    app <- dr_rook(function(req) {
      if (req$PATH_INFO == "/own") return(dr_json(list(own = TRUE), status = 202L))
      promises::promise(function(resolve, reject) later::later(function() resolve(list(status = 203L, body = "later")), 0.05))
    })
  })
  expect_identical(http(server, "/own")[c("status", "body")], list(status = 202L, body = "{\"own\":true}"))
  expect_identical(http(server, "/")[c("status", "body")], list(status = 203L, body = "later"))
})

test_that("a function of url, query, body and headers is called as by Rserve", {
  server <- local_server({
    app <- dr_mount(dr_app(), "/r", function(url, query, body, headers) {
      switch(url,
        "/html" = list("<p>"), "/typed" = list(as.raw(65:67), "a/b", c("X-A: 1", "X-B: two: 3"), 201L),
        "/file" = list(file = Sys.getenv("THE_FILE"), "text/plain"), "/wrong" = "a secret",
        list(paste(utils::capture.output({
          utils::str(url); utils::str(query); utils::str(body); cat(rawToChar(headers))
        }), collapse = "\n"), "text/plain")
      )
    })
  }, env = c(THE_FILE = {
    file <- withr::local_tempfile()
    writeLines("from a file", file)
    file
  }))
  expect_identical(http(server, "/r/html")$headers[["content-type"]], "text/html")
  typed <- http(server, "/r/typed")
  expect_identical(typed$status, 201L)
  expect_identical(typed$body, "ABC")
  expect_identical(unname(typed$headers[c("content-type", "x-a", "x-b")]), c("a/b", "1", "two: 3"))
  expect_identical(http(server, "/r/file")$body, "from a file\n")
  wrong <- http(server, "/r/wrong")
  expect_identical(wrong$status, 500L)
  expect_false(grepl("secret", wrong$body))
  told <- http(server, "/r/a%20b+c?x=1&y=%20+z&x=2", "-H", "X-Foo: 1")$body
  expect_match(told, "chr \"/a b c\"", fixed = TRUE)
  expect_match(told, "Named chr [1:3] \"1\" \"  z\" \"2\"", fixed = TRUE)
  expect_match(told, "Request-Method: GET\nHost: ", fixed = TRUE)
  expect_match(told, "X-Foo: 1", fixed = TRUE)
  posted <- http(server, "/r/p?q=1", "--data", "a=1&b=+%41")$body
  expect_match(posted, " Named chr \"1\"", fixed = TRUE)
  expect_match(posted, " Named chr [1:2] \"1\" \" A\"", fixed = TRUE)
  expect_match(http(server, "/r/p", "-H", "Content-Type: text/x", "--data", "abc")$body, "\"content-type\")= chr \"text/x\"", fixed = TRUE)
})

test_that("folders of staticPaths are served, and nothing beside them", {
  skip_if_not_installed("httpuv")
  folder <- withr::local_tempdir()
  dir.create(file.path(folder, "public"))
  writeLines("<p>index</p>", file.path(folder, "public", "index.html"))
  writeLines("secret", file.path(folder, "secret.txt"))
  server <- local_server(c(
    "app <- dr_rook(list(call = function(req) list(status = 200L, body = 'the app'), staticPaths = list(",
    sprintf("  '/files' = '%s', '/files/no' = httpuv::excludeStaticPath(),", file.path(folder, "public")),
    sprintf("  '/through' = httpuv::staticPath('%s', fallthrough = TRUE))))", file.path(folder, "public"))
  ))
  ask <- function(...) http(server, ...)[c("status", "body")]
  expect_identical(ask("/files/"), list(status = 200L, body = "<p>index</p>\n"))
  expect_identical(ask("/files/none")$status, 404L)
  expect_identical(ask("/files/no/x"), list(status = 200L, body = "the app"))
  expect_identical(ask("/through/none"), list(status = 200L, body = "the app"))
  for (path in c("/files/../secret.txt", "/files/%2e%2e/secret.txt", "/files/..%2fsecret.txt", "/files/..%5csecret.txt")) {
    expect_false(grepl("secret", ask(path)$body), info = path)
  }
  expect_error(dr_rook(list(call = identity, staticPaths = list("/x" = "/none"))), "there is no \"/none\"")
})

test_that("a body whose strings were built to collide, or that is nested too deep, is refused before the app reads it", {
  server <- local_server({
    app <- dr_rook(function(req) list(status = 200L, body = as.character(length(req$rook.input$read()))))
  })
  ask <- function(text, type = "application/json") {
    file <- withr::local_tempfile()
    writeLines(text, file, sep = "")
    answer <- http(server, "/", "-H", paste0("Content-Type: ", type), "--data-binary", paste0("@", file))
    c(answer$status, if (answer$status == 200L) as.integer(answer$body) == nchar(text))
  }
  pairs <- do.call(paste0, expand.grid(rep(list(c("Ab", "BA")), 12L)))
  expect_identical(ask(jsonlite::toJSON(pairs)), 400L)
  expect_identical(ask(paste0(pairs, "=1", collapse = "&"), "application/x-www-form-urlencoded"), 400L)
  expect_identical(ask(paste0(strrep("[", 20000), strrep("]", 20000))), 400L)
  # what is malformed, or harmless, is the app's to read
  expect_identical(ask(jsonlite::toJSON(as.character(1:10000))), c(200L, 1L))
  expect_identical(ask(paste0("{", strrep("x", 20000))), c(200L, 1L))
})

test_that("what the package Rook puts together gets requests, and gives answers, as in its own server", {
  skip_if_not_installed("Rook")
  apps <- c(
    "app <- dr_app()",
    "dr_mount(app, '/builder', Rook::Builder$new(Rook::URLMap$new('/a' = function(env) {",
    "  response <- Rook::Response$new()", "  response$write(paste('a', Rook::Request$new(env)$GET()$x))",
    "  response$finish()", "}, '.*' = Rook::App$new(function(env) {",
    "  list(status = 200L, headers = list('Content-Type' = 'text/plain'), body = c(env$SCRIPT_NAME, env$PATH_INFO))",
    "}))))",
    "dr_mount(app, '/function', function(env) {", "  request <- Rook::Request$new(env)", "  response <- Rook::Response$new()",
    "  response$write(paste(request$GET()$x, request$POST()$y))", "  response$finish()", "})"
  )
  server <- local_server(apps)
  expect_identical(http(server, "/builder/a?x=1%202")$body, "a 1 2")
  expect_identical(http(server, "/builder/b")$body, "/builder/b")
  expect_identical(http(server, "/function/?x=1&y=2", "-d", "y=3")$body, "1 3")
})
