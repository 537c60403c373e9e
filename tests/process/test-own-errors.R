# dr_on_error() and errors that the engine answers by itself: they have the app's form, R or no R.

own_app <- function() {
  write_app(c(
    "app <- dr_app()",
    "dr_on_error(app, function(req, err) {",
    "  if (!inherits(err, 'drover_error_engine')) return(dr_text(conditionMessage(err), status = 500L))",
    "  headers <- list('X-Own' = 'yes', 'Allow' = 'TRACE', 'Set-Cookie' = 'a=1', 'Connection' = 'keep-alive')",
    "  if (grepl('json', req$headers$accept)) return(dr_json(list(error = err$status), headers = headers))",
    "  dr_html(paste0('<h1>', conditionMessage(err), '</h1>'), headers = headers)",
    "})",
    "dr_post(app, '/p', function(req) 'posted')",
    "dr_get(app, '/fail', function(req) stop('of a handler'))",
    "dr_get(app, '/abort', function(req) dr_abort(404, 'nobody of that name'))",
    "dr_get(app, '/late', function(req) stand_at(paste0('late-', basename(req$headers$accept))), timeout = 0.2)",
    "dr_get(app, '/held', function(req) { stand_at('gate'); 'let go' })",
    "app"
  ))
}

# The whole answer, as the two kinds of clients get it.
expect_own <- function(server, path, status, ..., close = FALSE) {
  phrase <- c("404" = "Not Found", "405" = "Method Not Allowed", "413" = "Content Too Large",
    "502" = "Bad Gateway", "503" = "Service Unavailable", "504" = "Gateway Timeout")[[status]]
  for (form in c("application/json", "text/html")) {
    # what ran before is over
    ask(server, "/fail")
    accept <- paste0("Accept: ", form)
    if (path == "/late") {
      late <- paste0("late-", basename(form))
      answer <- ask_until_begun(server, path, late, "-H", accept)()
      # in a session the handler goes on
      open_gate(server, late)
    } else {
      answer <- ask(server, path, "-H", accept, ...)
    }
    expect_form(answer, status, if (form == "text/html") paste0("<h1>", phrase, "</h1>") else sprintf("{\"error\":%s}", status))
    expect(grepl(form, field(answer, "content-type"), fixed = TRUE), form, " is answered with ", field(answer, "content-type"))
    expect(identical(field(answer, "connection"), if (close) "close" else NA_character_), "connection: ", field(answer, "connection"))
  }
  answer
}

expect_form <- function(answer, status, body) {
  expect(answer$status == status, "status ", answer$status, ", not ", status)
  expect(identical(answer$body, body), status, " has the body ", answer$body)
  expect(identical(field(answer, "x-own"), "yes"), status, " has not the header field of the app")
  expect(identical(field(answer, "cache-control"), "no-store"), status, " may be stored")
  expect(is.na(field(answer, "set-cookie")), status, " has a cookie for everybody")
}

test_every_worker("errors of the engine have the form of dr_on_error()", function(start) {
  server <- start(own_app(), max_queue = 1L, max_body = 1000, log = "stderr", timeout = 600)
  expect_own(server, "/nothing", "404")
  expect(identical(field(expect_own(server, "/p", "405"), "allow"), "POST, OPTIONS"), "405 has not the methods of its path")
  body <- strrep("a", 2000L)
  expect_own(server, "/p", "413", "-X", "POST", "-d", body, close = TRUE)
  expect_own(server, "/late", "504")
  head <- ask(server, "/nothing", "-I", "-H", "Accept: application/json")
  expect(head$status == "404" && identical(field(head, "content-length"), "13"), "HEAD: ", paste(head$head, collapse = " "))
  # those of handlers come to the function as they are
  expect(ask(server, "/fail")$body == "of a handler", "an error of a handler is not answered by the function")
  expect(ask(server, "/abort")$body == "nobody of that name", "dr_abort() is not answered by the function")
  # R has enough to do, and is not asked
  busy <- lapply(1:6, function(i) ask_later(server, "/held", "-H", "Accept: application/json"))
  refused <- function() vapply(busy, is_over, NA)
  expect(within(function() sum(refused()) >= 2L), sum(refused()), " of 6 are answered while R is busy")
  early <- refused()
  for (request in busy[early]) {
    answer <- request()
    expect_form(answer, "503", "{\"error\":503}")
    expect(identical(field(answer, "retry-after"), "1"), "503 does not say when to try again")
  }
  open_gate(server, "gate")
  # of the others, more may have been refused meanwhile
  rest <- vapply(busy[!early], function(request) request()$body, "")
  expect("let go" %in% rest && all(rest %in% c("let go", "{\"error\":503}")), "the others: ", toString(rest))
  expect(!any(grepl("dr_on_error", server$log())), "the log complains")
})

test_every_worker("where dr_on_error() has no answer, the standard one is sent, and the log says so once", function(start) {
  app <- write_app(c(
    "app <- dr_app()",
    "dr_on_error(app, function(req, err) {",
    "  if (err$status == 401) stop('not this one')",
    "  dr_json(list(path = if (err$status != 404) req$path), status = err$status)",
    "})",
    "dr_post(app, '/p', function(req) 'posted')",
    "app"
  ))
  server <- start(app, log = "stderr", errors = "json")
  expect(identical(ask(server, "/nothing")$body, "{\"path\":{}}"), "404 has not the app's form: ", ask(server, "/nothing")$body)
  wrong <- ask(server, "/p")
  expect(wrong$status == "405" && grepl("\"title\":\"Method Not Allowed\"", wrong$body, fixed = TRUE), "405: ", wrong$body)
  said <- grep("dr_on_error\\(\\) has no answer", server$log(), value = TRUE)
  expect(length(said) == 1L, "said ", length(said), " times")
  expect(grepl("401, 403, 405, 413, 429, 502, 503, 504, .*: not this one", said), said)
})

test("a worker that crashes: 502 has the form of dr_on_error()", function() {
  server <- serve(write_app(c(
    "app <- dr_app()",
    "dr_on_error(app, function(req, err) dr_json(list(error = err$status)))",
    "dr_get(app, '/crash', function(req) tools::pskill(Sys.getpid(), tools::SIGKILL))",
    "app"
  )))
  answer <- ask(server, "/crash")
  expect(answer$status == "502" && answer$body == "{\"error\":502}", answer$status, " ", answer$body)
})

test_every_worker("what dr_on_error() takes for the client's fault is logged with its status, as a warning", function(start) {
  app <- write_app(c(
    "app <- dr_app()",
    "dr_on_error(app, function(req, err) {",
    "  dr_json(list(error = 'wrong'), status = if (grepl('input', conditionMessage(err))) 422L else 503L)",
    "})",
    "dr_get(app, '/input', function(req) stop('wrong input'))",
    "dr_get(app, '/other', function(req) stop('something else'))",
    "app"
  ))
  server <- start(app, log = "stderr")
  expect(ask(server, "/input")$status == "422" && ask(server, "/other")$status == "503", "other statuses")
  expect(logged(server, "WARN .*GET /input 422 wrong input"), "not as a warning with 422")
  expect(logged(server, "ERROR .*GET /other 503 something else"), "not as an error with 503")
})

test_every_worker("header fields of all responses are on those of the engine, too", function(start) {
  app <- write_app(c(
    "app <- dr_app()", "dr_get(app, '/plain', function(req) 'plain')",
    "dr_get(app, '/own', function(req) dr_text('own', headers = list('X-All' = 'its own')))",
    "dr_post(app, '/p', function(req) 'posted')",
    "dr_get(app, '/late', function(req) stand_at('late'), timeout = 0.2)",
    "folder <- tempfile()", "dir.create(folder)", "writeLines('file', file.path(folder, 'f.txt'))",
    "dr_static(app, '/files', folder)", "app"
  ))
  server <- start(app, max_body = 1000, timeout = 600, response_headers = "X-All: every, one")
  expect_field <- function(answer, status, value = "every, one") {
    expect(answer$status == status, "status ", answer$status, ", not ", status)
    expect(identical(field(answer, "x-all"), value), status, " has the field ", field(answer, "x-all"))
    expect(sum(grepl("^x-all:", answer$head, ignore.case = TRUE)) == 1L, status, " has it more than once")
  }
  expect_field(ask(server, "/plain"), "200")
  expect_field(ask(server, "/own"), "200", "its own")
  expect_field(ask(server, "/files/f.txt"), "200")
  expect_field(ask(server, "/nothing"), "404")
  expect_field(ask(server, "/p"), "405")
  expect_field(ask(server, "/p", "-X", "POST", "-d", strrep("a", 2000L)), "413")
  expect_field(ask_until_begun(server, "/late", "late")(), "504")
  open_gate(server, "late")
  # bytes that are no request
  expect_field(ask(server, "/plain", "-H", "X-Wrong : 1"), "400")
  expect_field(ask(server, "/plain", "--http2-prior-knowledge"), "200")
})

test("engine's errors have the form that a router of plumber says", function() {
  if (!requireNamespace("plumber", quietly = TRUE)) skip("the package 'plumber' is not installed")
  folder <- folder_of(plumber.R = c(
    "#* @post /p", "#* @serializer text", "function() 'posted'", "#* @plumber",
    "function(pr) drover::dr_on_error(pr, function(req, err) {",
    "  drover::dr_json(list(says = conditionMessage(err)), headers = list('X-Own' = 'yes'))", "})"
  ))
  server <- serve(file.path(folder, "plumber.R"), max_body = 1000)
  expect(ask(server, "/p", "-X", "POST", "-d", "x")$body == "posted", "the endpoint")
  expect_form(ask(server, "/p", "-X", "POST", "-d", strrep("a", 2000L)), "413", "{\"says\":\"Content Too Large\"}")
}, ways = 1:2)
