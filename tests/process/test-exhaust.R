# What runs out: memory, processes, descriptors, shared memory, disk. Some of it needs root, and is left out without.

need_root <- function() if (processx::run("id", "-u")$stdout != "0\n") skip("needs root")

# A command in a mount namespace of its own, with an empty file system of `size` at `folder`.
with_small_disk <- function(folder, size) {
  need_root()
  script <- sprintf("mount -t tmpfs -o size=%s tmpfs %s && exec \"$@\"", size, shQuote(folder))
  allowed <- processx::run("unshare", c("-m", "sh", "-c", script, "sh", "true"), error_on_status = FALSE)$status == 0L
  if (!allowed) skip("this system allows no mount namespace")
  c("unshare", "-m", "sh", "-c", script, "sh")
}

test("a worker that uses up its memory is killed by the system: 502 for its request only", function() {
  group <- make_cgroup("memory", list(memory.limit_in_bytes = 300e6))
  if (is.null(group)) skip("no memory cgroup of version 1 can be made")
  on.exit({
    kill_family()
    remove_cgroup(group)
  })
  server <- serve(workers = 2, env = c(MEMORY_GROUP = group))
  before <- resident(server$pid)
  load <- start_load(server, "/n/{n}", echo = TRUE, connections = 4)
  answer <- ask(server, "/allocate")
  expect(answer$status == "502", "status ", answer$status)
  expect_account(end_load(load))
  wait_for_workers(server, 2)
  expect(resident(server$pid) - before < 20e6, "the server grew by ", resident(server$pid) - before)
})

test("a worker at its limit of address space: an error of R, 500, and it lives", function() {
  server <- serve(workers = 1)
  pid <- wait_for_workers(server, 1)
  limited <- processx::run("prlimit", c("--pid", pid, "--as=1000000000"), error_on_status = FALSE)
  expect(limited$status == 0L, limited$stderr)
  statuses <- vapply(1:12, function(i) ask(server, "/grow")$status, "")
  expect("500" %in% statuses && !"502" %in% statuses, toString(statuses))
  expect(ask(server, "/pid")$body == as.character(pid), "the worker is another one")
})

test("max_rss: a worker that has grown is replaced after its answer, and no request fails", function() {
  server <- serve(workers = 2, max_rss = 3e8, express = FALSE)
  old <- wait_for_workers(server, 2)
  load <- start_load(server, "/n/{n}", echo = TRUE, connections = 4)
  for (i in 1:8) expect(ask(server, "/grow")$status == "200", "growing failed")
  expect(within(function() any(!old %in% workers(server))), "no worker is replaced")
  expect_account(end_load(load))
  wait_for_workers(server, 2)
})

test("no more processes: the workers that live serve, and the lost one comes back when there is room", function() {
  group <- make_cgroup("pids", list(pids.max = 1000))
  if (is.null(group)) skip("no pids cgroup of version 1 can be made")
  on.exit({
    kill_family()
    remove_cgroup(group)
  })
  server <- serve(workers = 3)
  pids <- wait_for_workers(server, 3)
  join_cgroup(group, c(server$pid, zygotes(server), pids))
  current <- function() as.integer(readLines(file.path(group, "pids.current")))
  limit <- function(n) cat(n, file = file.path(group, "pids.max"))
  load <- start_load(server, "/n/{n}", echo = TRUE, connections = 4)
  # one fewer than there are: none may be forked even when one has ended
  limit(current() - 1L)
  killed <- Sys.time()
  send_signal(pids[1], tools::SIGKILL)
  expect(logged(server, "fork"), "the log does not tell that fork fails")
  let_pass(1)
  failures <- sum(grepl("fork", server$log()))
  seconds <- as.numeric(Sys.time() - killed, units = "secs")
  expect(failures <= 3 * seconds, failures, " lines of log about it within ", seconds, " s")
  expect(length(setdiff(workers(server), pids)) == 0L, "a worker was forked beyond the limit")
  limit(1000)
  wait_for_workers(server, 3, but = pids[1])
  account <- end_load(load)
  expect(account[["s502"]] <= 1, attr(account, "line"))
  expect_account(account, s502 = account[["s502"]])
}, ways = 1:3)

# How many connections wait to be accepted at a port.
backlog <- function(port) {
  line <- grep(sprintf("^ *[0-9]+: [0-9A-F]{8}:%04X 00000000:0000 0A ", port), readLines("/proc/net/tcp"), value = TRUE)
  strtoi(sub(".* 0A [0-9A-F]+:([0-9A-F]+) .*", "\\1", line), 16L)
}

test("no more descriptors: open connections are served, nothing spins, and new ones come in when there is room",
  function() {
  server <- serve(workers = 2)
  wait_for_workers(server, 2)
  load <- start_load(server, "/n/{n}", echo = TRUE, connections = 8, seconds = 30)
  limit <- function(n) processx::run("prlimit", c("--pid", server$pid, paste0("--nofile=", n, ":4096")))
  limit(descriptors(server$pid) + 4L)
  # these hold connections, and wait for some that are not accepted
  holder <- start_client(compile(file.path(root, "benchmarks/client/connections.c")), c(server$port, 60, "-"),
    stdin = "|",
    stdout = "|")
  expect(logged(server, "cannot accept connections: Too many open files"), "there is still room")
  expect(within(function() backlog(server$port) > 0), "none waits to be accepted")
  account <- end_load(load)
  expect_account(account)
  # a moment later no client is busy, and connections wait that cannot be accepted
  before <- cpu_time(server$pid)
  let_pass(2)
  used <- cpu_time(server$pid) - before
  expect(used < 0.5, "the server used ", used, " s of CPU time in 2 s, with nothing to do")
  expect(!length(grep("panicked", server$log())), "panic")
  limit(1024)
  holder$kill()
  answer <- ask(server, "/text")
  expect(answer$status == "200", "afterwards status ", answer$status)
})

test("without descriptors for a new worker the server and its other workers live", function() {
  server <- serve(workers = 2)
  pids <- wait_for_workers(server, 2)
  limit <- function(n) processx::run("prlimit", c("--pid", server$pid, paste0("--nofile=", n, ":4096")))
  load <- start_load(server, "/n/{n}", echo = TRUE, connections = 4)
  # below what the server has open all its life: what a connection or a worker gives back is no room for another
  limit(10)
  send_signal(pids[1], tools::SIGKILL)
  expect(logged(server, "cannot start a worker: Too many open files"), "it does not tell that there is no new worker")
  limit(1024)
  wait_for_workers(server, 2, but = pids[1])
  account <- end_load(load)
  expect(account[["s502"]] <= 1, attr(account, "line"))
  expect_account(account, s502 = account[["s502"]])
})

test("a full /dev/shm: all is well, as shared memory is not taken from there", function() {
  server <- serve(workers = 2, wrapper = with_small_disk("/dev/shm", "64k"))
  expect_account(load(server, "/n/{n}", echo = TRUE, connections = 8, requests = 2000))
})

test("a full disk under an upload: 507, the file is gone, and other requests are served", function() {
  folder <- tempfile("uploads-")
  dir.create(folder)
  body <- tempfile("body-")
  writeBin(raw(8e6), body)
  server <- serve(workers = 2, max_body = 2e7, upload_path = folder, wrapper = with_small_disk(folder, "2m"))
  load <- start_load(server, "/n/{n}", echo = TRUE, connections = 4)
  answer <- ask(server, "/upload", "-H", "Expect:", "--data-binary", paste0("@", body))
  expect(answer$status == "507", "status ", answer$status)
  # the file system is seen through the server
  left <- function() list.files(file.path("/proc", server$pid, "root", folder), recursive = TRUE)
  expect(within(function() !length(left())), "left in the folder: ", toString(left()))
  expect(ask(server, "/upload", "--data-binary", "small")$status == "200", "a small body is not received")
  expect_account(end_load(load))
})

test("long bodies and long answers, several at once: they pass in bounded memory", function() {
  body <- tempfile("body-")
  processx::run("truncate", c("-s", "100M", body))
  server <- serve(workers = 2, threads = 2, max_body = 2e8, timeout = 600)
  wait_for_workers(server, 2)
  before <- memory_field(server$pid, "VmHWM")
  uploads <- lapply(1:6, function(i) ask_later(server, "/upload", "-T", body, "-X", "POST"))
  for (wait in uploads) {
    answer <- wait()
    expect(answer$status == "200", "an upload got ", answer$status)
  }
  expect_account(load(server, "/big", connections = 8, requests = 40))
  # 600 MB came in, and 800 MB went out
  grown <- memory_field(server$pid, "VmHWM") - before
  expect(grown < 64e6, "the server grew by ", grown, " bytes")
})
