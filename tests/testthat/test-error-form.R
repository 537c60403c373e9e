asked <- function(fn) own_errors(fn)

test_that("the function is asked once for each status, and again when it looks at what clients accept", {
  calls <- list()
  ours <- asked(function(req, err) {
    calls[[length(calls) + 1L]] <<- err
    dr_json(list(error = conditionMessage(err)), status = err$status, headers = err$headers)
  })
  expect_identical(vapply(calls, `[[`, 0L, "status"), own_error_statuses)
  expect_s3_class(calls[[1L]], c("drover_error_engine", "drover_error_http", "drover_error", "error", "condition"), exact = TRUE)
  expect_null(ours$problem)
  expect_length(ours$answers, 2L * length(own_error_statuses))
  expect_identical(ours$answers[[1L]]$body, "{\"error\":\"Unauthorized\"}")
  expect_identical(ours$answers[[1L]]$headers, list(list(name = "Content-Type", value = "application/json")))
  expect_identical(c(ours$answers[[1L]]$json, ours$answers[[2L]]$json), c(TRUE, FALSE))

  seen <- character()
  ours <- asked(function(req, err) {
    seen <<- c(seen, dr_header(req, "Accept"))
    seen[[length(seen)]]
  })
  expect_identical(seen, rep(c("application/json", "text/html"), length(own_error_statuses)))
  expect_identical(vapply(ours$answers[1:2], `[[`, "", "body"), c("application/json", "text/html"))
})

test_that("what is not there cannot be read", {
  for (field in setdiff(request_fields, "headers")) {
    ours <- asked(function(req, err) paste(req[[field]]))
    expect_length(ours$answers, 0L)
    expect_match(ours$problem, paste0("401, 403, 404, 405, 413, 429, 502, 503, 504, .*`req\\$", field, "` was read"))
  }
  expect_match(asked(function(req, err) req$path <- "/")$problem, "`req\\$path` cannot be set")
  expect_null(asked(function(req, err) paste(req$user, req$headers$authorization))$problem)
})

test_that("answers that cannot be kept are none", {
  wrong <- list(
    "a promise comes too late" = function(req, err) promises::promise_resolve("x"),
    "its body is not text" = function(req, err) as.raw(c(1, 0, 255)),
    "unsupported value" = function(req, err) globalenv(),
    "must not hold line breaks" = function(req, err) {
      response <- dr_text("x")
      response$headers$a <- "b\r\nc: d"
      response
    },
    "sent: of its own" = function(req, err) stop("of its own")
  )
  for (problem in names(wrong)) expect_match(asked(wrong[[problem]])$problem, problem, fixed = TRUE)
})

test_that("bodies are kept whatever they come as", {
  file <- withr::local_tempfile(fileext = ".html")
  writeLines("<p>caf\u00e9</p>", file, useBytes = TRUE)
  expect_identical(asked(function(req, err) dr_file(file))$answers[[1L]]$body, "<p>caf\u00e9</p>\n")
  expect_identical(asked(function(req, err) charToRaw("raw"))$answers[[1L]]$body, "raw")
  expect_identical(asked(function(req, err) NULL)$answers[[1L]]$body, "")
  expect_identical(asked(NULL), list(answers = list()))
})

test_that("apps that read lists as responses do so here", {
  app <- dr_app(list_responses = TRUE)
  dr_on_error(app, function(req, err) list(status = 500L, body = "listed"))
  fields <- app_fields(compile_app(app), list(docs = "false"))
  expect_identical(fields$errors$answers[[1L]]$body, "listed")
})
