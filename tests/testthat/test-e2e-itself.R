# Requests that R makes to itself and waits for: nobody could answer them. Those of worker processes are in
# tests/process/test-itself.R.

why <- "the R process that would answer has made this request, and waits for the response"

test_that("a session that asks itself is told so, and serves on", {
  app <- dr_get(dr_app(), "/", function(req) "fine")
  log <- withr::local_tempfile()
  suppressMessages(dr_serve(app, port = 0L, block = FALSE, log = log))
  withr::defer(dr_stop())
  port <- as.integer(sub(".*:", "", dr_url()))
  asked <- socketConnection("127.0.0.1", port, open = "r+b", blocking = TRUE, timeout = 60)
  writeLines("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r", asked)
  answer <- paste(readLines(asked), collapse = "\n")
  close(asked)
  expect_match(answer, "^HTTP/1.1 503 ")
  expect_match(answer, why, fixed = TRUE)
  told <- "make it from another process, or serve with more `workers`"
  expect_true(within(function() any(grepl(told, readLines(log), fixed = TRUE))), info = readLines(log))
  other <- processx::process$new("curl", c("-s", "--max-time", "60", dr_url()), stdout = "|")
  expect_true(idle_until(function() !other$is_alive()))
  expect_identical(other$read_all_output(), "fine")
})
