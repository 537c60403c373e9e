# Signals to the server: TERM, HUP and KILL. docs/workers.md has the table.

test("TERM: what runs and what waits is answered, the server stops to listen, and its exit status is 0", function() {
  server <- serve(workers = 4)
  # one request on each connection: 4 run, 4 wait
  load <- start_load(server, "/sleep/300", path2 = "/slow/300", connections = 8, requests = 8)
  send_signal(server$pid, tools::SIGTERM)
  status <- exit_status(server)
  for (account in end_load(load)) expect_account(account)
  expect(identical(status, 0L), "exit status ", status)
  expect(ask(server, "/text")$status == "000", "it still listens")
})

test("TERM under load: every request that was sent is answered", function() {
  for (threads in c(1, 1, 1, 2, 3)) {
    server <- serve(workers = 2, threads = threads)
    load <- start_load(server, "/n/{n}", echo = TRUE, connections = 16)
    Sys.sleep(0.2)
    send_signal(server$pid, tools::SIGTERM)
    status <- exit_status(server)
    account <- end_load(load)
    expect(identical(status, 0L), "exit status ", status)
    # what comes on an open connection while the server drains may be refused, but not left without an answer
    expect(account[["s200"]] + account[["s503"]] == account[["sent"]], attr(account, "line"))
  }
})

test("a second TERM ends it now", function() {
  server <- serve(workers = 2)
  waiting <- ask_later(server, "/slow/60000")
  marked(server, "begun")
  send_signal(server$pid, tools::SIGTERM)
  expect(is.na(exit_status(server, 1)), "it did not wait for the running request")
  send_signal(server$pid, tools::SIGTERM)
  expect(!is.na(exit_status(server, 10)), "it waits after a second TERM")
})

test("graceful_timeout ends the wait for a handler that does not end", function() {
  server <- serve(workers = 2, graceful_timeout = 1, timeout = 100)
  waiting <- ask_later(server, "/deaf")
  marked(server, "begun")
  send_signal(server$pid, tools::SIGTERM)
  expect(!is.na(exit_status(server, 15)), "it waits for ever")
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
    expect(within(function() ask(server, "/version")$body == version, 20), "version ", version, " does not come")
  }
  expect_account(end_load(load))
  # the old generations have gone
  wait_for_workers(server, 2)
  expect(within(function() length(zygotes(server)) == 1L), "zygotes: ", toString(zygotes(server)))
}, ways = 1:2)

test("a reload waits for what the old code is running", function() {
  file <- write_app(c(readLines(file.path(here, "app.R")), "dr_get(app, '/version', function(req) 'old')", "app"))
  server <- serve(file, workers = 2)
  running <- ask_later(server, "/slow/1500")
  marked(server, "begun")
  write_app(c(readLines(file.path(here, "app.R")), "dr_get(app, '/version', function(req) 'new')", "app"), file)
  send_signal(server$pid, tools::SIGHUP)
  expect(within(function() ask(server, "/version")$body == "new"), "the new code does not come")
  expect(running()$status == "200", "the request of the old code failed")
}, ways = 1:2)

test("code that does not load, or whose workers do not start, leaves the old code serving", function() {
  file <- versioned("good", tempfile("app-", fileext = ".R"))
  server <- serve(file, workers = 2, start_timeout = 3)
  pids <- wait_for_workers(server, 2)
  load <- start_load(server, "/n/{n}", echo = TRUE, connections = 4)
  broken <- list(
    "app <- dr_app(", "stop('no such table')",
    c("app <- dr_app()", "dr_on_worker_start(app, function() stop('no database'))", "app"), "Sys.sleep(100)"
  )
  for (lines in broken) {
    before <- sum(grepl("not reloaded", server$log()))
    write_app(lines, file)
    send_signal(server$pid, tools::SIGHUP)
    expect(within(function() sum(grepl("not reloaded", server$log())) == before + 1L, 15), "nothing is told of: ",
      lines)
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
  server <- serve(workers = 3, timeout = 100)
  expect(ask(server, "/child")$status == "200", "no child")
  running <- list(ask_later(server, "/deaf"), ask_later(server, "/system"))
  marked(server, "begun")
  expect(within(function() sum(grepl("sleep 100", family()$command)) >= 2L), "the children of handlers do not run")
  send_signal(server$pid, tools::SIGKILL)
  server$process$wait(5000)
  end_clients()
  left <- processes_left(3)
  expect(!length(left), "still there: ", paste(left, collapse = "; "))
  again <- serve(port = server$port, workers = 1)
  expect(ask(again, "/text")$status == "200", "no answer on the same port")
})

test("KILL of a server that is still loading", function() {
  file <- write_app(c("file.create(file.path(Sys.getenv('MARKS'), 'loading'))", "system('sleep 1000')"))
  server <- launch(command_of(file), ready = NULL)
  expect(marked(server, "loading"), "it does not load")
  within(function() any(grepl("sleep 1000", family()$command)))
  send_signal(server$pid, tools::SIGKILL)
  server$process$wait(5000)
  left <- processes_left(3)
  expect(!length(left), "still there: ", paste(left, collapse = "; "))
})
