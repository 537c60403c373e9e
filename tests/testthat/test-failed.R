test_that("the server of a session lists what it keeps", {
  ran <- run_script(c(
    fetch_here_lines, "app <- dr_get(dr_app(), '/', function(req) stop('no <b>\\033[2Jtable'))",
    "dr_get(app, '/good', function(req) 'fine')", "stopifnot(nrow(dr_failed()) == 0L)",
    "dr_serve(app, port = 0L, block = FALSE, log = 'none', keep_failed = 2L, keep_failed_redact = 'X-Mine')",
    "stopifnot(nrow(dr_failed()) == 0L)",
    "for (path in c('/good', '/?x=1', '/?x=2', '/?x=3')) fetch_here(paste0(dr_url(), path), '-H', 'X-Mine: hidden')",
    "rows <- dr_failed()", "stopifnot(identical(rows$target, c('/?x=3', '/?x=2')), inherits(rows$at, 'POSIXct'))",
    "stopifnot(identical(rows$status, c(500L, 500L)), rows$replayable)",
    "one <- dr_failed(rows$id[[1L]])", "print(one)",
    "stopifnot(length(one$seed) == length(.Random.seed), 'REDACTED' %in% unlist(one$fields))",
    "for (id in c('0000000000000000', 'x')) print(conditionMessage(tryCatch(dr_failed(id), drover_error_argument = identity)))",
    "dr_stop()", "stopifnot(nrow(dr_failed()) == 0L)"
  ))
  expect_identical(ran$status, 0L, info = paste(ran$stderr, collapse = "\n"))
  said <- paste(ran$stdout, collapse = "\n")
  for (text in c("<dr_failed_request> ", "GET /?x=3", "500 no <b>", "that is kept", "16 digits")) {
    expect_match(said, text, fixed = TRUE)
  }
  expect_false(grepl("hidden|\033", said))
})

test_that("a worker process has no server to ask", {
  ran <- run_script(c(
    fetch_here_lines, "app <- dr_get(dr_app(), '/', function(req) class(tryCatch(dr_failed(), error = identity))[[1]])",
    "dr_serve(app, port = 0L, workers = c(1L, 1L), block = FALSE, log = 'none', keep_failed = 2L)",
    "cat(fetch_here(dr_url()))", "dr_stop()"
  ))
  expect_identical(ran$stdout, "drover_error_not_running", info = paste(ran$stderr, collapse = "\n"))
})

test_that("settings are checked, and bad names are told by the engine", {
  app <- dr_app()
  expect_error(dr_serve(app, keep_failed = -1), "`keep_failed`", class = "drover_error_argument")
  expect_error(dr_serve(app, keep_failed_age = 0), "`keep_failed_age`", class = "drover_error_argument")
  expect_error(dr_serve(app, keep_failed_redact = 7), "`keep_failed_redact`", class = "drover_error_argument")
  app <- dr_get(app, "/", function(req) "x")
  expect_error(dr_serve(app, port = 0L, block = FALSE, keep_failed_redact = "$.a["), "keep_failed_redact: each must be")
})
