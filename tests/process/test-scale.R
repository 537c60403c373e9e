# Another number of workers while a server runs: `drover scale`, and signals.

# A server of the program that the commands with the same `runtime` find; its app has routes that wait at a gate.
start_scaled <- function(runtime, ...) {
  server <- launch(command_of(file.path(here, "app.R"), ..., timeout = 600), env = runtime)
  expect(!is.null(server$url), paste(server$log(), collapse = "\n"))
  server
}

# What the supervisor calls workers, by the titles of their processes.
worker_numbers <- function(pids) {
  title <- function(pid) readLines(file.path("/proc", pid, "cmdline"), warn = FALSE, skipNul = TRUE)[[1L]]
  as.integer(sub("^drover: worker ([0-9]+).*", "\\1", vapply(pids, title, "")))
}

test("scale starts workers and ends them, no request fails, those that run are answered, and a reload keeps it", function() {
  runtime <- runtime_folder()
  server <- start_scaled(runtime, workers = 2)
  load <- start_load(server, "/n/{n}", echo = TRUE, connections = 8)
  shows(command("scale", "4", env = runtime), 0L, paste0("^scaled ", server$url, ".*: 4 workers instead of 2 workers$"))
  four <- wait_for_workers(server, 4)
  shows(command("scale", "1-3", as.character(server$port), env = runtime), 0L, ": 1 to 3 workers instead of 4 workers$")
  three <- wait_for_workers(server, 3)
  expect(all(three %in% four), "a worker was replaced")
  expect(logged(server, "workers=1-3, it was 4"), "it is not in the log")
  expect_account(end_load(load))

  held <- lapply(c(one = "/held/one", two = "/held/two"), ask_later, server = server)
  for (name in names(held)) expect(marked(server, name), "it does not begin")
  # the worker that has the timers of the app goes last, whatever it does: it is to be one of those that run
  last <- three[[which.min(worker_numbers(three))]]
  if (!last %in% as.integer(c(mark_text(server, "one"), mark_text(server, "two")))) {
    held$three <- ask_later(server, "/held/three")
    expect(marked(server, "three"), "it does not begin")
    open_gate(server, "one")
    expect(held$one()$status == "200", "a request failed")
    held$one <- NULL
  }
  shows(command("scale", "1", env = runtime), 0L, ": 1 worker instead of 1 to 3 workers$")
  # first the one that has nothing to do
  left <- wait_for_workers(server, 2)
  for (wait in held) expect(!is_over(wait), "it is not waited for")
  open_all_gates(server)
  for (wait in held) expect(wait()$status == "200", "a request failed")
  one <- wait_for_workers(server, 1)
  expect(one %in% left, "another worker than one of those that ran")
  shows(command("status", env = runtime), 0L, "^1 worker, ")
  shows(command("reload", env = runtime), 0L, "^reloaded")
  wait_for_workers(server, 1, but = one)
  shows(command("scale", "2-8", env = runtime), 0L, ": 2 to 8 workers instead of 1 worker$")
  wait_for_workers(server, 2)
  shows(command("status", env = runtime), 0L, "^2 workers of 2 to 8, ")
})

test("a number that makes no sense is refused, and nothing changes", function() {
  runtime <- runtime_folder()
  server <- start_scaled(runtime, workers = 2)
  before <- workers(server)
  right <- "must be a whole number >= 1, two of them as in 1-4, or auto"
  for (wrong in c("0", "4-2", "many", "1.5")) shows(command("scale", wrong, env = runtime), 2L, NULL, right)
  shows(command("scale", "2000", env = runtime), 2L, NULL, "^drover: n_max must be at most 1024, not 2000$")
  shows(command("scale", env = runtime), 2L, NULL, "<WORKERS>")
  shows(command("scale", "3", "9", env = runtime), 4L, NULL, "no server runs on port, with process id, or for the file or app 9")
  shows(command("status", env = runtime), 0L, "^2 workers, ")
  expect(setequal(workers(server), before), "a worker has changed")
})

test("TTIN and TTOU are one worker more and one fewer, for a server without a terminal", function() {
  server <- serve(workers = 1)
  send_signal(server$pid, 21L)
  expect(logged(server, "workers=2, it was 1"), "the first is not heard")
  send_signal(server$pid, 21L)
  three <- wait_for_workers(server, 3)
  send_signal(server$pid, 22L)
  two <- wait_for_workers(server, 2)
  expect(all(two %in% three), "a worker was replaced")
  for (i in 1:2) send_signal(server$pid, 22L)
  one <- wait_for_workers(server, 1)
  # one stays
  send_signal(server$pid, 22L)
  expect(logged(server, "workers=1, it was 1"), "the last is not heard")
  expect(ask(server, "/n/5")$body == "5" && identical(workers(server), one), "it does not serve")
}, ways = 1L)

test("workers = \"auto\": handlers that wait have more workers started", function() {
  server <- serve(workers = "auto")
  cores <- as.integer(processx::run("nproc")$stdout)
  wait_for_workers(server, cores)
  names <- paste0("wait", seq_len(cores + 4L))
  held <- lapply(paste0("/held/", names), ask_later, server = server)
  # each has a worker of its own
  for (name in names) expect(marked(server, name), name, " does not begin")
  expect(length(workers(server)) >= cores + 4L, "there are ", length(workers(server)), " workers")
  open_all_gates(server)
  for (wait in held) expect(wait()$status == "200", "a request failed")
})

test("a server may be told to find its own number of workers", function() {
  runtime <- runtime_folder()
  server <- start_scaled(runtime, workers = 1)
  cores <- as.integer(processx::run("nproc")$stdout)
  own <- sprintf("%d workers? and more", cores)
  shows(command("scale", "auto", env = runtime), 0L, paste0(": ", own, " instead of 1 worker$"))
  expect(logged(server, "workers=auto, it was 1"), "it is not in the log")
  held <- lapply(c(one = "/held/one", two = "/held/two", three = "/held/three"), ask_later, server = server)
  for (name in names(held)) expect(marked(server, name), name, " does not begin")
  shows(command("status", env = runtime), 0L, sprintf("^[0-9]+ workers of %d and more, ", cores))
  # by signals the fewest change
  send_signal(server$pid, 21L)
  expect(logged(server, "workers=auto, it was auto"), "the signal is not followed")
  open_all_gates(server)
  for (wait in held) expect(wait()$status == "200", "a request failed")
})
