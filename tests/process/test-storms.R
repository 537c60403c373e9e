# Several things at once.

test("kills and reloads at the same time under load: nothing but 502 for who was running", function() {
  server <- serve(workers = 3, threads = 3, queue_timeout = 20)
  load <- start_load(server, "/n/{n}", echo = TRUE, connections = 8)
  kills <- 0
  for (round in 1:8) {
    send_signal(server$pid, tools::SIGHUP)
    Sys.sleep(stats::runif(1, 0, 0.6))
    pids <- workers(server)
    if (length(pids) && round %% 2) {
      kills <- kills + 1
      send_signal(sample(rep(pids, 2), 1), tools::SIGKILL)
    }
  }
  expect(wait_for(function() length(zygotes(server)) == 1L && length(workers(server)) == 3L, 20),
    "zygotes: ", toString(zygotes(server)), "; workers: ", toString(workers(server)))
  account <- end_load(load)
  expect(account[["s502"]] <= kills, attr(account, "line"))
  expect_account(account, s502 = account[["s502"]])
})

test("ten HUPs at once: the last code serves, nothing fails, and one generation is left", function() {
  file <- write_app(c("app <- dr_app()", "dr_get(app, '/n/<n>', function(req) req$params[['n']])", "app"))
  server <- serve(file, workers = 2)
  load <- start_load(server, "/n/{n}", echo = TRUE, connections = 4)
  write_app(c("app <- dr_app()", "dr_get(app, '/n/<n>', function(req) req$params[['n']])",
    "dr_get(app, '/new', function(req) 'new')", "app"), file)
  for (i in 1:10) send_signal(server$pid, tools::SIGHUP)
  expect(wait_for(function() ask(server, "/new")$status == "200"), "the new code does not come")
  expect(wait_for(function() length(zygotes(server)) == 1L && length(workers(server)) == 2L, 20),
    "zygotes: ", toString(zygotes(server)), "; workers: ", toString(workers(server)))
  expect_account(end_load(load))
})

test("the zygote is killed while it loads for a reload: the old code serves on, and the next reload works", function() {
  file <- tempfile("app-", fileext = ".R")
  slow <- "if (file.exists(file.path(Sys.getenv('MARKS'), 'slow'))) Sys.sleep(30)"
  write_app(c(slow, "app <- dr_app()", "dr_get(app, '/n/<n>', function(req) req$params[['n']])", "app"), file)
  server <- serve(file, workers = 2)
  old <- zygotes(server)
  load <- start_load(server, "/n/{n}", echo = TRUE, connections = 4)
  file.create(file.path(server$marks, "slow"))
  send_signal(server$pid, tools::SIGHUP)
  expect(wait_for(function() length(setdiff(zygotes(server), old)) == 1L), "no zygote for the new code")
  send_signal(setdiff(zygotes(server), old), tools::SIGKILL)
  expect(logged(server, "not reloaded"), "nothing is told")
  unlink(file.path(server$marks, "slow"))
  send_signal(server$pid, tools::SIGHUP)
  expect(logged(server, "reloaded: generation"), "no further reload")
  expect_account(end_load(load))
})

test("TERM while it loads, and while it reloads", function() {
  file <- write_app(c("file.create(file.path(Sys.getenv('MARKS'), 'loading'))", "Sys.sleep(100)"))
  server <- launch(command_of(file), wait = FALSE)
  expect(marked(server, "loading"), "it does not load")
  send_signal(server$pid, tools::SIGTERM)
  expect(!is.na(exit_status(server, 10)), "TERM does not end a server that loads")
  slow <- "if (file.exists(file.path(Sys.getenv('MARKS'), 'slow'))) Sys.sleep(100)"
  file <- write_app(c(slow, "app <- dr_app()", "dr_get(app, '/n/<n>', function(req) req$params[['n']])", "app"))
  server <- serve(file, workers = 2)
  file.create(file.path(server$marks, "slow"))
  send_signal(server$pid, tools::SIGHUP)
  expect(wait_for(function() length(zygotes(server)) == 2L), "it does not reload")
  send_signal(server$pid, tools::SIGTERM)
  expect(identical(exit_status(server, 10), 0L), "TERM does not end a server that reloads")
})

test("a zygote that is stopped (SIGSTOP): its workers serve, and a lost one comes back when it goes on", function() {
  server <- serve(workers = 2)
  zygote <- zygotes(server)
  pids <- wait_for_workers(server, 2)
  send_signal(zygote, tools::SIGSTOP)
  load <- start_load(server, "/n/{n}", echo = TRUE, connections = 4)
  send_signal(pids[1], tools::SIGKILL)
  Sys.sleep(1)
  send_signal(zygote, tools::SIGCONT)
  wait_for_workers(server, 2, but = pids[1])
  account <- end_load(load)
  expect(account[["s502"]] <= 1, attr(account, "line"))
  expect_account(account, s502 = account[["s502"]])
})

test("all workers and the zygote are killed at once, and all is made anew", function() {
  server <- serve(workers = 2, queue_timeout = 20)
  load <- start_load(server, "/n/{n}", echo = TRUE, connections = 4)
  old <- c(zygotes(server), workers(server))
  send_signal(old, tools::SIGKILL)
  wait_for_workers(server, 2, but = old)
  account <- end_load(load)
  expect(account[["s502"]] <= 2, attr(account, "line"))
  expect_account(account, s502 = account[["s502"]])
})

test("workers that serve one request each", function() {
  server <- serve(workers = 2, max_requests = 1, queue_timeout = 20)
  expect_account(load(server, "/n/{n}", echo = TRUE, connections = 4, requests = 200))
})

test("uploads and long answers while workers are killed: no file is left, and no answer is torn", function() {
  folder <- tempfile("uploads-")
  dir.create(folder)
  body <- tempfile("body-")
  writeBin(raw(3e6), body)
  server <- serve(workers = 2, max_body = 1e7, upload_path = folder, queue_timeout = 20, env = c(TMPDIR = folder))
  load <- start_load(server, "/big", connections = 4)
  for (round in 1:4) {
    uploads <- lapply(1:4, function(i) ask_later(server, "/upload", "--data-binary", paste0("@", body)))
    pids <- wait_for_workers(server, 2)
    send_signal(pids[1], tools::SIGKILL)
    for (wait in uploads) expect(wait()$status %in% c("200", "502"), "another status")
    Sys.sleep(0.5)
  }
  account <- end_load(load)
  # an answer that the dead worker had begun is cut, as its status was sent
  expect(account[["s200"]] + account[["s502"]] + account[["cut"]] == account[["sent"]], attr(account, "line"))
  expect(account[["s502"]] + account[["cut"]] <= 4, attr(account, "line"))
  # R's own folders are there while it runs
  left <- function() list.files(folder, recursive = TRUE)
  expect(wait_for(function() !length(left())), "left: ", toString(left()))
})
