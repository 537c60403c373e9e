# Every kind of request while R collects garbage all the time, at every 61st allocation: a value that C forgot to
# protect is found here.

server <- local_server({
  app <- dr_app()
  dr_get(app, "/torture/<step:int>", function(req) {
    gctorture2(req$params[["step"]])
    "set"
  })
  dr_get(app, "/text", function(req) paste("text", req$method, req$path))
  dr_get(app, "/params/<id:int>/<name>/*rest", function(req) req$params)
  dr_get(app, "/query", function(req) as.list(req$query))
  dr_get(app, "/headers", function(req) as.list(req$headers))
  dr_get(app, "/cookies", function(req) as.list(req$cookies))
  dr_get(app, "/client", function(req) list(req$url, req$remote_addr, req$protocol, req$host, req$scheme, req$route))
  dr_post(app, "/json", function(req) req$json)
  dr_post(app, "/form", function(req) as.list(req$form))
  dr_post(app, "/files", function(req) {
    file <- req$files[[1]]
    list(file$field, file$name, file$type, file$size, rawToChar(file$content), as.list(req$form))
  })
  dr_post(app, "/raw", function(req) req$raw)
  dr_post(app, "/body", function(req) req$body)
  dr_get(app, "/response", function(req) dr_response("made", 201L, list("X-A" = "1", "X-B" = c("2", "3"))))
  dr_get(app, "/frame", function(req) data.frame(x = 1:3, y = letters[1:3], f = factor(c("u", "v", "u")), d = as.Date("2026-01-01") + 0:2))
  dr_get(app, "/null", function(req) NULL)
  dr_get(app, "/stop", function(req) stop("failed"))
  dr_get(app, "/warning", function(req) {
    warning("warned")
    "on"
  })
  dr_get(app, "/abort", function(req) dr_abort(418L, "a teapot"))
  dr_get(app, "/restart", function(req) invokeRestart("abort"))
  dr_get(app, "/s4", function(req) methods::getGeneric("show"))
  dr_get(app, "/promise", function(req) promises::promise(function(resolve, reject) later::later(function() resolve(list(a = 1)), 0)))
}, timeout = 600, queue_timeout = 600, frame = teardown_env())

test_that("answers are the same while garbage is collected all the time", {
  multipart <- paste0(
    "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\ncontent\r\n",
    "--b\r\nContent-Disposition: form-data; name=\"t\"\r\n\r\ntext\r\n--b--\r\n"
  )
  json <- c("Content-Type" = "application/json")
  requests <- list(
    list("/text"), list("/params/7/a%20b/c/d"), list("/query?a=1&b=%C3%A9&a=2"), list("/headers", headers = c("X-A" = "1", "X-A" = "2")),
    list("/cookies", headers = c(Cookie = "a=1; b=2")), list("/client"),
    list("/json", "POST", json, "{\"a\":[1,2,null],\"b\":{\"c\":\"\\u00e9\"},\"d\":[[1,2],[3,4]]}"),
    list("/json", "POST", json, "[{\"x\":1,\"y\":\"a\"},{\"x\":2,\"z\":true}]"), list("/json", "POST", json, "{\"a\":"),
    list("/form", "POST", c("Content-Type" = "application/x-www-form-urlencoded"), "a=1&b=2"),
    list("/files", "POST", c("Content-Type" = "multipart/form-data; boundary=b"), multipart),
    list("/raw", "POST", body = as.raw(0:255)), list("/body", "POST", body = "text"), list("/response"), list("/frame"), list("/null"),
    list("/stop"), list("/warning"), list("/abort"), list("/restart"), list("/s4"), list("/promise"), list("/none")
  )
  ask <- function() lapply(requests, function(request) {
    do.call(fetch, c(list(server), request))[c("status", "body")]
  })
  expected <- ask()
  expect_identical(vapply(expected, function(response) response$status, 0L), c(
    rep(200L, 8), 400L, rep(200L, 4), 201L, 200L, 204L, 500L, 200L, 418L, 500L, 500L, 200L, 404L
  ))
  # each failure has an id of its own
  texts <- function(answers) lapply(answers, function(answer) sub("[0-9a-f]{16}", "ID", printable(answer$body)))
  expect_identical(fetch(server, "/torture/61")$text, "set")
  tortured <- ask()
  expect_identical(fetch(server, "/torture/0")$text, "set")
  expect_identical(lapply(tortured, `[[`, "status"), lapply(expected, `[[`, "status"))
  expect_identical(texts(tortured), texts(expected))
})
