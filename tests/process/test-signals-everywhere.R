# What signals do in every way of starting: the table of docs/processes-and-signals.md.

signal_app <- function() write_app(c(
  "app <- dr_app()",
  "mark <- function(name) file.create(file.path(Sys.getenv('MARKS'), name))",
  "dr_get(app, '/slow', function(req) { mark('begun'); Sys.sleep(1); mark('slept'); 'slept' })",
  "dr_get(app, '/text', function(req) 'text')",
  "dr_get(app, '/fail/<why>', function(req) stop(req$params[['why']]))",
  "app"
))

SIGQUIT <- 3L
SIGUSR1 <- 10L

for (signal in c("TERM", "QUIT", "INT")) local({
  signal <- signal
  number <- c(TERM = tools::SIGTERM, QUIT = SIGQUIT, INT = tools::SIGINT)[[signal]]
  test_every_way(paste(signal, "drains and ends"), function(start) {
    server <- start(signal_app())
    # in a session INT ends the handler that runs, as Ctrl-C does at a console
    path <- if (signal == "INT") "/text" else "/slow"
    running <- ask_later(server, path)
    if (path == "/slow") expect(marked(server, "begun"), "it does not begin") else running()
    send_signal(server$pid, number)
    if (path == "/slow") expect(running()$body == "slept", "what ran was not answered")
    status <- exit_status(server)
    expect(identical(status, 0L), "exit status ", status)
  })
})

# A request before the session blocks has 'later' call the server; what Ctrl-C meets there is a handler like any other.
test("INT while a callback of 'later' serves ends a session that blocks", function() {
  app <- write_app(c(
    "app <- dr_app()", "dr_get(app, '/text', function(req) 'text')",
    "dr_get(app, '/int', function(req) { tools::pskill(Sys.getpid(), tools::SIGINT); Sys.sleep(5); 'not interrupted' })",
    "app"
  ))
  server <- serve_session(c(
    "ask <- function(path) {",
    "  system(paste0('curl -s -m 10 -o ', file.path(Sys.getenv('MARKS'), basename(path)), ' ', dr_url(), path), wait = FALSE)",
    "  Sys.sleep(0.5)",
    "}",
    "withCallingHandlers(serve(), message = function(m) {",
    "  later::later(function() ask('/int'))",
    "  if (grepl('listening', conditionMessage(m))) ask('/text')",
    "})"
  ), app)
  expect(marked(server, "text"), "the first request is not answered")
  status <- exit_status(server, 10)
  expect(identical(status, 0L), "exit status ", status)
})

test_every_way("INT as soon as it says that it listens ends it in peace", function(start) {
  for (i in 1:8) {
    server <- start(signal_app())
    send_signal(server$pid, tools::SIGINT)
    status <- exit_status(server, 10)
    expect(identical(status, 0L), "start ", i, ": exit status ", status)
  }
}, of = c("the session", "dr_run()"))

test_every_way("USR1 opens a log file again that was moved, and so does the next line after a second", function(start) {
  log <- tempfile("log-")
  server <- start(signal_app(), log = log)
  has <- function(file, text) {
    within(function() file.exists(file) && any(grepl(text, readLines(file, warn = FALSE), fixed = TRUE)), 5)
  }
  ask(server, "/fail/first")
  expect(has(log, "first"), "the log has no line")
  moved <- paste0(log, ".1")
  file.rename(log, moved)
  send_signal(server$pid, SIGUSR1)
  expect(within(function() file.exists(log), 5), "USR1 does not open it again")
  ask(server, "/fail/second")
  expect(has(log, "second") && !has(moved, "second"), "the line is in the old file")
  unlink(log)
  Sys.sleep(1.1)
  ask(server, "/fail/third")
  expect(has(log, "third"), "a removed file is not opened again")
  expect(server$process$is_alive(), "it has ended")
})

# The server in a terminal: what the terminal runs.
first_process <- function(server) {
  processes <- family()
  processes$pid[processes$parent == server$pid]
}

test_every_way("a terminal that is closed ends what was started there, in peace", function(start) {
  server <- start(signal_app(), wrapper = terminal())
  pid <- first_process(server)
  running <- ask_later(server, "/slow")
  expect(marked(server, "begun"), "it does not begin")
  # the terminal hangs up
  send_signal(server$pid, tools::SIGTERM)
  answer <- running()
  expect(answer$body == "slept", "what ran was not answered: status ", answer$status)
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
  Sys.sleep(0.3)
  expect(!any(grepl("SIGHUP|generation 2", server$log())), "it heeds HUP")
  send_signal(server$pid, tools::SIGTERM)
  Sys.sleep(0.5)
  expect(all(is_alive(pid)), "it has ended")
  expect(ask(server, "/text")$status == "200", "it does not serve")
  send_signal(pid, tools::SIGTERM)
  expect(identical(exit_status(server), 0L), "another exit status")
}, of = c("the session", "dr_run()", "drover serve"))
