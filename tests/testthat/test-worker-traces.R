# What the log says of an error: where it happened, in the app's own calls.

server <- local_server(c(
  "options(keep.source = TRUE)",
  "code <- c('app <- dr_app()', 'fail <- function(x) {', \"  stop('\\033[31mred\\033[39m news')\", '}',",
  "  \"dr_get(app, '/', function(req) fail(1))\",",
  "  'down <- function(n) down(n + 1)', \"dr_get(app, '/deep', function(req) down(0))\",",
  "  'dr_use(app, function(req, nxt) nxt())',",
  "  'dr_use(app, function(req, nxt) {', \"  if (req$path == '/stopped') stop('not further')\", '  nxt()', '})',",
  "  \"dr_get(app, '/stopped', function(req) 1)\")",
  "file <- file.path(tempdir(), 'sourced.R')", "writeLines(code, file)", "source(file)"
))

test_that("a trace has files and lines, none of drover's own calls, and no colours", {
  expect_identical(http(server, "/")$status, 500L)
  line <- server$wait_log("ERROR .* GET / 500 ")
  expect_match(line, "500 red news call=fail(1)", fixed = TRUE)
  expect_match(line, "trace=`GET /`(req) > ", fixed = TRUE)
  expect_match(line, "fail(1) at sourced.R:5", fixed = TRUE)
  expect_match(line, "news\") at sourced.R:3", fixed = TRUE)
  expect_no_match(line, "> as_response")
  expect_no_match(line, "middleware|inner|respond")
})

test_that("a middleware that fails is named, once", {
  expect_identical(http(server, "/stopped")$status, 500L)
  line <- server$wait_log("ERROR .* GET /stopped 500 ")
  expect_match(line, "trace=`GET /stopped`(req) > middleware(req, nxt) > stop(\"not further\") at sourced.R:10", fixed = TRUE)
})

test_that("an endless recursion names its handler, however it ends", {
  expect_identical(http(server, "/deep")$status, 500L)
  line <- server$wait_log("ERROR .* GET /deep 500 ")
  expect_match(line, "trace=`GET /deep`(req) > ...", fixed = TRUE)
  expect_lte(lengths(regmatches(line, gregexpr(" > ", line))), 20L)
})
