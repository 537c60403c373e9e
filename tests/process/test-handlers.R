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
    server <- serve_c(workers = 2)
    pids <- wait_for_workers(server, 2)
    load <- start_load(server, "/n/{n}", path2 = "/c/later/{n}?ms=2", echo = TRUE, connections = 8)
    temp <- ask(server, "/temp")$body
    begun <- Sys.time()
    answer <- ask(server, path)
    expect(answer$status == "502", "status ", answer$status)
    expect(Sys.time() - begun < 5, "502 only after ", format(Sys.time() - begun))
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

test("threads of handlers run in parallel, and no more than cpp_workers of them", function() {
  server <- serve_c(workers = 1, cpp_workers = 4)
  begun <- Sys.time()
  waits <- lapply(rep("/c/block?ms=1500", 4), ask_later, server = server)
  for (wait in waits) expect(wait()$status == "200", "another status")
  expect(Sys.time() - begun < 5, "four took ", format(Sys.time() - begun))
  server <- serve_c(workers = 1, cpp_workers = 1)
  begun <- Sys.time()
  waits <- lapply(rep("/c/block?ms=300", 4), ask_later, server = server)
  for (wait in waits) expect(wait()$status == "200", "another status")
  expect(Sys.time() - begun > 1.1, "four on one thread took ", format(Sys.time() - begun))
})

test("R that is busy holds up no C handler, and these hold up no R", function() {
  server <- serve_c(workers = 1, cpp_workers = 2)
  busy <- ask_later(server, "/sleep/3000")
  Sys.sleep(0.3)
  for (path in c("/c/text", "/c/inline", "/c/stream")) {
    answer <- ask(server, path)
    expect(answer$status == "200" && answer$seconds < 2, path, " took ", answer$seconds, " s")
  }
  expect(busy()$status == "200", "R: another status")
  blocked <- lapply(rep("/c/block?ms=3000", 2), ask_later, server = server)
  Sys.sleep(0.3)
  for (path in c("/text", "/c/inline")) {
    answer <- ask(server, path)
    expect(answer$status == "200" && answer$seconds < 2, path, " took ", answer$seconds, " s")
  }
  for (wait in blocked) expect(wait()$status == "200", "C: another status")
})

test("what has no thread waits, within bounds: 503, 504", function() {
  server <- serve_c(workers = 1, cpp_workers = 1, queue_timeout = 0.5, max_queue = 1, kill_after = 30)
  pids <- wait_for_workers(server, 1)
  blocked <- ask_later(server, "/c/block?ms=2500")
  Sys.sleep(0.3)
  waits <- lapply(rep("/c/text", 3), ask_later, server = server)
  Sys.sleep(0.2)
  expect(ask(server, "/c/text")$status == "503", "a full queue: another status")
  for (wait in waits) expect(wait()$status == "503", "queue_timeout: another status")
  expect(blocked()$status == "200", "it was not waited for")
  late <- ask(server, "/c/impatient?ms=3000")
  expect(late$status == "504" && late$seconds < 2.5, "timeout: ", late$status, " after ", late$seconds)
  # it returns within kill_after: nothing is killed for it
  expect(within(function() ask(server, "/c/text")$status == "200"), "its thread is not free")
  expect(identical(workers(server), pids), "its worker was replaced")
})

test("a handler that asks whether it is cancelled is told so at the deadline", function() {
  server <- serve_c(workers = 1, kill_after = 10)
  expect(ask(server, "/c/cancelled")$status == "504", "another status")
  pid <- c_pid(server)
  # its answer was refused: nobody waits
  expect(within(function() !grepl("[]", ask(server, "/c/codes")$body, fixed = TRUE)), "it goes on")
  expect(!grepl("[0]", ask(server, "/c/codes")$body, fixed = TRUE), "its late answer was taken")
  expect(c_pid(server) == pid, "its worker was replaced")
})

test("a handler that never returns: its worker is replaced first, and killed without costing others anything", function() {
  server <- serve_c(workers = 1, cpp_workers = 2, kill_after = 0.5, queue_timeout = 20)
  pid <- c_pid(server)
  load <- start_load(server, "/n/{n}", path2 = "/c/later/{n}?ms=2", echo = TRUE, connections = 4)
  late <- ask(server, "/c/impatient?ms=100000")
  expect(late$status == "504" && late$seconds < 3, "status ", late$status, " after ", late$seconds)
  expect(within(function() !is_alive(pid), 15), "its worker lives")
  for (account in end_load(load)) expect_account(account)
  expect(logged(server, "is replaced: a C handler does not return"), "the log does not say why")
  expect(logged(server, paste0("worker ", pid, " .*a C handler did not return")), "nor what became of it")
  expect(c_pid(server) != pid, "it answers")
})

test("an inline handler that breaks its promise and blocks: others go to other processes, and its own is replaced", function() {
  server <- serve_c(workers = 2, cpp_workers = 2, kill_after = 0.5, queue_timeout = 20)
  pids <- wait_for_workers(server, 2)
  load <- start_load(server, "/c/inline", path2 = "/c/text", connections = 4)
  late <- ask(server, "/c/block-inline?ms=100000")
  expect(late$status == "504" && late$seconds < 3, "status ", late$status, " after ", late$seconds)
  expect(within(function() sum(is_alive(pids)) == 1L, 15), "its worker lives")
  for (account in end_load(load)) {
    expect_account(account)
    expect(account[["max_us"]] < 9e5, "others waited for it: ", attr(account, "line"))
  }
})

test("workers are killed under load of R and C: what had begun gets 502, nothing is lost or mixed up", function() {
  server <- serve_c(workers = 3, threads = 2, queue_timeout = 20)
  load <- start_load(server, "/n/{n}", path2 = "/c/later/{n}?ms=5", echo = TRUE, connections = 16)
  for (kill in 1:3) {
    pids <- wait_for_workers(server, 3)
    victim <- sample(pids, 1)
    Sys.sleep(0.2)
    send_signal(victim, tools::SIGKILL)
    wait_for_workers(server, 3, but = victim)
  }
  for (account in end_load(load)) expect_account(account, s502 = account[["s502"]])
})

test("reloads under load of C: no request fails", function() {
  server <- serve_c(workers = 2)
  load <- start_load(server, "/c/text", path2 = "/c/later/{n}?ms=5", connections = 8)
  for (i in 1:5) {
    send_signal(server$pid, 1L)
    expect(within(function() sum(grepl("reloaded: generation", server$log())) >= i, 20), "no reload")
  }
  for (account in end_load(load)) expect_account(account)
})

test("a server that ends waits for C handlers and their streams", function() {
  server <- serve_c(workers = 1, graceful_timeout = 20)
  waits <- list(
    ask_later(server, "/c/block?ms=1500"), ask_later(server, "/c/stream?n=30&ms=50"), ask_later(server, "/c/later/x?ms=1000")
  )
  Sys.sleep(0.5)
  send_signal(server$pid, tools::SIGTERM)
  answers <- lapply(waits, function(wait) wait())
  for (answer in answers) expect(answer$status == "200", "status ", answer$status)
  expect(grepl("line 30$", answers[[2]]$body), "the stream is cut")
  expect(identical(exit_status(server), 0L), "exit status ", exit_status(server))
})

test("SIGTERM to a worker: what runs in C comes to its end, and the worker is replaced", function() {
  server <- serve_c(workers = 1, cpp_workers = 2)
  pid <- wait_for_workers(server, 1)
  waits <- list(ask_later(server, "/c/block?ms=1500"), ask_later(server, "/c/stream?n=20&ms=50"))
  Sys.sleep(0.4)
  send_signal(pid, tools::SIGTERM)
  # it serves R until then, and gives back what it has not begun with
  waits <- c(waits, lapply(c("/text", "/c/text"), ask_later, server = server))
  for (wait in waits) expect(wait()$status == "200", "another status")
  expect(within(function() !is_alive(pid)), "it has not ended")
  wait_for_workers(server, 1, but = pid)
})

test("what waits for threads brings more workers, and these go when they are not needed", function() {
  server <- serve_c(workers = "1-3", cpp_workers = 1, check_unused = 0.5, max_age = 1)
  wait_for_workers(server, 1)
  waits <- lapply(rep("/c/block?ms=1500", 6), ask_later, server = server)
  expect(within(function() length(workers(server)) > 1L), "no more workers")
  for (wait in waits) expect(wait()$status == "200", "another status")
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
    answer <- ask_later(server, "/c/endless?n=1000", "--limit-rate", "1M", wait = 1)()
    expect(answer$status == "200" && nchar(answer$body) > 1e5, "the stream did not flow")
    text <- ask(server, "/c/text")
    expect(text$status == "200" && text$seconds < 2, "the thread is not free: ", text$status)
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
  server <- serve_c(workers = 3, timeout = 2, kill_after = 0.5, queue_timeout = 20, graceful_timeout = 5)
  load <- start_load(server, "/c/later/{n}?ms=1", echo = TRUE, connections = 8)
  for (i in 1:5) ask(server, "/scribble/100")
  account <- end_load(load)
  expect(account[["wrong"]] + account[["unasked"]] + account[["lost"]] == 0, attr(account, "line"))
  expect(is_alive(server$pid), "the server has ended")
  wait_for_workers(server, 3)
  expect_account(load(server, "/c/later/{n}", echo = TRUE, connections = 8, requests = 500))
})
