# What a person sees who serves at an R console: the log is R's own output, in a form for people.

failing <- c("fail <- function(x) {", "  stop('first line\\nsecond line')", "}", "dr_get(app, '/', function(req) fail(1))")

test_that("the log of a session at a console is written by R", {
  for (arguments in c("workers = 1L", "workers = 2L", "workers = 1L, block = TRUE", "workers = 2L, block = TRUE")) {
    console <- local_console()
    # R's messages go to this file: what threads write to standard error does not
    file <- withr::local_tempfile()
    caught <- sprintf("sink(file('%s', 'w'), type = 'message')", file)
    # the message that it listens is R's as well: it is written to the terminal all the same
    tell <- "trace(drover:::announce, exit = quote(cat('listening on', drover::dr_url(), '\\n')), print = FALSE)"
    server <- console$serve(c(failing, caught, tell), arguments)
    expect_identical(fetch(server, "/")$status, 500L)
    logged <- "drover ERROR id=[0-9a-f]+ .* GET / 500 first line"
    expect_true(within(function() any(grepl(logged, readLines(file, warn = FALSE)))), info = arguments)
    if (grepl("block", arguments)) console$process$write_input("\003")
    console$write("cat('go', 'on\\n')")
    expect_true(console$shows("go on"), info = console$screen())
    expect_no_match(console$screen(), "drover ERROR", info = arguments)
  }
})

test_that("errors are written at once, for people, with file and line", {
  console <- local_console(c(TZ = "Asia/Kathmandu"))
  server <- console$serve(failing, "workers = 1L")
  hour <- function() format(Sys.time(), "%Y-%m-%d %H:", tz = "Asia/Kathmandu")
  hours <- hour()
  expect_identical(fetch(server, "/")$status, 500L)
  # nobody types anything
  expect_true(console$shows("drover ERROR"), info = console$screen())
  expect_true(console$shows("stop[^\r]*\r\n"), info = console$screen())
  hours <- c(hours, hour())
  expect_match(console$screen(), paste0(
    "(", paste(hours, collapse = "|"), ")",
    "\\d\\d:\\d\\d\\.\\d{3} drover ERROR id=[0-9a-f]{16} 127.0.0.1 GET / 500 first line\r\n",
    "    second line call=fail\\(1\\)\r\n    `GET /`\\(req\\)\r\n    fail\\(1\\) at [^ ]+\\.R:6\r\n    stop\\([^\r]* at [^ ]+\\.R:4\r\n"
  ))
})

test_that("colours are for terminals that have them, unless NO_COLOR is set", {
  coloured <- function(...) {
    console <- local_console(c(...))
    fetch(console$serve(failing, "workers = 1L"), "/")
    expect_true(console$shows("ERROR"), info = console$screen())
    grepl("\033\\[1;31mERROR\033\\[0m", console$screen())
  }
  expect_true(coloured(TERM = "xterm", NO_COLOR = ""))
  expect_false(coloured(TERM = "xterm", NO_COLOR = "1"))
  expect_false(coloured(TERM = "dumb"))
})

test_that("what is too much for a busy session is left out and counted, and what is left at the end is written", {
  console <- local_console()
  server <- console$serve(c(failing, "dr_get(app, '/warn', function(req) for (i in 1:5000) warning('heard'))"), "workers = 1L")
  expect_identical(fetch(server, "/warn")$status, 204L)
  expect_true(console$shows("lines of the log left out: R was busy"))
  fetch(server, "/")
  console$write("dr_stop(); cat('stop', 'ped\\n')")
  expect_true(console$shows("first line.*stop ped"), info = console$screen())
})
