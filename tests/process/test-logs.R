# What handlers and workers say in the log, in both formats; the traces of requests. Neighbours: test-log.R (how the log
# looks at a terminal), test-access-log.R.

logs_app <- function() write_app(c(
  "app <- dr_app()",
  "dr_get(app, '/log', function(req) {",
  "  dr_log('info', 'an order', n = 3, price = 1.5, big = 1e15, name = \"O'Hara \\\"x\\\"\", vip = TRUE, none = NULL,",
  "    missing = NA, endless = Inf, day = as.Date('2026-11-24'))",
  "  dr_log('debug', 'a detail')",
  "  req$id",
  "})",
  "hostile <- paste0('x\\n2026-11-24T00:00:00.000Z drover ERROR forged\\r\\u001b[31m\\u001f forged() \\u001e n=9',",
  "  ' </script><b>\\\"}\\u2028')",
  "dr_get(app, '/hostile', function(req) {",
  "  dr_log('warn', hostile, what = hostile)",
  "  warning(hostile)",
  "  message(hostile)",
  "  stop(hostile)",
  "})",
  "dr_get(app, '/id', function(req) { dr_log('info', 'id=0123456789abcdef mine'); req$id })",
  "dr_get(app, '/speak', function(req) {",
  "  message('a message')",
  "  cat('printed\\n')",
  "  print('by print')",
  "  cat('without an end')",
  "  req$id",
  "})",
  "dr_get(app, '/caught', function(req) tryCatch(message('x'), message = function(m) 'caught'))",
  "dr_get(app, '/trace', function(req) req$trace)",
  "dr_get(app, '/wrong', function(req) dr_log('loud', 'x'))",
  "dr_get(app, '/wrong-name', function(req) dr_log('info', 'x', `a b` = 1))",
  "dr_get(app, '/wrong-value', function(req) dr_log('info', 'x', a = 1:2))",
  "app"
))

log_file <- function() tempfile("log-", fileext = ".log")

read_log <- function(file) if (file.exists(file)) readLines(file, warn = FALSE, encoding = "UTF-8") else character()

# Waits for a line of a log that matches, and gives it.
line_like <- function(file, pattern) {
  found <- NULL
  within(function() length(found <<- grep(pattern, read_log(file), value = TRUE)) > 0)
  expect(length(found) > 0, "no line like ", pattern, ":\n", paste(utils::tail(read_log(file), 20), collapse = "\n"))
  found[[1L]]
}

expect_schema <- function(file, schema) {
  has_it <- function(python) {
    nzchar(Sys.which(python)) &&
      processx::run(python, c("-c", "import jsonschema"), error_on_status = FALSE)$status == 0
  }
  python <- Find(has_it, c("/usr/bin/python3", "python3"))
  if (is.null(python)) skip("there is no jsonschema for Python")
  schema <- system.file("monitoring", schema, package = "drover")
  result <- processx::run(python, c(file.path(here, "log-schema.py"), schema), stdin = file, error_on_status = FALSE)
  expect(result$status == 0 && !nzchar(result$stdout), result$stdout, result$stderr)
}

test_every_worker("dr_log() writes lines with fields and the request, above log_level", function(start) {
  file <- log_file()
  server <- start(logs_app(), log = file)
  id <- ask(server, "/log")$body
  line <- line_like(file, "an order")
  wanted <- paste0("drover INFO id=", id, " 127.0.0.1 GET /log an order n=3 price=1.5 big=1e+15 ",
    "name=\"O'Hara \\\"x\\\"\" vip=true none=null missing=null endless=\"Inf\" day=\"2026-11-24\"")
  expect(grepl(wanted, line, fixed = TRUE), line)
  expect(!any(grepl("a detail", read_log(file))), "a line below the level is written")
  for (path in c("/wrong", "/wrong-name", "/wrong-value")) expect(ask(server, path)$status == "500", path)
  line_like(file, "`level` must be")

  file <- log_file()
  server <- start(logs_app(), log = file, log_format = "json", log_level = "debug")
  id <- ask(server, "/log")$body
  got <- jsonlite::fromJSON(line_like(file, "an order"), simplifyVector = FALSE)
  expect(got$id == id && got$level == "info" && grepl("an order$", got$message), toString(got))
  fields <- list(n = 3L, price = 1.5, big = 1e15, name = "O'Hara \"x\"", vip = TRUE, none = NULL, missing = NULL,
    endless = "Inf", day = "2026-11-24")
  expect(isTRUE(all.equal(got$fields[!vapply(got$fields, is.null, NA)], fields[!vapply(fields, is.null, NA)])),
    deparse1(got$fields))
  expect(all(c("none", "missing") %in% names(got$fields)), "fields that are NULL are not there")
  expect(jsonlite::fromJSON(line_like(file, "a detail"))$level == "debug", "another level")
  expect_schema(file, "log.schema.json")

  file <- log_file()
  server <- start(logs_app(), log = file, log_level = "error")
  ask(server, "/log")
  expect(ask(server, "/hostile")$status == "500", "another status")
  line_like(file, "ERROR")
  expect(!any(grepl("drover (INFO|WARN)", read_log(file))), "lines below the level are written")
})

test_every_worker("hostile text stays text, in the log and in the access log", function(start) {
  for (format in c("text", "json")) {
    file <- log_file()
    access <- log_file()
    server <- start(logs_app(), log = file, log_format = format, access_log = access, access_log_format = "json")
    ask(server, "/hostile?%3Cscript%3E%0A%1b", "-A", "<b>\"\\\t\u00e9", "-e", "</script>", "-H",
      "traceparent: \" forged")
    line_like(file, "\"?call")
    ask(server, "/id")
    line <- line_like(file, "mine")
    lines <- read_log(file)
    begins <- if (format == "json") "^\\{\"time\":" else "^[0-9-]+T[0-9:.]+Z drover (INFO|WARN|ERROR) "
    expect(all(grepl(begins, lines)), paste(lines[!grepl(begins, lines)], collapse = "\n"))
    expect(!any(grepl("[\001-\010\013-\037\177]", lines)), "control characters")
    expect(!any(grepl("forged\\(\\)( > |\"[],])", lines)), "a call is forged")
    if (format == "json") {
      expect(!grepl("\"id\":\"0123456789abcdef\"", line), "an id is forged")
      expect_schema(file, "log.schema.json")
    }
    line_like(access, "hostile")
    expect_schema(access, "access-log.schema.json")
  }
})

test("messages of workers are lines of the log, and with JSON what they print, with worker and request", function() {
  file <- log_file()
  server <- serve(logs_app(), log = file, workers = "1")
  pid <- wait_for_workers(server, 1)
  id <- ask(server, "/speak")$body
  line <- line_like(file, "a message")
  wanted <- sprintf("INFO id=%s 127.0.0.1 GET /speak message: a message worker=%d", id, pid)
  expect(grepl(wanted, line, fixed = TRUE), line)
  expect(ask(server, "/caught")$body == "caught", "a handler cannot catch its message")
  expect(logged(server, "^printed$"), "what is printed is not where it was")

  file <- log_file()
  server <- serve(logs_app(), log = file, log_format = "json", workers = "1")
  pid <- wait_for_workers(server, 1)
  id <- ask(server, "/speak")$body
  for (text in c("GET /speak printed", "by print", "without an end", "message: a message")) {
    got <- jsonlite::fromJSON(line_like(file, text))
    expect(got$id == id && got$worker == pid, text, ": ", deparse1(got))
    if (!grepl("message", text)) expect(identical(got$fields, list(stream = "stdout")), text, ": ", deparse1(got))
  }
  expect_schema(file, "log.schema.json")
})

test("with JSON on standard error the program writes JSON, too", function() {
  server <- launch(command_of(logs_app(), workers = "1", log_format = "json"), ready = NULL)
  lines <- function() server$log()
  expect(logged(server, "drover listening on http"), "it does not listen")
  send_signal(server$pid, tools::SIGTERM)
  expect(identical(exit_status(server), 0L), "it does not end in peace")
  file <- log_file()
  writeLines(lines(), file)
  expect(length(lines()) >= 4, length(lines()), " lines")
  expect_schema(file, "log.schema.json")
  ended <- run_to_end(command_of(write_app("stop('broken')"), log_format = "json"))
  expect(ended$status != 0, "an app that does not load is served")
  last <- jsonlite::fromJSON(ended$log[length(ended$log)])
  expect(last$level == "error" && grepl("broken", last$message), last$message)
}, ways = 1L)

test_every_worker("a request goes on with the trace of its client, or begins one", function(start) {
  file <- log_file()
  access <- log_file()
  server <- start(logs_app(), log = file, log_format = "json", access_log = access, access_log_format = "json")
  trace <- "4bf92f3577b34da6a3ce929d0e0e4736"
  parent <- sprintf("00-%s-00f067aa0ba902b7-01", trace)
  got <- jsonlite::fromJSON(ask(server, "/trace", "-H", paste("traceparent:", parent), "-H", "tracestate: a=1",
    "-H", "tracestate: b=2")$body)
  expect(got$trace_id == trace && got$parent_id == "00f067aa0ba902b7" && got$sampled, deparse1(got))
  expect(got$traceparent == sprintf("00-%s-%s-01", trace, got$span_id) && got$tracestate == "a=1,b=2", deparse1(got))
  line <- line_like(access, "/trace")
  expect(jsonlite::fromJSON(line)$trace_id == trace, line)
  # a bad one, and two, begin a new one
  for (fields in list(
    c("-H", "traceparent: nonsense", "-H", "tracestate: a=1"), character(),
    c("-H", paste("traceparent:", parent), "-H", paste("traceparent:", sub("01$", "00", parent)))
  )) {
    answer <- do.call(ask, c(list(server, "/trace"), as.list(fields)))
    got <- jsonlite::fromJSON(answer$body)
    expect(answer$status == "200" && got$trace_id != trace && is.null(got$parent_id) && is.null(got$tracestate),
      deparse1(got))
    logged_as <- function() vapply(read_log(access), function(line) jsonlite::fromJSON(line)$trace_id, "")
    expect(within(function() got$trace_id %in% logged_as()), "the access log has another trace")
  }
  # lines of the log about it
  ask(server, "/hostile", "-H", paste("traceparent:", parent))
  expect(grepl(trace, line_like(file, "call="), fixed = TRUE), "the log has another trace")
  id <- ask(server, "/log")$body
  line <- jsonlite::fromJSON(line_like(file, "an order"))
  line_of <- function() Filter(function(l) l$id == id, lapply(read_log(access), jsonlite::fromJSON))
  expect(within(function() length(line_of()) == 1L) && line_of()[[1L]]$trace_id == line$trace_id, "two traces")
})
