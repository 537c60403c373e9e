# How long a request may wait and take: by default, and with 0, which is never.

deadline_app <- function() write_app(c(
  "app <- dr_app()",
  "nap <- function(req) { Sys.sleep(as.numeric(req$params[['s']])); 'slept' }",
  "dr_get(app, '/sleep/<s>', nap)",
  "held <- function(req) { stand_at(req$params[['gate']]); 'let go' }",
  "dr_get(app, '/held/<gate>', held)",
  "dr_get(app, '/patient/<gate>', held, timeout = 0)",
  "dr_get(app, '/impatient/<gate>', held, timeout = 0.5)",
  "app"
))

test_every_worker("three clients on a handler of 4 seconds get three answers, with one worker and nothing set", function(start) {
  server <- start(deadline_app())
  answers <- lapply(1:3, function(i) ask_later(server, "/sleep/4"))
  status <- vapply(answers, function(wait) wait()$status, "")
  expect(all(status == "200"), "statuses ", toString(status))
}, of = c("the session", "drover serve"))

test_every_worker("timeout = 0 is never, and the log names what was exceeded", function(start) {
  server <- start(deadline_app(), timeout = 1, kill_after = 20)
  # what waits for all of its time has not begun: it may be sent again
  running <- ask_later(server, "/patient/go")
  expect(marked(server, "go"), "it does not begin")
  answer <- ask(server, "/sleep/0")
  expect(answer$status == "503" && field(answer, "retry-after") == "1", "status ", answer$status)
  expect(logged(server, "GET /sleep/0 503 waited too long in the queue: over `timeout` = 1 s"), "it is not in the log")
  expect(!is_over(running), "a route's 0 is not never")
  open_gate(server, "go")
  expect(running()$status == "200", "a route's 0 is not never")
  # last: a worker that was interrupted is replaced
  answer <- ask_until_begun(server, "/impatient/late", "late")()
  expect(answer$status == "504" && !grepl("timeout`", answer$body), "status ", answer$status, ": ", answer$body)
  expect(logged(server, "GET /impatient/late 504 the handler took too long: over `timeout` = 0.5 s"), "it is not in the log")
})

test_every_worker("queue_timeout shortens the wait, and timeout = 0 holds for the server", function(start) {
  server <- start(deadline_app(), timeout = 0, queue_timeout = 0.5)
  running <- ask_until_begun(server, "/held/go", "go")
  answer <- ask(server, "/sleep/0")
  expect(answer$status == "503", "status ", answer$status)
  expect(logged(server, "503 waited too long in the queue: over `queue_timeout` = 0.5 s"), "it is not in the log")
  expect(!is_over(running), "timeout = 0 is not never")
  open_gate(server, "go")
  expect(running()$status == "200", "another status")
}, of = c("the session", "drover serve"))
