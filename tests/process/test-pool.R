# The pool: who gets a request, and how many workers there are.

test("a fast request never waits for a slow one while a worker is idle", function() {
  server <- serve(workers = 3, timeout = 600)
  slow <- lapply(c("/held/one", "/held/two"), ask_later, server = server)
  for (name in c("one", "two")) expect(marked(server, name), "it does not begin")
  expect_account(load(server, "/n/{n}", echo = TRUE, connections = 4, requests = 3000))
  for (wait in slow) expect(!is_over(wait), "the fast ones have waited for it")
  open_all_gates(server)
  for (wait in slow) expect(wait()$status == "200", "another status")
})

test("a request handed ahead to a worker that turns out slow is taken back", function() {
  server <- serve(workers = 2, timeout = 600)
  for (i in 1:6) {
    # fast ones keep both busy, so that some are handed ahead when the slow one comes
    load <- start_load(server, "/n/{n}", echo = TRUE, connections = 16)
    slow <- ask_later(server, paste0("/held/", i))
    expect(marked(server, i), "it does not begin")
    # all of the fast ones have their answers then
    expect_account(end_load(load))
    expect(!is_over(slow), "fast ones have waited for it")
    open_gate(server, i)
    expect(slow()$status == "200", "another status")
  }
})

test("a client with many connections keeps another one waiting for one of its requests", function() {
  server <- serve(write_app(c(
    "app <- dr_app()", "dr_get(app, '/held', function(req) { stand_at('gate'); 'let go' })",
    "dr_get(app, '/note', function(req) { note('order', req$remote_addr); 'noted' })", "app"
  )), workers = 1, timeout = 600, metrics = TRUE)
  held <- ask_later(server, "/held")
  expect(marked(server, "gate"), "it does not begin")
  waiting <- function() figure(scrape(server), "drover_queue_requests")
  ask_from <- function(address) ask_later(server, "/note", "--interface", address)
  many <- lapply(rep("127.0.0.1", 20), ask_from)
  expect(within(function() waiting() == 20), waiting(), " of 20 wait")
  few <- lapply(rep("127.0.0.2", 3), ask_from)
  expect(within(function() waiting() == 23), waiting(), " of 23 wait")
  open_gate(server, "gate")
  for (wait in c(list(held), many, few)) expect(wait()$status == "200", "another status")
  places <- which(note_lines(server, "order") == "127.0.0.2")
  # in turn: the first one comes after one of the others' at most
  expect(all(places <= c(2, 4, 6)), "of 23 they were ", toString(places))
})

# The same of a client at 127.0.0.1 and of one at 127.0.0.2.
beside_many <- function(server, path) {
  many <- start_load(server, path, connections = 64)
  few <- load(server, path, from = 2, connections = 2, seconds = 1)
  list(many = end_load(many), few = few)
}

test("in a full queue, who has most in it is refused first", function() {
  for (threads in 1:2) {
    server <- serve(workers = 1, threads = threads, max_queue = 16, timeout = 600)
    accounts <- beside_many(server, "/sleep/10")
    expect(accounts$many[["s503"]] > 0, "the queue was not full")
    expect_account(accounts$few)
  }
})

test("the pool grows when requests wait, shrinks when they do not, and stays within its bounds", function() {
  server <- serve(workers = "1-3", check_unused = 0.5, max_age = 0.5, timeout = 600)
  wait_for_workers(server, 1)
  counts <- integer()
  for (wave in 1:3) {
    load <- start_load(server, "/sleep/50", connections = 6)
    grown <- within(function() {
      counts <<- c(counts, length(workers(server)))
      utils::tail(counts, 1) == 3L
    })
    expect(grown, "wave ", wave, ": not grown to 3, but ", utils::tail(counts, 1))
    expect_account(end_load(load))
    shrunk <- within(function() {
      counts <<- c(counts, length(workers(server)))
      utils::tail(counts, 1) == 1L
    })
    expect(shrunk, "wave ", wave, ": not shrunk to 1, but ", utils::tail(counts, 1))
  }
  expect(all(counts >= 1L & counts <= 3L), "counts of workers: ", toString(unique(counts)))
})

test("load that comes and goes faster than the pool checks fails no request", function() {
  server <- serve(workers = "1-4", check_unused = 0.2, max_age = 0.3, timeout = 600)
  for (wave in 1:8) {
    expect_account(load(server, "/sleep/10", connections = 8, seconds = 0.6))
    let_pass(stats::runif(1, 0.2, 0.7))
  }
  expect(length(workers(server)) <= 4L, "more than 4 workers")
})

test("max_requests: workers are replaced after so many, and no request fails", function() {
  server <- serve(workers = 2, max_requests = 100)
  old <- wait_for_workers(server, 2)
  # quick requests share a worker while one is enough: one may serve nearly all of a load
  worn <- within(function() {
    expect_account(load(server, "/n/{n}", echo = TRUE, connections = 8, requests = 2000))
    !any(old %in% workers(server))
  })
  expect(worn, "one of ", toString(old), " still serves")
  wait_for_workers(server, 2)
})

test("max_lifetime: workers are replaced by age, and no request fails", function() {
  server <- serve(workers = 2, max_lifetime = 1)
  old <- wait_for_workers(server, 2)
  load <- start_load(server, "/n/{n}", echo = TRUE, connections = 4)
  wait_for_workers(server, 2, but = old)
  expect_account(end_load(load))
})

test("start = spawn: fresh processes serve, are replaced, and go with the server", function() {
  server <- serve(workers = 2, start = "spawn", timeout = 600)
  # no zygote: the workers are children of the server
  pids <- zygotes(server)
  expect(length(pids) == 2L, "children of the server: ", toString(pids))
  load <- start_load(server, "/n/{n}", echo = TRUE, connections = 4)
  victim <- ask_later(server, "/held/victim")
  pid <- as.integer(mark_text(server, "victim"))
  send_signal(pid, tools::SIGKILL)
  expect(victim()$status == "502", "another status")
  expect(within(function() length(zygotes(server)) == 2L && !pid %in% zygotes(server)), "not replaced")
  expect_account(end_load(load))
  send_signal(server$pid, tools::SIGKILL)
  exit_status(server)
  end_clients()
  left <- processes_left(30)
  expect(!length(left), "still there: ", paste(left, collapse = "; "))
})

test("hooks run in each worker, at its start and at its end", function() {
  file <- write_app(c(
    "app <- dr_app()",
    "dr_on_worker_start(app, function() file.create(file.path(Sys.getenv('MARKS'), paste0('start-', Sys.getpid()))))",
    "dr_on_worker_stop(app, function() file.create(file.path(Sys.getenv('MARKS'), paste0('stop-', Sys.getpid()))))",
    "dr_get(app, '/text', function(req) 'text')", "app"
  ))
  server <- serve(file, workers = 2)
  pids <- wait_for_workers(server, 2)
  for (pid in pids) expect(marked(server, paste0("start-", pid)), "worker ", pid, " has not run its start hook")
  send_signal(server$pid, tools::SIGTERM)
  exit_status(server)
  for (pid in pids) expect(marked(server, paste0("stop-", pid)), "worker ", pid, " has not run its stop hook")
})
