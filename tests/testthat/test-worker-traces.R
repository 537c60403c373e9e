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

test_that("what drover puts around functions of the app is in no trace and no call=", {
  server <- local_server(c(
    "app <- dr_app(list_responses = TRUE)",
    "fail <- function(x) stop('no ', x)",
    "dr_get(app, '/list', function(req) stop('no list'))",
    "dr_get(app, '/none', function() fail('arguments'))",
    "dr_get(app, '/typed/:id', function(req, id) stop('no ', id), params = list(id = dr_int()))",
    "dr_get(app, '/ours', function(req) dr_json(quote(x)))",
    "dr_get(app, '/warned', function(req) { warning('mind'); 'fine' })",
    "rook <- function(env) fail('rook')",
    "api <- dr_get(dr_app(), '/', function(req) fail('mount'))",
    "dr_use(api, function(req, nxt) tryCatch(dr_set_header(nxt(), 'X', 'y'), other = identity))",
    "dr_mount(app, '/rook', rook)", "dr_mount(app, '/api', api)"
  ))
  traces <- c(
    "/list" = "no list trace=`GET /list`(req) > stop(\"no list\")",
    "/none" = "no arguments call=fail(\"arguments\") trace=`GET /none`(req) > fail(\"arguments\") > stop(\"no \", x)",
    "/typed/7" = "no 7 trace=`GET /typed/:id`(req) > stop(\"no \", id)",
    "/ours" = "which has no JSON call=dr_json(quote(x)) trace=`GET /ours`(req) > dr_json(quote(x))",
    "/rook" = "no rook call=fail(\"rook\") trace=`ANY /rook`(req) > fail(\"rook\") > stop(\"no \", x)",
    "/api" = "no mount call=fail(\"mount\") trace=`GET /api`(req) > fail(\"mount\") > stop(\"no \", x)"
  )
  for (path in names(traces)) {
    expect_identical(http(server, path)$status, 500L)
    line <- server$wait_log(paste0("ERROR .* GET ", path, " 500 "))
    line <- gsub(" at [^ ]*:[0-9]+", "", line)
    expect_true(endsWith(line, traces[[path]]), info = line)
  }
  http(server, "/warned")
  expect_match(server$wait_log("WARN .* GET /warned"), "warning: mind$")
  # of the traces themselves there is none
  expect_length(server$wait_log("WARN"), 1L)
})
