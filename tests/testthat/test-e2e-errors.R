# The bodies of errors that the server makes, by what clients say and what the app answers.

app <- c(
  "app <- dr_app()",
  "dr_get(app, '/text', function(req) 'text')",
  "dr_get(app, '/json', function(req) list(a = 1))",
  "dr_post(app, '/abort', function(req) dr_abort(409, 'taken'))"
)

is_json <- function(answer) {
  type <- answer$headers[["content-type"]]
  expect_true(type %in% c("application/problem+json", "text/plain; charset=utf-8"))
  if (type == "application/problem+json") {
    expect_identical(jsonlite::fromJSON(answer$body)$status, answer$status)
  } else {
    expect_match(answer$body, paste0("^", answer$status, " "))
  }
  type == "application/problem+json"
}

test_that("errors = \"auto\": what the client names or sends, otherwise what the app answers", {
  server <- local_server(app)
  accept <- function(type, path = "/none", ...) is_json(http(server, path, "-H", paste0("Accept: ", type), ...))
  for (round in 1:2) {
    http(server, "/text")
    expect_false(accept("*/*"))
    expect_false(is_json(http(server, "/none", "-H", "Accept:")))
    expect_true(accept("application/json"))
    expect_true(accept("*/*", "/none", "--json", "{}", "-H", "Accept: */*"))
    http(server, "/json")
    expect_true(accept("*/*"))
    expect_true(is_json(http(server, "/none", "-H", "Accept:")))
    expect_false(accept("text/html, */*;q=0.5"))
    # of every kind: unknown path, wrong method, a handler's, a body that is too large
    expect_true(accept("*/*", "/json", "-X", "DELETE"))
    expect_true(accept("*/*", "/abort", "-X", "POST"))
    large <- http(server, "/abort", "-X", "POST", "-H", "Content-Length: 99999999", "-H", "Accept: */*")
    expect_identical(large$status, 413L)
    expect_true(is_json(large))
  }
})

test_that("errors = \"json\" and \"text\" go by nothing else, with worker processes as well", {
  for (workers in 1:2) {
    server <- local_server(app, errors = "json", workers = workers)
    expect_true(is_json(http(server, "/none", "-H", "Accept: text/html")))
    server <- local_server(app, errors = "text", workers = workers)
    expect_false(is_json(http(server, "/none", "-H", "Accept: application/json")))
    expect_false(is_json(http(server, "/abort", "--json", "{}")))
  }
})

test_that("another format is an error that names those there are", {
  expect_argument_error(dr_serve(dr_app(), errors = "html"), "`errors` must be \"auto\", \"json\" or \"text\", not \"html\"")
})
