# A worker that does harm to what it shares with the server harms its own requests only.

# Sends `path` several times while others are served, and checks that the server is well afterwards.
attack <- function(path, times = 5) {
  # the clocks are for what is lost in the harmed worker; less than the patience of the load
  server <- serve(workers = 3, timeout = 20, kill_after = 0.5, graceful_timeout = 5)
  before <- resident(server$pid)
  load <- start_load(server, "/n/{n}", echo = TRUE, connections = 8)
  answers <- vapply(seq_len(times), function(i) ask(server, path)$status, "")
  account <- end_load(load)
  # others may have been handed to the attacker as well: they fail in the open, and none is answered by another's answer
  failed <- account[["sent"]] - account[["s200"]]
  expect(account[["wrong"]] + account[["unasked"]] + account[["lost"]] + account[["cut"]] + account[["reset"]] == 0,
    attr(account, "line"))
  expect(failed <= 8 * times, attr(account, "line"))
  expect(is_alive(server$pid), "the server has ended")
  expect_account(load(server, "/n/{n}", echo = TRUE, connections = 8, requests = 2000))
  wait_for_workers(server, 3)
  expect(resident(server$pid) - before < 50e6, "the server grew by ", resident(server$pid) - before)
  busy <- cpu_time(server$pid)
  let_pass(1)
  expect(cpu_time(server$pid) - busy < 0.5, "the server spins")
  answers
}

test("a worker that writes over its shared memory", function() attack("/scribble/100"))

test("a worker that writes over its shared memory until it is killed", function() attack("/scribble/60000", 2))

test("a worker that sends nonsense on every socket it has", function() attack("/babble"))

test("a worker that closes everything", function() attack("/close"))

test("a handler that forks, and both return: one answer, and the child ends", function() {
  server <- serve(workers = 2)
  account <- load(server, "/fork/{n}", echo = TRUE, connections = 4, requests = 40)
  expect(account[["wrong"]] + account[["unasked"]] == 0, attr(account, "line"))
  expect_account(account)
  expect_account(load(server, "/n/{n}", echo = TRUE, connections = 8, requests = 2000))
  wait_for_workers(server, 2)
  expect(within(function() nrow(family()) == 4L), "processes: ", nrow(family()))
}, ways = 1:3)

test("a worker that puts pipes in the place of long answers: all are whole, and the server ends in peace", function() {
  folder <- tempfile("uploads-")
  dir.create(folder)
  server <- serve(workers = 2, upload_path = folder, timeout = 600, env = c(FOLDER = folder))
  expect(ask(server, "/meddle")$status == "200", "another status")
  expect_account(load(server, "/big", connections = 4, requests = 60))
  send_signal(server$pid, tools::SIGTERM)
  expect(identical(exit_status(server), 0L), "TERM does not end it")
})

test("handlers that name a pipe, a device, a folder or a file of /proc: 500, a line says why, nobody waits", function() {
  server <- serve(workers = 2)
  pipe <- tempfile("pipe-")
  processx::run("mkfifo", pipe)
  for (path in c(pipe, "/dev/zero", "/dev/tty", tempdir(), "/proc/kmsg", "/proc/self/status")) {
    answer <- ask(server, paste0("/file?path=", path))
    expect(answer$status == "500", path, ": status ", answer$status)
    why <- "(regular file|folder|/proc|not readable|device)"
    expect(logged(server, paste0("500 dr_file: .*", basename(path), ".*", why)),
      path, ": not in the log")
  }
  expect(ask(server, "/text")$status == "200", "it serves no more")
})
