# Signals to the server: TERM, HUP and KILL. docs/workers.md has the table.

test("TERM: what runs and what waits is answered, the server stops to listen, and its exit status is 0", function() {
  server <- serve(workers = 4, timeout = 600, graceful_timeout = 600, metrics = TRUE)
  requests <- lapply(1:8, function(i) ask_later(server, paste0("/held/", i)))
  begun <- function() sum(file.exists(file.path(server$marks, 1:8)))
  expect(within(function() begun() == 4L), "they do not begin")
  expect_figure(server, 4, "drover_queue_requests")
  send_signal(server$pid, tools::SIGTERM)
  expect(drains(server), "it still listens")
  expect(server$process$is_alive() && !any(vapply(requests, is_over, NA)) && begun() == 4L, "it does not wait for them")
  for (i in 1:8) open_gate(server, i)
  bodies <- vapply(requests, function(answer) answer()$body, "")
  expect(all(bodies == "let go"), "they got ", toString(bodies))
  status <- exit_status(server)
  expect(identical(status, 0L), "exit status ", status)
  expect(ask(server, "/text")$status == "000", "it still listens")
})

test("TERM under load: every request that was sent is answered", function() {
  for (threads in c(1, 1, 1, 2, 3)) {
    server <- serve(workers = 2, threads = threads)
    load <- start_load(server, "/n/{n}", echo = TRUE, connections = 16)
    # at any moment of it
    let_pass(stats::runif(1, 0, 0.3))
    send_signal(server$pid, tools::SIGTERM)
    status <- exit_status(server)
    account <- end_load(load)
    expect(identical(status, 0L), "exit status ", status)
    # what comes on an open connection while the server drains may be refused, but not left without an answer
    expect(account[["s200"]] + account[["s503"]] == account[["sent"]], attr(account, "line"))
  }
})

test("a second TERM ends it now", function() {
  server <- serve(workers = 2, timeout = 600, graceful_timeout = 600)
  waiting <- ask_later(server, "/held/long", wait = 600)
  expect(marked(server, "long"), "it does not begin")
  send_signal(server$pid, tools::SIGTERM)
  expect(drains(server), "it still listens")
  # what comes within half a second counts as the same signal
  expect(never(function() !server$process$is_alive(), 1), "it did not wait for the running request")
  send_signal(server$pid, tools::SIGTERM)
  expect(!is.na(exit_status(server)), "it waits after a second TERM")
})

test("graceful_timeout ends the wait for a handler that does not end", function() {
  server <- serve(workers = 2, graceful_timeout = 1, timeout = 600)
  waiting <- ask_later(server, "/stubborn")
  expect(marked(server, "begun"), "it does not begin")
  send_signal(server$pid, tools::SIGTERM)
  expect(!is.na(exit_status(server)), "it waits for ever")
})

test("INT ends it as TERM does", function() {
  server <- serve(workers = 2)
  send_signal(server$pid, tools::SIGINT)
  expect(identical(exit_status(server), 0L), "another exit status")
})

# An app of two routes whose answer names its version.
versioned <- function(version, file) {
  write_app(c("app <- dr_app()", sprintf("dr_get(app, '/version', function(req) '%s')", version),
    "dr_get(app, '/n/<n>', function(req) req$params[['n']])", "app"), file)
}

test("ten reloads under load: no request fails, and each brings the new code", function() {
  file <- versioned("0", tempfile("app-", fileext = ".R"))
  server <- serve(file, workers = 2, threads = 2)
  load <- start_load(server, "/n/{n}", echo = TRUE, connections = 8)
  for (version in as.character(1:10)) {
    versioned(version, file)
    send_signal(server$pid, tools::SIGHUP)
    expect(within(function() ask(server, "/version")$body == version), "version ", version, " does not come")
  }
  expect_account(end_load(load))
  # the old generations have gone
  wait_for_workers(server, 2)
  expect(within(function() length(zygotes(server)) == 1L), "zygotes: ", toString(zygotes(server)))
}, ways = 1:2)

test("a reload waits for what the old code is running", function() {
  file <- write_app(c(readLines(file.path(here, "app.R")), "dr_get(app, '/version', function(req) 'old')", "app"))
  server <- serve(file, workers = 2, timeout = 600, graceful_timeout = 600)
  before <- wait_for_workers(server, 2)
  running <- ask_later(server, "/held/old")
  busy <- as.integer(mark_text(server, "old"))
  write_app(c(readLines(file.path(here, "app.R")), "dr_get(app, '/version', function(req) 'new')", "app"), file)
  send_signal(server$pid, tools::SIGHUP)
  expect(within(function() ask(server, "/version")$body == "new"), "the new code does not come")
  # the other worker of the old code ends
  expect(within(function() identical(intersect(before, workers(server)), busy)), "others of the old code: ",
    toString(intersect(before, workers(server))))
  expect(!is_over(running), "it does not wait for the request of the old code")
  open_gate(server, "old")
  expect(running()$status == "200", "the request of the old code failed")
}, ways = 1:2)

test("code that does not load, or whose workers do not start, leaves the old code serving", function() {
  file <- versioned("good", tempfile("app-", fileext = ".R"))
  # of which its own start and that of good code have to take less
  server <- serve(file, workers = 2, start_timeout = patience(3))
  pids <- wait_for_workers(server, 2)
  # most of the time it waits for code that never loads
  load <- start_load(server, "/n/{n}", echo = TRUE, connections = 4, rate = 200)
  broken <- list(
    "app <- dr_app(", "stop('no such table')",
    c("app <- dr_app()", "dr_on_worker_start(app, function() stop('no database'))", "app"), "stand_at('never')"
  )
  for (lines in broken) {
    before <- sum(grepl("not reloaded", server$log()))
    write_app(lines, file)
    send_signal(server$pid, tools::SIGHUP)
    expect(within(function() sum(grepl("not reloaded", server$log())) == before + 1L), "nothing is told of: ", lines)
  }
  expect_account(end_load(load))
  expect(setequal(workers(server), pids), "the workers are others")
  expect(any(grepl("no such table", server$log())) && any(grepl("no database", server$log())),
    "the log gives no reason")
  versioned("better", file)
  send_signal(server$pid, tools::SIGHUP)
  expect(within(function() ask(server, "/version")$body == "better"), "good code does not load any more")
}, ways = 1:2)

test("KILL of the server: workers, zygote and children of handlers go at once, and its port is free", function() {
  server <- serve(workers = 3, timeout = 600)
  expect(ask(server, "/child")$status == "200", "no child")
  deaf <- ask_later(server, "/deaf")
  expect(marked(server, "begun"), "it does not begin")
  system <- ask_later(server, "/system")
  runs <- function(command) any(grepl(paste0("^", command, "$"), family()$command))
  expect(within(function() runs("sleep 100") && runs("sleep 1000")), "the children of handlers do not run")
  send_signal(server$pid, tools::SIGKILL)
  expect(have_ended(server$pid), "it lives")
  end_clients()
  # what ends by itself takes 100 s, longer than even a slow machine is waited for here
  left <- processes_left(10)
  expect(!length(left), "still there: ", paste(left, collapse = "; "))
  again <- serve(port = server$port, workers = 1)
  expect(ask(again, "/text")$status == "200", "no answer on the same port")
})

test("KILL of a server that is still loading", function() {
  server <- launch(command_of(write_app("system('sleep 1000')")), ready = NULL)
  expect(within(function() any(grepl("^sleep 1000$", family()$command))), "it does not load")
  send_signal(server$pid, tools::SIGKILL)
  expect(have_ended(server$pid), "it lives")
  left <- processes_left(10)
  expect(!length(left), "still there: ", paste(left, collapse = "; "))
})
