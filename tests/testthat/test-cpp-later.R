# C handlers of a session that take their time: on the pool, from threads of their own, with deadlines, beside a busy R.

# Starts curl and does not wait: status code and body come from got().
ask <- function(server, path, ...) {
  process <- processx::process$new(
    "curl", c("-s", "--max-time", patience(), "-w", "\n%{http_code}", ..., paste0(server$url, path)), stdout = "|"
  )
  list(is_over = function() !process$is_alive(), kill = process$kill, got = function() {
    process$wait(1000 * patience())
    lines <- strsplit(process$read_all_output(), "\n")[[1L]]
    list(status = as.integer(lines[[length(lines)]]), body = paste(lines[-length(lines)], collapse = "\n"))
  })
}

test_that("an answer comes from another thread", {
  server <- local_cpp_server("session")
  for (prefix in c("/", "/inline/")) {
    response <- http(server, paste0(prefix, "h_later?ms=50"))
    expect_identical(response[c("status", "body")], list(status = 200L, body = paste0(prefix, "h_later")))
    expect_identical(response$headers[["server-timing"]], "later;dur=50.000")
    expect_identical(http(server, paste0(prefix, "h_later_twice"))$body, "once")
    expect_true(within(function() identical(sort(codes(server)), c(0L, DROVER[["done"]], 100L))))
    expect_identical(http(server, paste0(prefix, "h_defer_then_fail"))$status, 500L)
    expect_true(within(function() identical(codes(server), DROVER[["done"]])))
    expect_identical(http(server, paste0(prefix, "h_dropped"))$status, 500L)
  }
  # many at once, over few threads
  gates <- paste0("late-", 1:15)
  waiting <- lapply(gates, function(gate) ask(server, paste0("/inline/h_later?at=", gate)))
  for (gate in gates) expect_true(marked(server, gate), info = gate)
  expect_false(any(vapply(waiting, function(one) one$is_over(), NA)))
  for (gate in gates) open_gate(server, gate)
  expect_identical(unique(vapply(waiting, function(one) one$got()$status, 0L)), 200L)
})

test_that("what is not answered in time is 504, and the handler is told", {
  # only these routes have little time: the others are to be answered
  server <- local_cpp_server("session", cpp_workers = 8L, more = c(
    "names <- c('h_until_cancelled', 'h_on_cancel', 'h_later_cancelled', 'h_later_on_cancel', 'h_never', 'old_block')",
    "for (name in names) dr_get_cpp(app, paste0('/short/', name), package, name, timeout = 0.5)",
    "for (name in names[3:5]) {",
    "  dr_get_cpp(app, paste0('/short/inline/', name), package, name, inline = TRUE, timeout = 0.5)",
    "}"
  ))
  told <- list(
    h_until_cancelled = DROVER[["gone"]], h_on_cancel = unname(DROVER[c("ok", "ok", "gone")]),
    h_later_cancelled = unname(DROVER[c("gone", "done")]), h_later_on_cancel = c(1L, DROVER[["gone"]])
  )
  for (name in names(told)) {
    # one whose time is over before it begins is told nothing: it is asked again
    expect_true(within(function() {
      expect_identical(http(server, paste0("/short/", name))$status, 504L, info = name)
      within(function() identical(codes(server), told[[name]]), 2)
    }), info = name)
  }
  more <- c("h_never", "old_block?at=gate", paste0("inline/", c("h_later_cancelled", "h_later_on_cancel", "h_never")))
  asked <- lapply(paste0("/short/", more), function(path) ask(server, path))
  for (i in seq_along(more)) expect_identical(asked[[i]]$got()$status, 504L, info = more[[i]])
  # there is nothing to be told before an inline handler has deferred
  http(server, "/inline/h_on_cancel_inline")
  expect_identical(codes(server), c(DROVER[["invalid"]], 0L))
  expect_identical(http(server, "/h_text")$status, 200L)
})

test_that("a client that goes cancels its request", {
  server <- local_cpp_server("session", timeout = 600)
  told <- list(h_until_cancelled = DROVER[["gone"]], h_later_cancelled = unname(DROVER[c("gone", "done")]))
  for (name in names(told)) {
    # one that has not begun when its client goes is told nothing: it is asked again
    expect_true(within(function() {
      processx::run("curl", c("-s", "--max-time", "0.3", paste0(server$url, "/", name)), error_on_status = FALSE)
      within(function() identical(codes(server), told[[name]]), 2)
    }), info = name)
  }
})

test_that("a route has its own timeout, and the handler knows it", {
  server <- local_cpp_server("session", timeout = 900, more = c(
    "dr_get_cpp(app, '/short', package, 'h_block', interface = 'drover', timeout = 0.3)",
    "dr_get_cpp(app, '/own', package, 'h_deadline', interface = 'drover', timeout = 300)"
  ))
  expect_identical(http(server, "/short?at=gate")$status, 504L)
  # a minute of it may be over on a slow machine
  expect_true(as.integer(http(server, "/h_deadline")$body) %in% 840:900)
  expect_true(as.integer(http(server, "/own")$body) %in% 240:300)
  expect_identical(http(server, "/inline/h_deadline")$body, "none")
})

test_that("a pool that is blocked holds up nothing else", {
  server <- local_cpp_server("session", timeout = 600, cpp_workers = 2L, queue_timeout = 0.4)
  # of those that wait, any may be refused on a slow machine: then it is asked again
  text <- function(path, body) within(function() identical(http(server, path)$body, body))
  blocked <- list()
  for (gate in c("one", "two")) {
    expect_true(within(function() {
      blocked[[gate]] <<- ask(server, paste0("/h_block?at=", gate))
      within(function() file.exists(file.path(server$marks, gate)) || blocked[[gate]]$is_over())
      !blocked[[gate]]$is_over()
    }))
  }
  expect_identical(http(server, "/inline/h_text")$status, 200L)
  expect_true(text("/r", "from R"))
  late <- http(server, "/h_text")
  expect_identical(late$status, 503L)
  expect_true("retry-after" %in% names(late$headers))
  for (gate in c("one", "two")) {
    expect_false(blocked[[gate]]$is_over())
    open_gate(server, gate)
    expect_identical(blocked[[gate]]$got(), list(status = 200L, body = "waited"))
  }
  expect_true(text("/h_text", "Hello, World!"))
})

test_that("more than max_queue requests for the pool are refused", {
  server <- local_cpp_server("session", cpp_workers = 1L, max_queue = 2L)
  asked <- lapply(1:6, function(i) ask(server, "/h_block?at=gate"))
  over <- function() vapply(asked, function(one) one$is_over(), NA)
  expect_true(within(function() sum(over()) == 4L))
  refused <- over()
  open_gate(server, "gate")
  status <- vapply(asked, function(one) one$got()$status, 0L)
  expect_identical(status[refused], rep(503L, 4L))
  expect_identical(status[!refused], c(200L, 200L))
})

test_that("R that is busy delays no C handler, and C no R", {
  server <- local_cpp_server("session")
  standing <- ask(server, "/r/stand/gate")
  expect_true(marked(server, "gate"))
  for (path in c("/h_text", "/inline/h_text", "/old_text", "/h_later", "/old_stream")) {
    expect_identical(http(server, path)$status, 200L, info = path)
  }
  # all of them were answered while R was busy
  expect_false(standing$is_over())
  open_gate(server, "gate")
  expect_identical(standing$got()$body, "stood")
})

test_that("an inline handler that blocks is named in the log", {
  server <- local_cpp_server("session")
  expect_identical(http(server, "/inline/h_spin?ms=200")$status, 200L)
  expect_match(server$wait_log("inline handler took")[[1L]], "WARN .*GET /inline/h_spin")
})

test_that("the limits of the server come before the handlers", {
  server <- local_cpp_server("session", max_body = 1000, max_header_field = 8192)
  file <- withr::local_tempfile()
  writeBin(raw(1001), file)
  for (path in c("/h_body", "/inline/h_body", "/old_body")) {
    expect_identical(http(server, path, "--data-binary", paste0("@", file))$status, 413L, info = path)
  }
  expect_identical(http(server, "/h_text", "-H", paste0("X-Long: ", strrep("x", 9000)))$status, 431L)
})

test_that("data reaches the handlers, and is made once for those that share it", {
  server <- local_cpp_server("session", more = c(
    "calls <- 0",
    "make <- function() { calls <<- calls + 1; drover.handlers::new_counter() }",
    "for (path in c('/a', '/b')) dr_get_cpp(app, path, package, 'h_count', interface = 'drover', data = make)",
    "dr_get_cpp(app, '/own', package, 'h_count', interface = 'drover', data = drover.handlers::new_counter(), inline = TRUE)",
    "dr_get_cpp(app, '/text', package, 'h_data', interface = 'drover', data = 'm\\u00f6del')",
    "dr_get_cpp(app, '/raw', package, 'h_data', interface = 'drover', data = as.raw(0:3), inline = TRUE)",
    "dr_get_cpp(app, '/none', package, 'h_data', interface = 'drover')",
    "dr_get(app, '/calls', function(req) { for (i in 1:3) gc(); calls })"
  ))
  counts <- vapply(c("/a", "/b", "/a", "/own"), function(path) http(server, path)$body, "")
  expect_identical(unname(counts), c("1", "2", "3", "1"))
  expect_identical(http(server, "/calls")$body, "1")
  # what R has collected meanwhile was not this
  expect_identical(http(server, "/a")$body, "4")
  expect_identical(http(server, "/text")$body, "m\u00f6del")
  expect_identical(http(server, "/raw")$raw, as.raw(0:3))
  expect_identical(http(server, "/none")$body, "no data")
})

test_that("routes in R go first, streams last, and mounts have theirs", {
  server <- local_cpp_server("session", more = c(
    "dr_get_cpp_stream(app, '/which', package, 'old_stream')",
    "dr_get_cpp(app, '/which', package, 'h_text', interface = 'drover')",
    "dr_get_cpp(app, '/first', package, 'h_text', interface = 'drover', inline = TRUE)",
    "dr_get(app, '/first', function(req) 'R')",
    "api <- dr_app()",
    "dr_use(api, function(req, nxt) stop('never'))",
    "dr_post_cpp(api, '/echo/:id', package, 'h_echo', interface = 'drover')",
    "dr_mount(app, '/api/:tenant', api)"
  ))
  expect_identical(http(server, "/which")$body, "Hello, World!")
  expect_identical(http(server, "/first")$body, "R")
  seen <- http_json(server, "/api/acme/echo/7", "-d", "x")
  expect_identical(seen$params, c("acme", "7"))
  expect_identical(seen$param_id, "7")
})

test_that("a session stops while handlers run, and serves again", {
  local_handlers()
  app <- dr_app()
  dr_get_cpp(app, "/block", "drover.handlers", "h_block", interface = "drover")
  dr_get_cpp(app, "/endless", "drover.handlers", "h_stream_endless", interface = "drover")
  dr_get_cpp(app, "/never", "drover.handlers", "h_never", interface = "drover", inline = TRUE)
  dr_get_cpp(
    app, "/count", "drover.handlers", "h_count", interface = "drover", data = function() drover.handlers::new_counter()
  )
  here <- list(marks = local_marks(environment()))
  withr::defer({
    open_all_gates(here)
    dr_stop(graceful_timeout = 0)
  })
  # how long the handler stands: it ends while the session stops, or is still there when that has stopped
  for (seconds in c(0.5, 20, 20)) {
    expect_message(dr_serve(app, port = 0L, block = FALSE, log = "none", graceful_timeout = 0.3),
      "routes=0, cpp_routes=4, cpp_stream_routes=0")
    server <- list(url = dr_url(), port = app$port)
    # a new server, a new counter
    expect_identical(http(server, "/count")$body, "1")
    expect_identical(http(server, "/count")$body, "2")
    gate <- basename(tempfile("gate"))
    file <- file.path(here$marks, paste0(gate, ".open"))
    asked <- lapply(c("/never", paste0("/block?at=", gate)), function(path) ask(server, path))
    endless <- raw_client(app$port)
    client_send(endless, request_bytes("/endless"))
    expect_true(marked(here, gate))
    expect_true(client_fill(endless, patience()))
    opener <- processx::process$new("sh", c("-c", sprintf("sleep %s; touch '%s'", seconds, file)))
    dr_stop()
    expect_false(dr_running())
    if (seconds > 1) expect_false(file.exists(file))
    opener$kill()
    # what the handler still has is not gone
    gc()
    open_gate(here, gate)
    for (one in asked) one$kill()
  }
})
