typed <- function(handler, response = dr_schema(id = dr_int())) {
  app <- dr_app()
  dr_get(app, "/", handler, response = response)
  app
}

answer_of <- function(...) {
  client <- dr_test(typed(...))
  on.exit(client$stop())
  client$get("/")
}

test_that("a response that does not have its type is an error in tests, and the log names the field", {
  wrong <- answer_of(function() list(id = "x"))
  expect_identical(wrong$status, 500L)
  expect_match(wrong$log, "the response of GET / does not fit `response`: /id must be a whole number, not \"x\"",
    fixed = TRUE, all = FALSE)
  expect_no_match(wrong$text, "id must be")
  expect_identical(answer_of(function() list(id = 1L))$json, list(id = 1L))
  expect_identical(answer_of(function() "text")$status, 500L)
  expect_identical(answer_of(function() dr_html("<p>"))$status, 500L)
  expect_identical(answer_of(function() "text", dr_chr())$text, "text")
  later <- answer_of(function() promises::promise_resolve(list(id = TRUE)))
  expect_identical(later$status, 500L)
})

test_that("each status has a type of its own, and others have none", {
  types <- list("200" = dr_schema(id = dr_int()), "404" = dr_schema(detail = dr_chr()))
  expect_identical(answer_of(function() dr_json(list(detail = "gone"), 404L), types)$status, 404L)
  expect_identical(answer_of(function() dr_json(list(detail = 1), 404L), types)$status, 500L)
  expect_identical(answer_of(function() dr_json(list(x = 1), 409L), types)$status, 409L)
  expect_identical(answer_of(function() dr_abort(404, "none"), types)$status, 404L)
})

test_that("in production nothing is checked, and with debug it is", {
  ask_server <- function(..., frame = parent.frame()) {
    server <- local_server(c(
      "app <- dr_app()", "dr_get(app, '/', function() list(id = 'x'), response = dr_schema(id = dr_int()))"
    ), ..., frame = frame)
    list(server = server, status = curl::curl_fetch_memory(server$url)$status_code)
  }
  expect_identical(ask_server()$status, 200L)
  debugged <- ask_server(debug = TRUE)
  expect_identical(debugged$status, 500L)
  expect_match(debugged$server$wait_log("does not fit"), "/id must be a whole number", all = FALSE)
})
