# A request over its deadline gets 504; its worker is interrupted, and killed when that does not help.

# A fresh process may take longer to start than a request may wait.
ask_until_served <- function(server, path) {
  answer <- NULL
  within(function() (answer <<- ask(server, path))$status == "200", 20)
  answer
}

# The answer to a request that hangs, and that everything is well afterwards.
judge_hang <- function(server, path, killed) {
  pid <- ask(server, "/pid")$body
  answer <- ask(server, path)
  expect(answer$status == "504", path, ": status ", answer$status)
  expect(answer$seconds >= 0.9 && answer$seconds < 5, path, ": 504 after ", answer$seconds, " s, not 1 s")
  of_request <- paste0("id=([0-9a-f]{16}) .* GET ", path, " 504 .*worker ", pid)
  expect(logged(server, of_request), path, ": the request's line does not name worker ", pid)
  id <- sub(paste0(".*", of_request, ".*"), "\\1", grep(of_request, server$log(), value = TRUE)[[1L]])
  expect(logged(server, paste0("worker ", pid, " .*request ", id)), path, ": no line of worker ", pid, " names request ", id)
  answer <- ask_until_served(server, "/pid")
  expect(answer$status == "200", path, ": afterwards status ", answer$status)
  if (killed) {
    expect(answer$body != pid, path, ": the hanging worker answers")
    expect(have_ended(as.integer(pid)), path, ": the hanging worker lives")
  }
}

test("an endless loop: 504 at the deadline, on.exit runs", function() {
  server <- serve(workers = 1, timeout = 1, kill_after = 5, queue_timeout = 20)
  judge_hang(server, "/loop", killed = FALSE)
  expect(marked(server, "ended"), "on.exit did not run")
})

# The same where a session starts fresh R processes, from a thread that blocks all signals.
for (way in c("dr_serve(start = 'spawn')", "dr_run()")) local({
  way <- way
  test(paste("an endless loop in a worker of", way, "is interrupted, on.exit runs"), function() {
    how <- "workers = 2L, timeout = 1, kill_after = 20, queue_timeout = 20"
    server <- serve_session(if (way == "dr_run()") {
      sprintf("dr_run(%s, port = 0L, %s, block = TRUE)", deparse(file.path(here, "app.R")), how)
    } else {
      sprintf("serve(start = 'spawn', %s)", how)
    })
    blocked <- vapply(setdiff(family()$pid, server$pid), function(pid) {
      sub("^SigBlk:\\s*", "", grep("^SigBlk:", read_proc(pid, "status"), value = TRUE))
    }, "")
    # a zygote hears of the end of its children by a descriptor, and blocks SIGCHLD
    expect(all(blocked %in% c("0000000000000000", "0000000000010000")), "signals are blocked: ", toString(blocked))
    answer <- ask(server, "/loop")
    expect(answer$status == "504" && answer$seconds < 10, "status ", answer$status, " after ", answer$seconds, " s")
    expect(marked(server, "ended", 5), "on.exit did not run")
  })
})

for (path in c("/deaf", "/system", "/stubborn")) local({
  path <- path
  test(paste("a handler that does not heed an interrupt is killed:", path), function() {
    server <- serve(workers = 1, timeout = 1, kill_after = 0.5, queue_timeout = 20)
    judge_hang(server, path, killed = TRUE)
    # its children, too
    commands <- family()$command
    expect(!any(grepl("sleep 100", commands, fixed = TRUE)), "a child of the killed worker lives")
  })
})

test("dr_on_error() that does not end: 504 at the deadline, it is interrupted, and the worker lives", function() {
  server <- serve(write_app(c(
    "app <- dr_app()", "mark <- function(name) file.create(file.path(Sys.getenv('MARKS'), name))",
    "dr_get(app, '/fail', function(req) stop('no'))", "dr_get(app, '/pid', function(req) as.character(Sys.getpid()))",
    "dr_on_error(app, function(req, condition) { on.exit(mark('ended')); repeat NULL })", "app"
  )), workers = 1, timeout = 1, kill_after = 20, queue_timeout = 20)
  pid <- wait_for_workers(server, 1)
  answer <- ask(server, "/fail")
  expect(answer$status == "504" && answer$seconds < 10, "status ", answer$status, " after ", answer$seconds, " s")
  expect(marked(server, "ended", 5), "on.exit did not run")
  expect(logged(server, "GET /fail interrupted"), "it was not interrupted")
  expect(!any(grepl("exited with status [1-9]", server$log())), "the worker has died")
})

test("a route may have a deadline of its own", function() {
  server <- serve(workers = 2, timeout = 20)
  patient <- ask_later(server, "/sleep/2000")
  answer <- ask(server, "/impatient/5000")
  expect(answer$status == "504" && answer$seconds < 4, "status ", answer$status, " after ", answer$seconds, " s")
  expect(ask(server, "/impatient/10")$status == "200", "in time, and yet another status")
  expect(patient()$status == "200", "the deadline of one route is that of another")
})

test("a hanging request holds up no other", function() {
  server <- serve(workers = 3, timeout = 2, kill_after = 0.5)
  hanging <- list(ask_later(server, "/deaf"), ask_later(server, "/loop"))
  account <- load(server, "/n/{n}", echo = TRUE, connections = 8, seconds = 3)
  expect_account(account)
  for (wait in hanging) expect(wait()$status == "504", "another status")
})

test("a worker that is stopped (SIGSTOP): 504 at the deadline, and it is replaced", function() {
  server <- serve(workers = 1, timeout = 1, kill_after = 0.5, queue_timeout = 20)
  waiting <- ask_later(server, "/slow/500")
  pid <- as.integer(mark_text(server, "begun"))
  send_signal(pid, tools::SIGSTOP)
  answer <- waiting()
  expect(answer$status == "504", "status ", answer$status)
  answer <- ask_until_served(server, "/pid")
  expect(answer$status == "200" && answer$body != as.character(pid), "not replaced: ", answer$status, " ", answer$body)
})

test("an interrupt that comes late does not hit the next request", function() {
  # half of the first requests are over their deadline by a little, and interrupted when they are nearly done
  server <- serve(workers = 2, timeout = 0.2, kill_after = 5)
  accounts <- end_load(start_load(server, "/n/{n}", path2 = "/sleep/199", share = 0.1, connections = 4, seconds = 4),
    stop = FALSE)
  fast <- accounts[[1]]
  slow <- accounts[[2]]
  # a fast one may wait for two slow ones and get 504 by right; an interrupted one would be 500, 502 or lost
  expect(fast[["s200"]] + fast[["s504"]] + fast[["s503"]] == fast[["sent"]], attr(fast, "line"))
  expect(slow[["s200"]] + slow[["s504"]] == slow[["sent"]], attr(slow, "line"))
  expect(fast[["s200"]] > 0.9 * fast[["sent"]], attr(fast, "line"))
})
