# X-Request-Id: on every response, and taken from trusted proxies only.

request_id_app <- function() write_app(c(
  "app <- dr_app()",
  "dr_get(app, '/id', function(req) req$id)",
  "dr_get(app, '/own', function(req) dr_text('own', headers = list('X-Request-Id' = 'of-the-handler')))",
  "dr_get(app, '/fails', function(req) stop('no'))",
  "dr_get(app, '/logs', function(req) { dr_log('info', 'seen'); 'logged' })",
  "dr_ws(app, '/ws', function(conn, msg) NULL)",
  "app"
))

named <- function(id) c("-H", paste0("X-Request-Id: ", id))

test_every_worker("every response has the id of the log, whatever a client sends", function(start) {
  server <- start(request_id_app())
  for (version in c("--http1.1", "--http2-prior-knowledge")) {
    answer <- ask(server, "/id", version, named("of-the-client"))
    expect(grepl("^[0-9a-f]{16}$", answer$body) && field(answer, "x-request-id") == answer$body,
      version, ": ", answer$body, " and ", field(answer, "x-request-id"))
    expect(grepl("^[0-9a-f]{16}$", field(ask(server, "/none", version), "x-request-id")), version, ": none on 404")
  }
  answer <- ask(server, "/fails")
  expect(grepl(paste0("(request ", field(answer, "x-request-id"), ")"), answer$body, fixed = TRUE), "another in the body")
  expect(logged(server, paste0("id=", field(answer, "x-request-id"), " .*GET /fails")), "another in the log")
  expect(field(ask(server, "/own"), "x-request-id") == "of-the-handler", "the handler's is lost")
  refused <- ask(server, "/id", "-X", "G@T")
  expect(refused$status == "400" && logged(server, paste0("id=", field(refused, "x-request-id"), " ")),
    "bytes that are no request: ", refused$status, " ", field(refused, "x-request-id"))
})

test_every_worker("what a trusted proxy calls a request is sent back, and stands in all logs", function(start) {
  log <- tempfile("access-", fileext = ".log")
  server <- start(
    request_id_app(), trusted_proxies = "127.0.0.1", access_log = log, access_log_format = "json", log_level = "info"
  )
  for (id in c("6F1c-22", "1-67891233-abcdef012345678912345678", strrep("x", 128L))) {
    answer <- ask(server, "/logs", named(id))
    expect(field(answer, "x-request-id") == id, "another: ", field(answer, "x-request-id"))
    expect(logged(server, paste0("GET /logs seen .*request_id=\"", id, "\"")), id, " is not in the line of the handler")
    of_it <- function() Filter(function(line) identical(line$request_id, id), lapply(readLines(log), jsonlite::fromJSON))
    expect(within(function() length(of_it()) == 1L), id, " is not in the access log")
    expect(grepl("^[0-9a-f]{16}$", of_it()[[1L]]$id), "the own id is lost")
  }
  ask(server, "/fails", named("failing"))
  expect(logged(server, "GET /fails 500 no.*request_id=\"failing\""), "not in the line of the error")
  ask(server, "/logs", "-H", "Content-Length: 99999999999", named("too-long"))
  expect(logged(server, " 413 .*request_id=\"too-long\""), "not in the line of what the engine answers")
  wrong <- list(named(""), named(strrep("x", 129L)), named("a b"), named("a\"b"), c(named("a"), named("b")))
  for (fields in wrong) {
    id <- field(ask(server, "/id", fields), "x-request-id")
    expect(grepl("^[0-9a-f]{16}$", id), toString(fields), " became ", id)
  }
}, of = c("the session", "drover serve"))
