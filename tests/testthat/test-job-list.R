test_that("the server of a session lists its jobs", {
  ran <- run_script(c(
    fetch_here_lines, "app <- dr_job(dr_app(), '/good', function(req) 'fine')",
    "dr_job(app, '/bad', function(req) dr_abort(422, 'no such column'))", "stopifnot(nrow(dr_jobs()) == 0L)",
    "dr_serve(app, port = 0L, block = FALSE, log = 'none')",
    "stopifnot(nrow(dr_jobs()) == 0L, inherits(dr_jobs()$created, 'POSIXct'))",
    "for (path in c('/good', '/bad')) {",
    "  job <- dr_from_json(fetch_here(paste0(dr_url(), path), '-X', 'POST'))",
    "  fetch_here(paste0(dr_url(), job$url), '-H', 'Prefer: wait=30')", "}",
    "rows <- dr_jobs()",
    "stopifnot(identical(rows$kind, c('POST /bad', 'POST /good')), identical(rows$state, c('failed', 'done')))",
    "stopifnot(identical(rows$error, c('no such column', NA)), identical(rows$attempt, c(1L, 1L)))",
    "stopifnot(identical(attr(rows$created, 'tzone'), 'UTC'))",
    "stopifnot(abs(difftime(Sys.time(), rows$ended, units = 'secs')) < 60)",
    "stopifnot(rows$began >= rows$created, rows$ended >= rows$began, grepl('^[0-9a-f]{32}$', rows$id))",
    "stopifnot(identical(dr_jobs(state = 'done')$kind, 'POST /good'), identical(dr_jobs(limit = 1)$kind, 'POST /bad'))",
    "stopifnot(identical(dr_jobs(kind = 'POST /good')$state, 'done'), nrow(dr_jobs('waiting', 'POST /bad')) == 0L)",
    "dr_stop()", "stopifnot(nrow(dr_jobs()) == 0L)"
  ))
  expect_identical(ran$status, 0L, info = paste(ran$stderr, collapse = "\n"))
})

test_that("a worker process has no jobs to list", {
  ran <- run_script(c(
    fetch_here_lines, "app <- dr_get(dr_app(), '/', function(req) class(tryCatch(dr_jobs(), error = identity))[[1]])",
    "dr_serve(app, port = 0L, workers = c(1L, 1L), block = FALSE, log = 'none')", "cat(fetch_here(dr_url()))",
    "dr_stop()"
  ))
  expect_identical(ran$stdout, "drover_error_not_running", info = paste(ran$stderr, collapse = "\n"))
})

test_that("what jobs are wanted is checked", {
  expect_error(dr_jobs(state = "over"), "`state` must be \"waiting\"", class = "drover_error_argument")
  expect_error(dr_jobs(kind = 7), "`kind`", class = "drover_error_argument")
  expect_error(dr_jobs(limit = 0), "`limit`", class = "drover_error_argument")
})
