# Handlers in C, inside worker processes: what they cost when they crash, block or go on for ever, and that neither R
# nor other requests notice.

serve_c <- function(...) serve(c_app(), ...)

c_pid <- function(server) as.integer(ask(server, "/c/pid")$body)

test("C handlers are served by worker processes, however those start", function() {
  for (start in c("fork", "spawn")) {
    server <- serve_c(workers = 2, start = start)
    expect(c_pid(server) %in% workers_of(server, start), start, ": not in a worker")
    for (path in c("/c/text", "/c/inline")) {
      answer <- ask(server, path)
      expect(answer$status == "200" && answer$body == "Hello, World!", start, ": ", path, ": ", answer$status)
    }
    expect(field(ask(server, "/c/events"), "content-type") == "text/event-stream", start, ": the type of the stream")
    expect(ask(server, "/c/stream?n=3")$body == "line 1\nline 2\nline 3", start, ": the stream")
    expect(nchar(ask(server, "/c/long?n=3000000")$body) == 3e6, start, ": the long answer")
    expect(ask(server, "/c/signals")$body == "blocked", start, ": signals reach the threads of handlers")
    expect(ask(server, "/text")$body == "text", start, ": R")
    for (path in c("/c/throw", "/c/silent")) expect(ask(server, path)$status == "500", start, ": ", path)
    expect(logged(server, "GET /c/throw 500 .*the model has no weights"), start, ": the log does not say why")
  }
})

# With start = "spawn" workers are children of the server, and no zygotes.
workers_of <- function(server, start) if (start == "spawn") zygotes(server) else workers(server)

test("a session with worker processes runs C handlers there", function() {
  app <- c_app()
  server <- serve_session(c(sprintf("app <- source(%s)$value", deparse(app)), "serve(workers = 2, cpp_workers = 2)"))
  expect(c_pid(server) %in% workers(server), "not in a worker")
  expect(ask(server, "/c/text")$body == "Hello, World!" && ask(server, "/text")$body == "text", "other answers")
  old <- c_pid(server)
  send_signal(server$pid, 1L)
  expect(within(function() c_pid(server) != old), "no new generation")
  expect(ask(server, "/c/inline")$body == "Hello, World!", "after the reload")
})

for (path in c("/c/segfault", "/c/segfault-inline", "/c/abort", "/c/exit", "/c/end-thread")) local({
  path <- path
  test(paste("a crash in C costs one request:", path), function() {
    # no clock ends a request
    server <- serve_c(workers = 2, timeout = 600)
    pids <- wait_for_workers(server, 2)
    load <- start_load(server, "/n/{n}", path2 = "/c/later/{n}?ms=2", echo = TRUE, connections = 8)
    temp <- ask(server, "/temp")$body
    answer <- ask(server, path)
    expect(answer$status == "502", "status ", answer$status)
    now <- wait_for_workers(server, 2)
    expect(sum(!now %in% pids) == 1L, "not one worker was replaced")
    accounts <- end_load(load)
    # what else the process had begun goes with it
    lost <- vapply(accounts, `[[`, 0, "s502")
    for (i in 1:2) expect_account(accounts[[i]], s502 = lost[i])
    expect(sum(lost) <= 8, sum(lost), " other requests were lost")
    expect(logged(server, "worker [0-9]+ .*(SEGV|ABRT|status 3)"), "the log does not say how it ended")
    expect(!any(grepl("caught segfault", server$log())), "R's own handler ran")
    # the folder of temporary files is that of all workers
    expect(ask(server, "/temp")$body == temp && dir.exists(temp), "the folder of temporary files is gone")
  })
})

test("a crash in R leaves the folder of temporary files to the other workers, too", function() {
  server <- serve_c(workers = 2)
  temp <- ask(server, "/temp")$body
  expect(ask(server, "/segfault")$status == "502", "another status")
  wait_for_workers(server, 2)
  expect(dir.exists(temp), "it is gone")
})

# Starts handlers in C that stand at these gates; a list of requests.
hold_in_c <- function(server, gates) lapply(paste0("/c/block?at=", gates), ask_later, server = server)

gates_reached <- function(server, gates) gates[file.exists(file.path(server$marks, gates))]

test("threads of handlers run in parallel, and no more than cpp_workers of them", function() {
  gates <- paste0("gate-", 1:4)
  server <- serve_c(workers = 1, cpp_workers = 4, timeout = 600)
  held <- hold_in_c(server, gates)
  for (gate in gates) expect(marked(server, gate), "only ", toString(gates_reached(server, gates)), " run at once")
  open_all_gates(server)
  for (wait in held) expect(wait()$status == "200", "another status")
  server <- serve_c(workers = 1, cpp_workers = 1, timeout = 600)
  held <- hold_in_c(server, gates)
  let_go <- character()
  for (n in seq_along(gates)) {
    expect(within(function() length(gates_reached(server, gates)) >= n), "the next one does not begin")
    expect(never(function() length(gates_reached(server, gates)) > n, 0.2), "more than one at once, on one thread")
    at <- setdiff(gates_reached(server, gates), let_go)
    open_gate(server, at)
    let_go <- c(let_go, at)
  }
  for (wait in held) expect(wait()$status == "200", "another status")
})

test("R that is busy holds up no C handler, and these hold up no R", function() {
  server <- serve_c(workers = 1, cpp_workers = 2, timeout = 600)
  busy <- ask_later(server, "/held/r")
  expect(marked(server, "r"), "R does not begin")
  for (path in c("/c/text", "/c/inline", "/c/stream")) {
    expect(ask(server, path)$status == "200" && !is_over(busy), path, " is not answered meanwhile")
  }
  open_gate(server, "r")
  expect(busy()$status == "200", "R: another status")
  blocked <- hold_in_c(server, c("c1", "c2"))
  for (gate in c("c1", "c2")) expect(marked(server, gate), "C does not begin")
  for (path in c("/text", "/c/inline")) {
    answer <- ask(server, path)
    expect(answer$status == "200" && !any(vapply(blocked, is_over, NA)), path, " is not answered meanwhile")
  }
  open_all_gates(server)
  for (wait in blocked) expect(wait()$status == "200", "C: another status")
})

test("what has no thread waits, within bounds: 503, 504", function() {
  server <- serve_c(workers = 1, cpp_workers = 1, max_queue = 1, timeout = 600)
  blocked <- ask_until_begun(server, "/c/block?at=gate", "gate")
  waits <- lapply(rep("/c/text", 6), ask_later, server = server)
  refused <- function() vapply(waits, is_over, NA)
  # as no clock runs out meanwhile
  expect(within(function() sum(refused()) >= 3L), "a full queue: only ", sum(refused()), " of 6 are refused")
  expect(!is_over(blocked), "it does not block")
  early <- refused()
  for (wait in waits[early]) expect(wait()$status == "503", "a full queue: another status")
  open_gate(server, "gate")
  expect(blocked()$status == "200", "it was not waited for")
  # of the others, more may have been refused meanwhile
  rest <- vapply(waits[!early], function(wait) wait()$status, "")
  expect("200" %in% rest && all(rest %in% c("200", "503")), "who waited: ", toString(rest))

  server <- serve_c(workers = 1, cpp_workers = 1, queue_timeout = 0.3, timeout = 600)
  blocked <- ask_until_begun(server, "/c/block?at=gate", "gate")
  expect(ask(server, "/c/text")$status == "503" && !is_over(blocked), "queue_timeout: another status")
  open_gate(server, "gate")
  expect(blocked()$status == "200", "it was not waited for")

  server <- serve_c(workers = 1, cpp_workers = 1, timeout = 600, kill_after = 600)
  pids <- wait_for_workers(server, 1)
  late <- ask_until_begun(server, "/c/impatient?at=gate", "gate")
  expect(late()$status == "504", "timeout: another status")
  waiting <- ask_later(server, "/c/text")
  # it returns within kill_after: nothing is killed for it
  expect(never(function() is_over(waiting), 0.2), "another thread has been made")
  open_gate(server, "gate")
  expect(waiting()$status == "200", "its thread is not free")
  expect(identical(workers(server), pids), "its worker was replaced")
})

test("a handler that asks whether it is cancelled is told so at the deadline", function() {
  # less than the time after which the handler gives up by itself: one that is not told is taken for one that hangs
  server <- serve_c(workers = 1, kill_after = 10)
  pid <- c_pid(server)
  # its answer was refused: nobody waits. Asked again when its time was over before it began
  told <- within(function() {
    late <- ask(server, "/c/cancelled")$status
    if (late == "503") return(FALSE)
    expect(late == "504", "status ", late)
    within(function() !grepl("[]", ask(server, "/c/codes")$body, fixed = TRUE), 5)
  })
  expect(told, "it goes on")
  expect(!grepl("[0]", ask(server, "/c/codes")$body, fixed = TRUE), "its late answer was taken")
  expect(c_pid(server) == pid, "its worker was replaced")
})

test("a handler that never returns: its worker is replaced first, and killed without costing others anything", function() {
  server <- serve_c(workers = 1, cpp_workers = 2, kill_after = 0.5, timeout = 600)
  pid <- c_pid(server)
  load <- start_load(server, "/n/{n}", path2 = "/c/later/{n}?ms=2", echo = TRUE, connections = 4)
  late <- ask_until_begun(server, "/c/impatient?at=gate", "gate")
  expect(late()$status == "504", "another status")
  expect(have_ended(pid), "its worker lives")
  for (account in end_load(load)) expect_account(account)
  expect(logged(server, "is replaced: a C handler does not return"), "the log does not say why")
  expect(logged(server, paste0("worker ", pid, " .*a C handler did not return")), "nor what became of it")
  expect(c_pid(server) != pid, "it answers")
})

test("an inline handler that breaks its promise and blocks: others go to other processes, and its own is replaced", function() {
  server <- serve_c(workers = 2, cpp_workers = 2, kill_after = 0.5, timeout = 600)
  pids <- wait_for_workers(server, 2)
  load <- start_load(server, "/c/inline", path2 = "/c/text", connections = 4)
  blocked <- ask_until_begun(server, "/c/block-inline?at=gate", "gate")
  # those that had been handed to its process, too
  for (account in c(end_load(load), load(server, "/c/inline", path2 = "/c/text", connections = 4, requests = 500))) {
    expect_account(account)
  }
  expect(!is_over(blocked), "others have waited for it")
  open_gate(server, "gate")
  expect(blocked()$status == "200", "another status")
  load <- start_load(server, "/c/inline", path2 = "/c/text", connections = 4)
  late <- ask_until_begun(server, "/c/impatient-inline?at=closed", "closed")
  expect(late()$status == "504", "another status")
  expect(within(function() sum(is_alive(pids)) == 1L), "its worker lives")
  for (account in end_load(load)) expect_account(account)
})

test("workers are killed under load of R and C: what had begun gets 502, nothing is lost or mixed up", function() {
  server <- serve_c(workers = 3, threads = 2, timeout = 600)
  load <- start_load(server, "/n/{n}", path2 = "/c/later/{n}?ms=5", echo = TRUE, connections = 16)
  for (kill in 1:3) {
    pids <- wait_for_workers(server, 3)
    victim <- sample(pids, 1)
    # at whatever moment of a request
    let_pass(0.2)
    send_signal(victim, tools::SIGKILL)
    wait_for_workers(server, 3, but = victim)
  }
  lost <- 0
  for (account in end_load(load)) {
    expect_account(account, s502 = account[["s502"]])
    lost <- lost + account[["s502"]]
  }
  expect(lost <= 3 * 16, lost, " requests were lost, by 3 kills with 16 connections")
})

test("reloads under load of C: no request fails", function() {
  server <- serve_c(workers = 2)
  load <- start_load(server, "/c/text", path2 = "/c/later/{n}?ms=5", connections = 8)
  for (i in 1:5) {
    send_signal(server$pid, 1L)
    expect(within(function() sum(grepl("reloaded: generation", server$log())) >= i), "no reload")
  }
  for (account in end_load(load)) expect_account(account)
})

test("a server that ends waits for C handlers and their streams", function() {
  server <- serve_c(workers = 1, graceful_timeout = 600, timeout = 600)
  gates <- c("block", "stream", "later")
  waits <- lapply(c("/c/block?at=block", "/c/stream?n=30&at=stream", "/c/later/x?at=later"), ask_later, server = server)
  for (gate in gates) expect(marked(server, gate), gate, " does not begin")
  send_signal(server$pid, tools::SIGTERM)
  expect(within(function() ask(server, "/text")$status == "000"), "it does not begin to end")
  for (i in 1:3) expect(!is_over(waits[[i]]), gates[[i]], " is not waited for")
  open_all_gates(server)
  answers <- lapply(waits, function(wait) wait())
  for (answer in answers) expect(answer$status == "200", "status ", answer$status)
  expect(grepl("line 30$", answers[[2]]$body), "the stream is cut")
  expect(identical(exit_status(server), 0L), "exit status ", exit_status(server))
})

test("SIGTERM to a worker: what runs in C comes to its end, and the worker is replaced", function() {
  server <- serve_c(workers = 1, cpp_workers = 2, timeout = 600, graceful_timeout = 600)
  pid <- wait_for_workers(server, 1)
  held <- lapply(c("/c/block?at=block", "/c/stream?n=20&at=stream"), ask_later, server = server)
  for (gate in c("block", "stream")) expect(marked(server, gate), gate, " does not begin")
  send_signal(pid, tools::SIGTERM)
  # it serves R until then, and gives back what it has not begun with
  waiting <- ask_later(server, "/c/text")
  expect(ask(server, "/text")$status == "200", "R is not served")
  expect(is_alive(pid) && !any(vapply(held, is_over, NA)), "it does not wait for C")
  open_all_gates(server)
  for (wait in c(held, waiting)) expect(wait()$status == "200", "another status")
  expect(have_ended(pid), "it has not ended")
  wait_for_workers(server, 1, but = pid)
})

test("what waits for threads brings more workers, and these go when they are not needed", function() {
  server <- serve_c(workers = "1-3", cpp_workers = 1, check_unused = 0.5, max_age = 1, timeout = 600)
  wait_for_workers(server, 1)
  gates <- paste0("gate-", 1:6)
  held <- hold_in_c(server, gates)
  expect(within(function() length(gates_reached(server, gates)) == 3L), "not one in each of three workers")
  open_all_gates(server)
  for (wait in held) expect(wait()$status == "200", "another status")
  expect(within(function() length(workers(server)) == 1L), "they do not go")
})

test("max_requests counts C handlers", function() {
  server <- serve_c(workers = 1, max_requests = 200)
  pid <- wait_for_workers(server, 1)
  expect_account(load(server, "/c/text", connections = 4, requests = 400))
  expect(within(function() !is_alive(pid)), "it serves on")
  expect(logged(server, "is replaced: it has served"), "the log does not say why")
})

test("the client of an endless stream goes: its handler is told, and its thread free", function() {
  server <- serve_c(workers = 1, cpp_workers = 1)
  for (i in 1:3) {
    endless <- ask_later(server, "/c/endless?n=1000", "--limit-rate", "1M")
    expect(within(function() isTRUE(file.size(environment(endless)$body) > 1e5)), "the stream does not flow")
    environment(endless)$client$kill()
    text <- ask(server, "/c/text")
    # the only one, which nothing else ends
    expect(text$status == "200", "the thread is not free: ", text$status)
  }
})

test("handlers in R may fork beside threads of C", function() {
  server <- serve_c(workers = 1, cpp_workers = 2)
  load <- start_load(server, "/c/text", connections = 4)
  for (i in 1:10) expect(ask(server, "/mclapply")$body == "1 4 9", "another answer")
  expect_account(load(server, "/fork/{n}", echo = TRUE, connections = 2, requests = 20))
  expect_account(end_load(load))
  wait_for_workers(server, 1)
})

test("a worker that writes over the memory of its C handlers harms nobody else", function() {
  # the clocks are for what is lost in the harmed worker
  server <- serve_c(workers = 3, timeout = 20, kill_after = 2, graceful_timeout = 5)
  load <- start_load(server, "/c/later/{n}?ms=1", echo = TRUE, connections = 8)
  for (i in 1:5) ask(server, "/scribble/100")
  account <- end_load(load)
  expect(account[["wrong"]] + account[["unasked"]] + account[["lost"]] == 0, attr(account, "line"))
  expect(is_alive(server$pid), "the server has ended")
  wait_for_workers(server, 3)
  expect_account(load(server, "/c/later/{n}", echo = TRUE, connections = 8, requests = 500))
})
