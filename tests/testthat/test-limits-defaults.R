# Secure defaults without any setting: who is reached, what answers and logs tell, what is believed.
# Not here: sizes and times (the other test-limits-*.R), malformed requests (tests/conformance).

server <- local_server({
  app <- dr_app()
  dr_get(app, "/text", function(req) "text")
  dr_get(app, "/json", function(req) list(a = 1))
  dr_get(app, "/raw", function(req) as.raw(1))
  dr_get(app, "/fail", function(req) stop("secret-7"))
  dr_post(app, "/fail", function(req) stop("secret-7"))
  dr_get(app, "/client", function(req) list(addr = req$remote_addr, host = req$host, scheme = req$scheme, url = req$url))
  dr_post(app, "/any", function(req) list(type = typeof(req$body), fields = length(req$form), query = length(req$query)))
  dr_get(app, "/partial", function(req) list(is.null(req$head), is.null(req$meth), is.null(req$nothing)))
  dr_get(app, "/names", function(req) list(names = names(req$query), one = req$query[["req"]]))
  dr_get(app, "/decoded/<x>", function(req) list(path = req$params[["x"]], query = req$query[["x"]]))
}, frame = teardown_env())

test_that("the server is bound to 127.0.0.1 only", {
  skip_without_proc()
  table <- strsplit(trimws(readLines("/proc/net/tcp")), " +")
  mine <- Filter(function(row) row[[4]] == "0A" && endsWith(row[[2]], sprintf(":%04X", server$port)), table)
  expect_identical(vapply(mine, `[[`, "", 2), sprintf("0100007F:%04X", server$port))
})

test_that("answers have a type with a charset, are not sniffed and name no software", {
  for (target in c("/text", "/json", "/raw", "/fail", "/none")) {
    response <- fetch(server, target)
    expect_identical(response$headers[["x-content-type-options"]], "nosniff", label = target)
    type <- response$headers[["content-type"]]
    expect_true(grepl("^application/(json|octet-stream)|charset=utf-8", type), label = paste(target, type))
    expect_false(grepl("[0-9]", paste(response$headers[names(response$headers) == "server"], collapse = "")), label = target)
    expect_false("x-powered-by" %in% names(response$headers))
    if (response$status >= 400L) expect_identical(response$headers[["cache-control"]], "no-store", label = target)
  }
})

test_that("error bodies are short text, or problem+json for who accepts it, and say nothing of R", {
  for (target in c("/fail", "/none")) {
    plain <- fetch(server, target)
    expect_match(plain$headers[["content-type"]], "^text/plain")
    expect_lt(length(plain$body), 200)
    problem <- fetch(server, target, headers = c(Accept = "application/json"))
    expect_identical(problem$headers[["content-type"]], "application/problem+json")
    fields <- jsonlite::fromJSON(problem$text)
    expect_identical(fields$type, "about:blank")
    expect_identical(fields$status, plain$status)
    for (text in c(plain$text, problem$text)) expect_false(grepl("secret-7|R version|stop\\(|function|\\.R\\b", text))
  }
})

test_that("a request's forwarding headers are not believed", {
  spoofed <- c("X-Forwarded-For" = "6.6.6.6", "X-Real-IP" = "6.6.6.6", "X-Forwarded-Host" = "evil", "X-Forwarded-Proto" = "https",
    Forwarded = "for=6.6.6.6;host=evil;proto=https")
  seen <- jsonlite::fromJSON(fetch(server, "/client", headers = spoofed)$text)
  expect_identical(seen$addr, "127.0.0.1")
  expect_identical(seen$host, "localhost")
  expect_identical(seen$scheme, "http")
})

test_that("header names with an underscore stand for no others", {
  spoofed <- jsonlite::fromJSON(fetch(server, "/client", headers = c("X_Forwarded_For" = "6.6.6.6"))$text)
  expect_identical(spoofed$addr, "127.0.0.1")
  expect_identical(fetch(server, "/text", headers = c("Content_Length" = "1"))$status, 400L)
})

test_that("no client chooses what R evaluates: names are data, `$` is exact, RDS is bytes", {
  expect_identical(fetch(server, "/partial")$text, "[true,true,true]")
  answer <- jsonlite::fromJSON(fetch(server, "/names?req=1&.GlobalEnv=2&system('id')=3&...=4")$text)
  expect_identical(answer$names, c("req", ".GlobalEnv", "system('id')", "..."))
  expect_identical(answer$one, "1")
  rds <- serialize(quote(stop("evaluated")), NULL)
  for (type in c("application/rds", "application/x-rds", "application/octet-stream")) {
    response <- fetch(server, "/any", "POST", c("Content-Type" = type), rds)
    expect_identical(jsonlite::fromJSON(response$text), list(type = "raw", fields = 0L, query = 0L), label = type)
  }
})

test_that("paths and queries are decoded once", {
  seen <- jsonlite::fromJSON(fetch(server, "/decoded/%2541?x=%2541")$text)
  expect_identical(seen, list(path = "%41", query = "%41"))
})

test_that("the log has no bodies, cookies or credentials", {
  fetch(server, "/fail", "POST", c(Authorization = "Bearer topsecret1", Cookie = "session=topsecret2", "Content-Type" = "text/plain"), "topsecret3")
  fetch(server, "/fail", headers = c("Proxy-Authorization" = "Basic topsecret4"))
  expect_true(within(function() any(grepl("POST /fail 500", server$log()))))
  expect_false(any(grepl("topsecret", server$log())))
})

test_that("uploads are readable by the owner only", {
  skip_without_proc()
  uploads <- withr::local_tempdir()
  spooling <- local_server({
    app <- dr_app()
    dr_post(app, "/", function(req) {
      path <- req$files[[1]]$path
      list(mode = format(file.info(path)$mode))
    })
  }, spool_above = 10, upload_path = uploads)
  body <- paste0("--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x\"\r\n\r\n", strrep("a", 1000), "\r\n--b--\r\n")
  seen <- jsonlite::fromJSON(fetch(spooling, "/", "POST", c("Content-Type" = "multipart/form-data; boundary=b"), body)$text)
  expect_match(seen$mode, "00$")
})
