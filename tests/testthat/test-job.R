test_that("a job is accepted, run, and has a result, as a test asks", {
  app <- dr_app()
  dr_job(app, "/fits", function(n) {
    dr_progress(1, 2, "half")
    list(twice = 2 * n)
  }, params = list(n = dr_int(min = 1)))
  client <- dr_test(app)
  on.exit(client$stop())
  accepted <- client$post("/fits?n=4")
  expect_identical(accepted$status, 202L)
  place <- accepted$headers$location
  expect_identical(place, accepted$json$url)
  over <- client$get(place, headers = c(prefer = "wait=30"))
  expect_identical(over$json$state, "done")
  expect_identical(client$get(over$json$result)$json, list(twice = 8L))
  expect_identical(client$post("/fits?n=0")$status, 422L)
  expect_identical(client$delete(place)$status, 204L)
  expect_identical(client$get(place)$status, 404L)
})

test_that("jobs of mounted apps are asked for below their prefix, and params go on", {
  inner <- dr_app()
  dr_job(inner, "/of/<user>", function(user) user)
  app <- dr_app()
  dr_mount(app, "/jobs", inner)
  client <- dr_test(app)
  on.exit(client$stop())
  place <- client$post("/jobs/of/ann")$headers$location
  expect_match(place, "^/jobs/of/ann/[0-9a-f]{32}$")
  expect_identical(client$get(place, headers = c(prefer = "wait=30"))$json$state, "done")
  expect_identical(client$get(paste0(place, "/result"))$text, "ann")
})

test_that("arguments are checked", {
  app <- dr_app()
  job <- function(...) dr_job(app, "/fits", function(req) NULL, ...)
  expect_error(job(retries = -1), "`retries` must be a whole number from 0 on, not -1", class = "drover_error_argument")
  expect_error(job(retries = 1.5), "`retries` must be a whole number")
  expect_error(job(backoff = "soon"), "`backoff` must be")
  expect_error(job(keep = NA), "`keep` must be")
  expect_error(job(at_once = 0), "`at_once` must be a whole number from 1 on, or NULL, not 0")
  expect_error(job(priority = "high"), "`priority` must be a whole number, not")
  expect_error(job(every = 0.5), "`every` must be at least one second, or NULL, not 0.5")
  expect_error(job(every = "often"), "`every` must be")
  expect_error(job(every = 60, cron = "@daily"), "give `every` or `cron`, not both", class = "drover_error_argument")
  crontab <- "`cron` must be a line as of crontab, such as \"30 8 [*] [*] MON-FRI\", not \"soon\": ."
  expect_error(job(cron = "soon"), crontab, class = "drover_error_argument")
  expect_error(job(cron = "0 0 30 2 *"), "not \"0 0 30 2 [*]\": that never comes")
  expect_error(job(cron = 7), "`cron` must be a single string")
  zone <- "`tz` must be one of OlsonNames\\(\\), not \"Europe/Atlantis\""
  expect_error(job(cron = "@daily", tz = "Europe/Atlantis"), zone, class = "drover_error_argument")
  expect_error(dr_job(app, "/of/<user>", function(req) NULL, cron = "@daily"), "`cron` needs a path without placeholders")
  expect_error(dr_job(app, "/of/<user>", function(req) NULL, every = 60), "`every` needs a path without placeholders")
  expect_error(job(timeout = -1), "`timeout` must be")
  expect_error(dr_job(app, "fits", function(req) NULL), "`path`")
  expect_error(dr_job(app, "/fits", "f"), "`handler`")
  expect_length(app$routes, 0L)
})

test_that("an app is printed and documented with its jobs", {
  app <- dr_app()
  dr_job(app, "/fits", function(req) 1, response = dr_dbl(), summary = "Fit a model")
  expect_match(format(app), "POST +/fits", all = FALSE)
  expect_match(format(app), "DELETE +/fits/<job>", all = FALSE)
  paths <- dr_openapi(app)$paths
  expect_named(paths, c("/fits", "/fits/{job}", "/fits/{job}/result"))
  accept <- paths[["/fits"]]$post
  expect_identical(accept$summary, "Fit a model")
  expect_true("202" %in% names(accept$responses) && !"200" %in% names(accept$responses))
  expect_identical(paths[["/fits/{job}"]]$get$responses[["200"]]$content[[1L]]$schema$title, "Job")
  result <- paths[["/fits/{job}/result"]]$get$responses
  expect_identical(result[["200"]]$content[[1L]]$schema$type, "number")
  expect_true(all(c("202", "409") %in% names(result)))
})
