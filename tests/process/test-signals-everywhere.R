# What signals do in every way of starting: the table of docs/processes-and-signals.md.

signal_app <- function() write_app(c(
  "app <- dr_app()",
  "dr_get(app, '/held', function(req) { stand_at('held'); 'let go' }, timeout = 600)",
  "dr_get(app, '/text', function(req) 'text')",
  "dr_get(app, '/fail/<why>', function(req) stop(req$params[['why']]))",
  "app"
))

SIGQUIT <- 3L
SIGUSR1 <- 10L

# A request waits at a gate, and the server has been told to end. A session that runs handlers itself hears of that when
# the handler has returned.
expect_waits <- function(server, running, start) {
  if (!identical(start, starts[["the session"]])) expect(drains(server), "it still listens")
  expect(never(function() !server$process$is_alive() || is_over(running), 0.3), "it does not wait for what runs")
}

for (signal in c("TERM", "QUIT", "INT")) local({
  signal <- signal
  number <- c(TERM = tools::SIGTERM, QUIT = SIGQUIT, INT = tools::SIGINT)[[signal]]
  test_every_way(paste(signal, "drains and ends"), function(start) {
    server <- start(signal_app(), graceful_timeout = 600)
    # in a session that runs handlers INT ends the one that runs, as Ctrl-C does at a console
    ends_handlers <- signal == "INT" && any(vapply(starts[c("the session", "dr_run()")], identical, NA, start))
    running <- ask_later(server, if (ends_handlers) "/text" else "/held")
    if (ends_handlers) running() else expect(marked(server, "held"), "it does not begin")
    send_signal(server$pid, number)
    if (!ends_handlers) {
      expect_waits(server, running, start)
      open_gate(server, "held")
      answer <- running()
      expect(answer$body == "let go", "what ran was not answered: status ", answer$status)
    }
    status <- exit_status(server)
    expect(identical(status, 0L), "exit status ", status)
  })
})

# A request before the session blocks has 'later' call the server; what Ctrl-C meets there is a handler like any other.
test("INT while a callback of 'later' serves ends a session that blocks", function() {
  app <- write_app(c(
    "app <- dr_app()", "dr_get(app, '/text', function(req) 'text')",
    "dr_get(app, '/int', function(req) {", "  tools::pskill(Sys.getpid(), tools::SIGINT)", "  stand_at('never')", "})",
    "app"
  ))
  server <- serve_session(c(
    "under_way <- function() {",
    "  grep('^drover_requests_open ', readLines(paste0(dr_url(), '/metrics')), value = TRUE)",
    "}",
    "# until it has come, and waits for the session",
    "ask <- function(path) {",
    "  before <- under_way()",
    "  file <- file.path(Sys.getenv('MARKS'), basename(path))",
    "  system(paste0('curl -s -m 100 -o ', file, ' ', dr_url(), path), wait = FALSE)",
    "  while (under_way() == before) Sys.sleep(0.01)",
    "}",
    "withCallingHandlers(serve(metrics = TRUE), message = function(m) {",
    "  later::later(function() ask('/int'))",
    "  if (grepl('listening', conditionMessage(m))) ask('/text')",
    "})"
  ), app)
  expect(marked(server, "text"), "the first request is not answered")
  status <- exit_status(server)
  expect(identical(status, 0L), "exit status ", status)
})

test_every_way("INT as soon as it says that it listens ends it in peace", function(start) {
  for (i in 1:8) {
    server <- start(signal_app())
    send_signal(server$pid, tools::SIGINT)
    status <- exit_status(server)
    expect(identical(status, 0L), "start ", i, ": exit status ", status)
  }
}, of = c("the session", "dr_run()"))

test_every_way("USR1 opens a log file again that was moved, and so does the next line after a second", function(start) {
  log <- tempfile("log-")
  server <- start(signal_app(), log = log)
  has <- function(file, text) file.exists(file) && any(grepl(text, readLines(file, warn = FALSE), fixed = TRUE))
  ask(server, "/fail/first")
  expect(within(function() has(log, "first")), "the log has no line")
  moved <- paste0(log, ".1")
  file.rename(log, moved)
  send_signal(server$pid, SIGUSR1)
  expect(within(function() file.exists(log)), "USR1 does not open it again")
  ask(server, "/fail/second")
  expect(within(function() has(log, "second")) && !has(moved, "second"), "the line is in the old file")
  unlink(log)
  # it looks for its file once a second
  let_pass(1.1)
  ask(server, "/fail/third")
  expect(within(function() has(log, "third")), "a removed file is not opened again")
  expect(server$process$is_alive(), "it has ended")
})

# The server in a terminal: what the terminal runs.
first_process <- function(server) {
  processes <- family()
  processes$pid[processes$parent == server$pid]
}

test_every_way("a terminal that is closed ends what was started there, in peace", function(start) {
  server <- start(signal_app(), graceful_timeout = 600, wrapper = terminal())
  pid <- first_process(server)
  running <- ask_later(server, "/held")
  expect(marked(server, "held"), "it does not begin")
  # the terminal hangs up
  send_signal(server$pid, tools::SIGTERM)
  expect_waits(server, running, start)
  open_gate(server, "held")
  answer <- running()
  expect(answer$body == "let go", "what ran was not answered: status ", answer$status)
  status <- exit_status(server)
  expect(identical(status, 0L), "exit status ", status)
  expect(have_ended(pid), "it still runs")
})

test("HUP while the terminal is there is a reload", function() {
  server <- starts$`drover serve`(signal_app(), wrapper = terminal())
  old <- workers(list(pid = first_process(server)))
  send_signal(first_process(server), tools::SIGHUP)
  expect(logged(server, "generation 2"), "it does not reload")
  expect(ask(server, "/text")$status == "200", "it has ended")
})

# nohup itself would send the output elsewhere.
test_every_way("nohup: HUP is ignored, whatever becomes of the terminal", function(start) {
  server <- start(signal_app(), wrapper = c(terminal(), "sh", "-c", "trap '' HUP; exec \"$@\"", "nohup"))
  pid <- first_process(server)
  send_signal(pid, tools::SIGHUP)
  expect(never(function() any(grepl("SIGHUP|generation 2", server$log())), 0.3), "it heeds HUP")
  # the terminal hangs up
  send_signal(server$pid, tools::SIGTERM)
  expect(never(function() !all(is_alive(pid)), 0.5), "it has ended")
  expect(ask(server, "/text")$status == "200", "it does not serve")
  send_signal(pid, tools::SIGTERM)
  expect(identical(exit_status(server), 0L), "another exit status")
}, of = c("the session", "dr_run()", "drover serve"))
