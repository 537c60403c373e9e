# A worker that is killed, or kills itself, costs the one request that it was running; it is replaced.

test("SIGKILL of a worker: its request gets 502 at once, all others their answers", function() {
  # nothing else ends its request: no clock, and no gate that opens
  server <- serve(workers = 3, timeout = 600)
  victim <- ask_later(server, "/held/victim")
  pid <- as.integer(mark_text(server, "victim"))
  load <- start_load(server, "/n/{n}", echo = TRUE, connections = 16)
  send_signal(pid, tools::SIGKILL)
  answer <- victim()
  expect(answer$status == "502", "status ", answer$status)
  wait_for_workers(server, 3, but = pid)
  expect_account(end_load(load))
  expect(logged(server, paste0("worker ", pid, " .*KILL")), "the log does not name the worker and the signal")
  expect(logged(server, paste0("GET /held/victim 502 .*worker ", pid)), "the request's line does not name the worker")
})

# Four kills in a row: the fifth within ten seconds is taken for a crash loop, and slowed down.
test("20 workers killed under load: at most one failed request each, nothing reset, lost or mixed up", function() {
  failed <- 0
  for (round in 1:5) {
    server <- serve(workers = 4, threads = 2, timeout = 600, express = FALSE)
    # the slow half keeps all workers busy at nearly every moment, also where its client waits for a processor
    load <- start_load(server, "/n/{n}", path2 = "/sleep/100?n={n}", echo = TRUE, connections = 16)
    for (kill in 1:4) {
      pids <- wait_for_workers(server, 4)
      # at whatever moment of a request
      let_pass(stats::runif(1, 0.05, 0.1))
      victim <- sample(pids, 1)
      send_signal(victim, tools::SIGKILL)
      wait_for_workers(server, 4, but = victim)
    }
    accounts <- end_load(load)
    both <- vapply(accounts, `[[`, 0, "s502")
    for (i in 1:2) expect_account(accounts[[i]], s502 = both[i])
    expect(sum(both) <= 4, "4 workers killed, and ", sum(both), " requests failed")
    failed <- failed + sum(both)
  }
  # a worker may be hit between two requests
  expect(failed >= 10, "20 workers killed, and only ", failed, " requests failed: they were not busy")
})

test("all workers killed at once, while answers are checked: no answer goes to another request", function() {
  server <- serve(workers = 2, threads = 2, timeout = 600)
  load <- start_load(server, "/n/{n}", echo = TRUE, connections = 32)
  for (kill in 1:3) {
    pids <- wait_for_workers(server, 2)
    send_signal(pids, tools::SIGKILL)
    wait_for_workers(server, 2, but = pids)
  }
  account <- end_load(load)
  expect(account[["s502"]] <= 6, account[["s502"]], " requests failed")
  expect_account(account, s502 = account[["s502"]])
})

test("segfault, abort, quit() and SIGKILL by the handler itself: 502, and the server goes on", function() {
  server <- serve(workers = 2)
  load <- start_load(server, "/n/{n}", echo = TRUE, connections = 4)
  for (path in c("/segfault", "/abort", "/kill")) {
    answer <- ask(server, path)
    expect(answer$status == "502", path, ": status ", answer$status)
  }
  # quit() ends in the handler, or ends the worker
  expect(ask(server, "/quit")$status %in% c("500", "502"), "/quit: another status")
  expect_account(end_load(load))
  wait_for_workers(server, 2)
})

test("a crash loop is slowed down and reported, and the server lives", function() {
  server <- serve(workers = 1, timeout = 600)
  for (i in 1:7) expect(ask(server, "/kill")$status == "502", "crash ", i, ": another status")
  expect(logged(server, "keep ending"), "the log does not tell of the crash loop")
  answer <- ask(server, "/text")
  expect(answer$status == "200", "afterwards status ", answer$status)
})

test("the zygote is killed: its workers serve on, and a new one makes the next workers", function() {
  server <- serve(workers = 2)
  old <- wait_for_workers(server, 2)
  load <- start_load(server, "/n/{n}", echo = TRUE, connections = 8)
  zygote <- zygotes(server)
  expect(length(zygote) == 1L, "there is not one zygote, but ", toString(zygote))
  send_signal(zygote, tools::SIGKILL)
  expect(within(function() {
    now <- zygotes(server)
    any(is_alive(setdiff(now, c(zygote, old))))
  }), "no new zygote")
  answer <- ask(server, "/kill")
  expect(answer$status == "502", "status ", answer$status)
  expect(within(function() length(workers(server)) >= 1L), "no worker of the new zygote")
  account <- end_load(load)
  expect_account(account)
}, ways = 1:3)

test("workers have random numbers of their own", function() {
  server <- serve(workers = 4, timeout = 600)
  # all four stand at gates at once: these are the first numbers of each
  gates <- paste0("gate-", 1:4)
  held <- lapply(paste0("/random?at=", gates), ask_later, server = server)
  pids <- vapply(gates, function(gate) mark_text(server, gate), "")
  expect(!anyDuplicated(pids), "two requests are in one worker")
  open_all_gates(server)
  first <- vapply(held, function(wait) wait()$body, "")
  numbers <- c(first, vapply(1:40, function(i) ask(server, "/random")$body, ""))
  expect(!anyDuplicated(numbers), "equal random numbers")
})
