# A program as it is written for the API of drogonR runs here when its library() call names this package.
test_that("a program written for drogonR runs", {
  folder <- withr::local_tempdir()
  writeLines("body {}", file.path(folder, "site.css"))
  server <- local_server({
    items <- new.env()
    items$all <- list(list(id = 1L, name = "first"))

    app <- dr_app(list_responses = TRUE)
    dr_use(app, function(req, nxt) {
      if (startsWith(req$path, "/admin") && is.null(dr_header(req, "X-Token"))) {
        return(list(status = 401L, body = "token needed", headers = list("WWW-Authenticate" = "Token")))
      }
      res <- nxt()
      res$headers[["X-Powered-By"]] <- "R"
      res
    })
    dr_get(app, "/", function(req) "plain text")
    dr_get(app, "/html", function(req) dr_html("<h1>hi</h1>"))
    dr_get(app, "/items", function(req) dr_json(items$all))
    dr_get(app, "/items/:id", function(req) {
      found <- Filter(function(item) item$id == as.integer(req$params[["id"]]), items$all)
      if (!length(found)) return(dr_json(list(error = "not found"), status = 404L))
      dr_json(found[[1]])
    })
    dr_post(app, "/items", function(req) {
      item <- dr_body(req, as = "json")
      items$all <- c(items$all, list(item))
      dr_json(item, status = 201L, headers = list(Location = paste0("/items/", item$id)))
    })
    dr_put(app, "/items/{id}", function(req) list(status = 200L, body = toupper(req$body), headers = list()))
    dr_delete(app, "/items/<id>", function(req) dr_response("", status = 204L))
    dr_get(app, "/search", function(req) {
      q <- dr_query(req)
      dr_text(sprintf("q=%s page=%s", q[["q"]], dr_query(req, "page")))
    })
    dr_post(app, "/login", function(req) dr_redirect(paste0("/hello/", req$query[["user"]])))
    dr_get(app, "/admin/x", function(req) "secret")
    dr_get(app, "/fail", function(req) stop("broken"))
    dr_static(app, "/static", Sys.getenv("FOLDER"))
    dr_on_error(app, function(req, err) {
      dr_json(list(error = conditionMessage(err), path = req$path), status = 500L)
    })
  }, threads = 2L, workers = 1L, max_queue = 64L, cpp_workers = 2L, on_worker_start = function() NULL,
  env = c(FOLDER = folder))

  expect_identical(http(server, "/")$body, "plain text")
  expect_identical(http(server, "/")$headers[["x-powered-by"]], "R")
  expect_identical(http(server, "/html")$headers[["content-type"]], "text/html; charset=utf-8")
  expect_identical(http(server, "/items")$body, "[{\"id\":1,\"name\":\"first\"}]")
  expect_identical(http(server, "/items/1")$body, "{\"id\":1,\"name\":\"first\"}")
  expect_identical(http(server, "/items/9")$status, 404L)
  made <- http(server, "/items", "-H", "Content-Type: application/json", "-d", "{\"id\":2,\"name\":\"second\"}")
  expect_identical(made$status, 201L)
  expect_identical(made$headers[["location"]], "/items/2")
  expect_identical(http(server, "/ITEMS/2")$body, "{\"id\":2,\"name\":\"second\"}")
  expect_identical(http(server, "/items/2", "-X", "PUT", "-H", "Content-Type: text/plain", "-d", "abc")$body, "ABC")
  expect_identical(http(server, "/items/2", "-X", "DELETE")$status, 204L)
  expect_identical(http(server, "/search?q=a%20b&page=1&page=2")$body, "q=a b page=2")
  expect_identical(http(server, "/login", "-d", "user=ada")$headers[["location"]], "/hello/ada")
  expect_identical(http(server, "/admin/x")[c("status", "body")], list(status = 401L, body = "token needed"))
  expect_identical(http(server, "/admin/x")$headers[["www-authenticate"]], "Token")
  expect_identical(http(server, "/admin/x", "-H", "X-Token: 1")$body, "secret")
  fail <- http(server, "/fail")
  expect_identical(fail$status, 500L)
  expect_identical(fail$body, "{\"error\":\"broken\",\"path\":\"/fail\"}")
  css <- http(server, "/static/site.css")
  expect_match(css$headers[["content-type"]], "^text/css")
  expect_identical(css$body, "body {}\n")
  expect_identical(http(server, "/static/../etc/passwd")$status >= 400L, TRUE)
})

# As programs for language models are written for drogonR: events made by hand, state that is a list, middleware around.
test_that("a program of drogonR that streams tokens runs", {
  server <- local_server({
    app <- dr_app(list_responses = TRUE)
    dr_use(app, function(req, nxt) nxt())
    dr_post(app, "/v1/chat/completions", function(req) {
      body <- dr_body(req, as = "json")
      words <- strsplit(body$messages$content[[1L]], " ")[[1L]]
      event <- function(x) paste0("data: ", dr_to_json(x, auto_unbox = TRUE), "\n\n")
      if (!isTRUE(body$stream)) return(dr_json(list(text = paste(rev(words), collapse = " "))))
      dr_stream(function(state, cancelled) {
        if (cancelled) return(NULL)
        if (state$i > length(words)) return(list(chunk = "data: [DONE]\n\n", state = state, done = TRUE))
        list(chunk = event(list(token = words[[state$i]])), state = list(i = state$i + 1L), done = FALSE)
      }, state = list(i = 1L), headers = list("Cache-Control" = "no-cache"), min_interval = 0.01)
    })
    dr_get(app, "/count", function(req) {
      dr_stream_sse(function(state, cancelled) {
        list(data = paste("line", c(state, state + 1), collapse = "\n"), state = state + 2, done = state >= 3)
      }, state = 1)
    })
  }, workers = 2L)
  ask <- function(stream) {
    body <- sprintf("{\"messages\":[{\"role\":\"user\",\"content\":\"one two\"}],\"stream\":%s}", stream)
    http(server, "/v1/chat/completions", "-H", "Content-Type: application/json", "-d", body)
  }
  expect_identical(ask("false")$body, "{\"text\":\"two one\"}")
  streamed <- ask("true")
  expect_identical(streamed$body, "data: {\"token\":\"one\"}\n\ndata: {\"token\":\"two\"}\n\ndata: [DONE]\n\n")
  expect_match(streamed$headers[["content-type"]], "^text/event-stream")
  expect_identical(streamed$headers[["cache-control"]], "no-cache")
  expect_identical(http(server, "/count")$body, "data: line 1\ndata: line 2\n\ndata: line 3\ndata: line 4\n\n")
})
