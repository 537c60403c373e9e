# A request as `drover failed ID --json` has it.
failed_file <- function(method = "GET", target = "/", fields = list(), ..., status = 500L) {
  file <- tempfile(fileext = ".json")
  request <- list(
    id = "00000000000000ff", at = 0, seconds = 0.2, method = method, target = target, fields = fields, status = status,
    error = "it broke", ...
  )
  writeLines(dr_to_json(request, auto_unbox = TRUE), file)
  file
}

test_that("a handler gets what it got, through middleware, whatever guards it", {
  app <- dr_app()
  dr_auth_bearer(app, tokens = c(ci = paste0("sha256:", strrep("0", 64))))
  dr_use(app, function(req, forward) dr_set_header(forward(), "X-Seen", req$method))
  dr_post(app, "/orders/<id:int>", function(req) {
    list(id = req$params$id, q = req$query$q, n = req$json$n, user = req$auth$user, kept = req$headers$`x-kept`,
      base_path = req$base_path)
  })
  file <- failed_file("POST", "/orders/7?q=a%20b", list(
    list("Host", "shop.example"), list("Content-Type", "application/json"), list("X-Kept", "yes"),
    list("Transfer-Encoding", "chunked"), list("Content-Length", "99"), list("Authorization", "REDACTED")
  ), body = "{\"n\":[1,2]}", body_size = 11L, auth = "{\"scheme\":\"key\",\"user\":\"ada\"}", base_path = "/hub")
  answer <- dr_replay(file, app, browser = FALSE)
  expect_identical(answer$status, 200L)
  expect_identical(answer$headers$`x-seen`, "POST")
  expect_identical(answer$json, list(id = 7L, q = "a b", n = 1:2, user = "ada", kept = "yes", base_path = "/hub"))
  expect_identical(dr_replay(file, app, browser = FALSE, headers = list("x-kept" = "no"))$json$kept, "no")
  expect_false(dr_running())
})

test_that("bytes, and no body at all, are what they were", {
  app <- dr_post(dr_app(), "/", function(req) length(req$raw))
  bytes <- jsonlite::base64_enc(as.raw(0:255))
  expect_identical(dr_replay(failed_file("POST", body_base64 = bytes, body_size = 256L), app, browser = FALSE)$text, "256")
  expect_identical(dr_replay(failed_file("POST", body_size = 0L), app, browser = FALSE)$text, "0")
})

test_that("random numbers are where they were when the handler began", {
  draws <- NULL
  app <- dr_get(dr_app(), "/", function(req) {
    draws <<- runif(3)
    stop("it broke again")
  })
  set.seed(7)
  seed <- .Random.seed
  expected <- runif(3)
  answer <- dr_replay(failed_file(seed = seed), app, browser = FALSE)
  expect_identical(draws, expected)
  expect_match(answer$log, "it broke again", all = FALSE)
  expect_identical(answer$status, 500L)
})

test_that("a timeout is played for as long as it had, and ends where it is", {
  app <- dr_get(dr_app(), "/", function(req) repeat mean(runif(1000)))
  answer <- dr_replay(failed_file(status = 504L), app, browser = FALSE)
  expect_match(answer$log, "elapsed time limit", all = FALSE)
  answer <- dr_replay(failed_file(), app, browser = FALSE, timeout = "200ms")
  expect_match(answer$log, "elapsed time limit", all = FALSE)
})

test_that("what cannot be played is named", {
  app <- dr_get(dr_app(), "/", function(req) "x")
  wrong <- "drover_error_argument"
  expect_error(dr_replay("missing.json", app), "`request` must be what dr_failed", class = wrong)
  expect_error(dr_replay(list(), app), "`request` must be what dr_failed", class = wrong)
  file <- tempfile()
  writeLines("[1]", file)
  expect_error(dr_replay(file, app), "`request` must be what dr_failed", class = wrong)
  missing <- failed_file(body_size = 9L, body_missing = "longer than 8 bytes")
  expect_error(dr_replay(missing, app), "no body, of 9 bytes: longer than 8 bytes", class = wrong)
  expect_error(dr_replay(failed_file(), app, timeout = -1), "`timeout`", class = wrong)
  expect_error(dr_replay(failed_file(), app, browser = NA), "`browser`", class = wrong)
  expect_error(dr_replay(failed_file(), app, headers = list("a b" = "c")), "`headers`", class = wrong)
})
