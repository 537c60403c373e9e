# A request over its deadline gets 504; its worker is interrupted, and killed when that does not help.

# Here only routes have short deadlines, /late/...: a slow machine must not let others run out.

# The answer to a request that hangs, and that everything is well afterwards.
judge_hang <- function(server, path, killed) {
  pid <- ask(server, "/pid")$body
  # it hangs for good: nothing but its deadline ends it
  answer <- ask_until_begun(server, path)()
  expect(answer$status == "504", path, ": status ", answer$status)
  expect(answer$seconds >= 0.9, path, ": 504 after ", answer$seconds, " s, not 1 s")
  of_request <- paste0("id=([0-9a-f]{16}) .* GET ", path, " 504 .*worker ", pid)
  expect(logged(server, of_request), path, ": the request's line does not name worker ", pid)
  id <- sub(paste0(".*", of_request, ".*"), "\\1", grep(of_request, server$log(), value = TRUE)[[1L]])
  expect(logged(server, paste0("worker ", pid, " .*request ", id)), path, ": no line of worker ", pid, " names request ", id)
  answer <- ask(server, "/pid")
  expect(answer$status == "200", path, ": afterwards status ", answer$status)
  if (killed) {
    expect(answer$body != pid, path, ": the hanging worker answers")
    expect(have_ended(as.integer(pid)), path, ": the hanging worker lives")
  }
}

test("an endless loop: 504 at the deadline, on.exit runs", function() {
  server <- serve(workers = 1, timeout = 600, kill_after = 600)
  judge_hang(server, "/late/loop", killed = FALSE)
  expect(marked(server, "ended"), "on.exit did not run")
})

# The same where a session starts fresh R processes, from a thread that blocks all signals.
for (way in c("dr_serve(start = 'spawn')", "dr_run()")) local({
  way <- way
  test(paste("an endless loop in a worker of", way, "is interrupted, on.exit runs"), function() {
    how <- "workers = 2L, timeout = 600, kill_after = 600"
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
    answer <- ask_until_begun(server, "/late/loop")()
    expect(answer$status == "504", "status ", answer$status)
    expect(marked(server, "ended"), "on.exit did not run")
  })
})

for (path in c("/late/deaf", "/late/system", "/late/stubborn")) local({
  path <- path
  test(paste("a handler that does not heed an interrupt is killed:", path), function() {
    server <- serve(workers = 1, timeout = 600, kill_after = 0.5)
    judge_hang(server, path, killed = TRUE)
    # its children, too
    commands <- family()$command
    expect(!any(grepl("sleep 100", commands, fixed = TRUE)), "a child of the killed worker lives")
  })
})

test("dr_on_error() that does not end: 504 at the deadline, it is interrupted, and the worker lives", function() {
  server <- serve(write_app(c(
    "app <- dr_app()", "dr_get(app, '/fail', function(req) stop('no'), timeout = 1)",
    "dr_on_error(app, function(req, condition) { on.exit(mark('ended')); mark('begun'); repeat NULL })", "app"
  )), workers = 1, timeout = 600, kill_after = 600)
  answer <- ask_until_begun(server, "/fail")()
  expect(answer$status == "504", "status ", answer$status)
  expect(marked(server, "ended"), "on.exit did not run")
  expect(logged(server, "GET /fail interrupted"), "it was not interrupted")
  expect(!any(grepl("exited with status [1-9]", server$log())), "the worker has died")
})

test("a route may have a deadline of its own", function() {
  server <- serve(workers = 2, timeout = 600)
  patient <- ask_later(server, "/held/patient")
  expect(marked(server, "patient"), "it does not begin")
  answer <- ask(server, "/impatient/600000")
  expect(answer$status == "504" && !is_over(patient), "status ", answer$status)
  # where the machine is slow, not the first time
  expect(within(function() ask(server, "/impatient/10")$status == "200"), "in time, and yet another status")
  open_gate(server, "patient")
  expect(patient()$status == "200", "the deadline of one route is that of another")
})

test("a hanging request holds up no other", function() {
  server <- serve(workers = 3, timeout = 600, kill_after = 0.5)
  held <- lapply(c("/held/one", "/held/two"), ask_later, server = server)
  for (name in c("one", "two")) expect(marked(server, name), "it does not begin")
  expect_account(load(server, "/n/{n}", echo = TRUE, connections = 8, requests = 2000))
  for (wait in held) expect(!is_over(wait), "others have waited for it")
  open_all_gates(server)
  for (wait in held) expect(wait()$status == "200", "another status")
  # nor when they are ended
  load <- start_load(server, "/n/{n}", echo = TRUE, connections = 8)
  hanging <- lapply(c("/late/deaf", "/late/loop"), function(path) {
    request <- ask_until_begun(server, path)
    unlink(file.path(server$marks, "begun"))
    request
  })
  for (wait in hanging) expect(wait()$status == "504", "another status")
  expect_account(end_load(load))
})

test("a worker that is stopped (SIGSTOP): 504 at the deadline, and it is replaced", function() {
  server <- serve(workers = 1, timeout = 600, kill_after = 0.5)
  stopped <- ask_until_begun(server, "/late/stopped")
  pid <- mark_text(server, "begun")
  answer <- stopped()
  expect(answer$status == "504", "status ", answer$status)
  answer <- ask(server, "/pid")
  expect(answer$status == "200" && answer$body != pid, "not replaced: ", answer$status, " ", answer$body)
})

test("an interrupt that comes late does not hit the next request", function() {
  # most of the slow requests are over their deadline by a little, and interrupted when they are nearly done
  server <- serve(workers = 2, timeout = 600, kill_after = 600)
  accounts <- end_load(start_load(server, "/n/{n}", path2 = "/brink", share = 0.1, connections = 4, seconds = 4),
    stop = FALSE)
  expect_account(accounts[[1]])
  slow <- accounts[[2]]
  expect(slow[["s200"]] + slow[["s503"]] + slow[["s504"]] == slow[["sent"]], attr(slow, "line"))
  expect(slow[["s504"]] > 0, "none was late: ", attr(slow, "line"))
})
