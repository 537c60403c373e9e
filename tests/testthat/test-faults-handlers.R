# What a handler may do to R, one fault each: it costs one 500 and a line of the log, never the server.
# Not here: what a handler leaves behind (test-faults-state.R), processes and nesting (test-faults-session.R),
# what it returns (test-faults-values.R).

server <- local_server({
  app <- dr_app()
  dr_get(app, "/alive", function(req) paste("alive", Sys.getpid()))
  dr_get(app, "/stop", function(req) stop("secret-7"))
  dr_get(app, "/stop-empty", function(req) stop())
  dr_get(app, "/stop-huge", function(req) stop(strrep("secret-7 ", 1e6)))
  dr_get(app, "/warning-as-error", function(req) {
    old <- options(warn = 2)
    on.exit(options(old))
    warning("secret-7")
  })
  dr_get(app, "/recursion", function(req) {
    f <- function(n) f(n + 1)
    f(1)
  })
  dr_get(app, "/c-stack", function(req) {
    old <- options(expressions = 500000)
    on.exit(options(old))
    f <- function(n) sapply(n, f)
    f(1)
  })
  dr_get(app, "/memory", function(req) numeric(1e11))
  dr_get(app, "/on-exit", function(req) {
    on.exit(stop("secret-7"))
    "fine"
  })
  dr_get(app, "/odd-condition", function(req) {
    stop(structure(class = c("odd", "condition"), list(message = "secret-7", call = NULL)))
  })
  dr_get(app, "/abort", function(req) invokeRestart("abort"))
  dr_get(app, "/any-restart", function(req) {
    restarts <- computeRestarts()
    invokeRestart(restarts[[length(restarts)]])
  })
  dr_get(app, "/break", function(req) eval(quote(break), globalenv()))
  dr_get(app, "/quit", function(req) quit(save = "no"))
  dr_get(app, "/quit-status", function(req) quit("no", 7, FALSE))
  dr_get(app, "/q", function(req) q("no"))
  dr_get(app, "/base-quit", function(req) base::quit("no"))
  dr_get(app, "/do-call-q", function(req) do.call("q", list("no")))
  dr_get(app, "/quit-in-try", function(req) {
    tryCatch(q("no"), error = function(e) stop("secret-7"))
  })
  dr_get(app, "/message-method", function(req) {
    stop(structure(class = c("faulty_message", "error", "condition"), list(message = "secret-7", call = NULL)))
  })
  registerS3method("conditionMessage", "faulty_message", function(c) stop("secret-7 in conditionMessage"))
  registerS3method("conditionCall", "faulty_message", function(c) stop("secret-7 in conditionCall"))
  for (shape in c("null", "na", "none", "two", "number", "function")) local({
    message <- switch(shape, null = NULL, na = NA_character_, none = character(), two = c("secret-7", "b"), number = 1,
      "function" = function() NULL)
    dr_get(app, paste0("/message-", shape), function(req) {
      stop(structure(class = c("simpleError", "error", "condition"), list(message = message, call = NULL)))
    })
  })
  for (shape in c("text", "low", "high", "na", "none", "list")) local({
    status <- switch(shape, text = "abc", low = 99, high = 1e10, na = NA_integer_, none = integer(), list = list())
    dr_get(app, paste0("/status-", shape), function(req) {
      stop(structure(class = c("drover_error_http", "error", "condition"),
        list(message = "secret-7", call = NULL, status = status)))
    })
  })
  dr_get(app, "/finalizer", function(req) {
    reg.finalizer(new.env(), function(e) stop("secret-7"))
    gc()
    "fine"
  })
  dr_get(app, "/error-option", function(req) {
    old <- options(error = quote(q("no", 3)))
    on.exit(options(old))
    stop("secret-7")
  })
  dr_get(app, "/error-option-abort", function(req) {
    old <- options(error = quote(q("no", 3)))
    on.exit(options(old))
    stop(structure(class = c("odd", "condition"), list(message = "secret-7", call = NULL)))
  })
  dr_get(app, "/warning", function(req) {
    warning("a warning of a handler")
    "warned"
  })
  dr_get(app, "/warnings", function(req) {
    for (i in 1:200) warning("repeated ", i)
    "warned"
  })
  dr_get(app, "/message", function(req) {
    message("hello from a handler")
    "said"
  })
  dr_get(app, "/print", function(req) {
    print(1:3)
    cat("no newline")
    "printed"
  })
  dr_get(app, "/try", function(req) {
    try(stop("within try"))
    "tried"
  })
  dr_get(app, "/deep/<where>", function(req) inner_function(req$params[["where"]]))
  inner_function <- function(where) stop("failed in ", where)
  dr_get(app, "/control", function(req) {
    stop("one\r\n2026-01-01T00:00:00.000Z drover ERROR id=forged GET / 500\ntwo\033[2J\a", intToUtf8(0x2028), rawToChar(as.raw(c(0xff, 0xfe))))
  })
  dr_get(app, "/control/*rest", function(req) stop("path"))
  dr_get(app, "/heap", function(req) {
    gc()
    used <- gc()
    paste(sum(used[, 1] * c(56, 8)))
  })
}, frame = teardown_env())

expect_alive <- function(server) {
  response <- fetch(server, "/alive")
  expect_identical(response$text, paste("alive", server$pid))
}

failing <- c(
  "stop", "stop-empty", "stop-huge", "warning-as-error", "recursion", "c-stack", "memory", "on-exit", "odd-condition",
  "abort", "any-restart", "break", "quit", "quit-status", "q", "base-quit", "do-call-q", "quit-in-try",
  "message-method", paste0("message-", c("null", "na", "none", "two", "number", "function")),
  paste0("status-", c("text", "low", "high", "na", "none", "list")), "error-option", "error-option-abort"
)
for (fault in failing) local({
  fault <- fault
  test_that(paste("a handler that fails by", fault, "is answered with 500, logged, and the server lives"), {
    before <- length(server$log())
    response <- fetch(server, paste0("/", fault))
    expect_identical(response$status, 500L)
    expect_false(grepl("secret", response$text))
    expect_alive(server)
    expect_true(within(function() any(grepl(
      paste0(" ERROR .*GET /", fault, " 500"), tail(server$log(), -before), useBytes = TRUE
    ))))
  })
})

test_that("warnings, messages, output and caught errors do not fail a request", {
  expect_identical(fetch(server, "/warning")$text, "warned")
  expect_identical(fetch(server, "/warnings")$text, "warned")
  expect_identical(fetch(server, "/message")$text, "said")
  expect_identical(fetch(server, "/print")$text, "printed")
  expect_identical(fetch(server, "/try")$text, "tried")
  expect_identical(fetch(server, "/finalizer")$text, "fine")
  expect_alive(server)
})

test_that("a warning is logged with its request", {
  fetch(server, "/warning")
  expect_match(server$wait_log("WARN .*a warning of a handler"), "/warning", all = FALSE)
})

test_that("an error's log line names the R call and the traceback", {
  fetch(server, "/deep/water")
  line <- server$wait_log("ERROR .*failed in water")
  expect_length(line, 1)
  expect_match(line, "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z drover ERROR id=\\S+ (127[.]0[.]0[.]1 )?GET /deep/water 500 ")
  expect_match(line, "call=\"?inner_function")
  expect_match(line, "trace=.*inner_function")
})

test_that("the id of a 500 is the one of its log line", {
  response <- fetch(server, "/deep/end", headers = c(Accept = "application/json"))
  expect_identical(response$headers[["content-type"]], "application/problem+json")
  problem <- jsonlite::fromJSON(response$text)
  expect_identical(problem$status, 500L)
  expect_false(is.null(problem$id))
  expect_match(server$wait_log("failed in end"), paste0("id=", problem$id), fixed = TRUE)
})

test_that("an error answer is not cached, not sniffed, and names no version or path", {
  response <- fetch(server, "/stop")
  expect_identical(response$headers[["cache-control"]], "no-store")
  expect_identical(response$headers[["x-content-type-options"]], "nosniff")
  expect_false("server" %in% names(response$headers) && grepl("[0-9]", response$headers[["server"]]))
  expect_false(grepl(R.home(), response$text, fixed = TRUE))
})

test_that("control characters and invalid text of a message cannot forge or split log lines", {
  before <- length(server$log())
  expect_identical(fetch(server, "/control")$status, 500L)
  expect_identical(fetch(server, "/control/%0d%0a2026%20drover%20ERROR%20id=forged%1b[2J%7f%c2%85")$status, 500L)
  expect_identical(fetch(server, "/control/%ff%fe")$status %in% c(400L, 500L), TRUE)
  fetch(server, "/stop")
  expect_true(within(function() any(grepl("GET /stop 500", tail(server$log(), -before), fixed = TRUE, useBytes = TRUE))))
  lines <- tail(server$log(), -before)
  expect_true(all(grepl("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z drover ", lines, useBytes = TRUE)))
  expect_false(any(grepl("^\\S+ drover ERROR id=forged", lines, useBytes = TRUE)))
  expect_false(any(grepl("[\001-\010\013-\037\177]", lines, perl = TRUE, useBytes = TRUE)))
  expect_true(all(validUTF8(lines)))
})

test_that("the client sees a message only with debug = TRUE", {
  debugged <- local_server({
    app <- dr_app()
    dr_get(app, "/stop", function(req) stop("secret-7"))
  }, debug = TRUE)
  expect_match(fetch(debugged, "/stop")$text, "secret-7")
  expect_false(grepl("secret-7", fetch(server, "/stop")$text))
  expect_false(grepl("secret-7", fetch(server, "/stop", headers = c(Accept = "application/json"))$text))
})

test_that("10,000 failing requests leave memory, descriptors and threads flat", {
  skip_without_proc()
  expect_true(all(fetch_many(server, "/stop", 500) == 500L))
  expect_true(all(fetch_many(server, "/odd-condition", 500) == 500L))
  heap <- as.numeric(fetch(server, "/heap")$text)
  before <- process_measure(server$pid)
  expect_true(all(fetch_many(server, "/stop", 5000) == 500L))
  expect_true(all(fetch_many(server, "/odd-condition", 5000) == 500L))
  expect_lt(as.numeric(fetch(server, "/heap")$text) - heap, 1e6)
  expect_true(within(function() process_measure(server$pid)$fds <= before$fds))
  after <- process_measure(server$pid)
  expect_lt(after$rss_kb - before$rss_kb, 10000)
  expect_lte(after$threads, before$threads)
  expect_alive(server)
})
