# Pools of workers that routes name: which requests they have, what each runs at its start, and how many there are.

# Routes of no pool, and of the pools "model" and "fits"; what their workers' hooks note.
pools_app <- function(more = NULL) {
  write_app(c(
    "app <- dr_app()",
    "model <- NULL",
    "dr_on_worker_start(app, function() { model <<- 'heavy'; note('loaded', Sys.getpid()) }, pool = 'model')",
    "dr_on_worker_start(app, function() note('plain', Sys.getpid()), pool = '')",
    "dr_on_worker_start(app, function() note('all', Sys.getpid()))",
    "dr_on_worker_stop(app, function() note('stopped', 'model'), pool = 'model')",
    "where <- function(req) list(pid = Sys.getpid(), has = !is.null(model))",
    "dr_get(app, '/where', where)",
    "dr_get(app, '/model', where, pool = 'model')",
    "dr_get(app, '/fits', where, pool = 'fits')",
    "dr_get(app, '/held/<name>', function(req) { stand_at(req$params[['name']]); 'let go' })",
    "dr_get(app, '/model/held/<name>', function(req) { stand_at(req$params[['name']]); 'let go' }, pool = 'model')",
    "dr_get(app, '/kill', function(req) tools::pskill(Sys.getpid(), tools::SIGKILL), pool = 'model')",
    more, "app"
  ))
}

ask_where <- function(server, path) json(ask(server, path)$body)

in_processes <- setdiff(names(starts), "the session")

test_every_way("a route that names a pool has workers of its own, whose hooks run there only", function(start) {
  server <- start(pools_app(), timeout = 600, metrics = TRUE)
  found <- lapply(c(main = "/where", model = "/model", fits = "/fits"), ask_where, server = server)
  pids <- vapply(found, `[[`, 1L, "pid")
  expect(!anyDuplicated(pids), "one process for several: ", toString(pids))
  expect(identical(vapply(found, `[[`, NA, "has"), c(main = FALSE, model = TRUE, fits = FALSE)), "another hook has run")
  expect(identical(note_lines(server, "loaded"), as.character(pids[["model"]])), "it was loaded elsewhere, too")
  expect(identical(note_lines(server, "plain"), as.character(pids[["main"]])), "a hook of other workers has run")
  expect(setequal(note_lines(server, "all"), as.character(pids)), "the hook of all has not run in each")
  # neither waits for the other
  held <- list(ask_later(server, "/held/one"), ask_later(server, "/model/held/two"))
  expect(marked(server, "one") && marked(server, "two"), "they do not run at once")
  waits <- ask_later(server, "/model")
  expect_figure(server, 1, "drover_queue_requests")
  expect(ask_where(server, "/fits")$pid == pids[["fits"]], "another worker")
  open_all_gates(server)
  for (one in held) expect(one()$body == "let go", "another answer")
  expect(identical(json(waits()$body)$pid, pids[["model"]]), "another worker has answered")
}, of = in_processes)

test("one process that does all runs the hooks of all pools", function() {
  server <- starts[["the session"]](pools_app())
  expect(ask_where(server, "/model")$has && ask_where(server, "/fits")$has, "a hook has not run")
  expect(length(note_lines(server, "all")) == 1L, "another process")
})

test("pools have as many workers as is said, from none on, and are replaced and counted by themselves", function() {
  server <- serve(pools_app(), workers = 2, pools = "fits=0-1", timeout = 600)
  expect(length(wait_for_workers(server, 3)) == 3L, "others")
  expect(noted(server, "all") == 3L, "there is a worker of a pool that nobody has asked for")
  first <- ask_where(server, "/model")$pid
  expect(ask_where(server, "/fits")$pid != first, "another pool's worker")
  wait_for_workers(server, 4)
  expect(ask(server, "/kill")$status == "502", "another status")
  second <- ask_where(server, "/model")
  expect(second$pid != first && second$has, "none in its place")
  expect(logged(server, sprintf("worker %d \\(model\\) was killed by signal 9", first)), "the log does not say which")
})

test("what waits for a pool is no reason for workers of another", function() {
  server <- serve(pools_app(), workers = "1-3", pools = "fits=0-1", timeout = 600, metrics = TRUE)
  held <- ask_later(server, "/model/held/one")
  expect(marked(server, "one"), "it does not run")
  waits <- lapply(1:4, function(i) ask_later(server, "/model"))
  expect_figure(server, 4, "drover_queue_requests")
  expect(never(function() length(workers(server)) != 2L, 0.3), "there are others")
  open_all_gates(server)
  for (one in c(held, waits)) expect(one()$status == "200", "a request failed")
})

test("workers of a pool that are not needed end, and come again", function() {
  server <- serve(pools_app(), workers = 1, pools = "fits=0-1", check_unused = 0.1, max_age = 0.1)
  for (round in 1:2) {
    first <- ask_where(server, "/fits")$pid
    expect(within(function() !first %in% workers(server)), "it is still there")
  }
  expect(logged(server, "\\(fits\\) is retired: not needed for 0.1 s"), "it is not in the log")
  wait_for_workers(server, 2)
})

test("a reload replaces the workers of all pools, and takes those of the new app", function() {
  app <- pools_app()
  server <- serve(app, workers = 1, timeout = 600)
  before <- wait_for_workers(server, 3)
  held <- ask_later(server, "/model/held/one")
  expect(marked(server, "one"), "it does not run")
  lines <- sub("'/fits', where, pool = 'fits'", "'/fits', where, pool = 'other'", readLines(app), fixed = TRUE)
  writeLines(lines, app)
  send_signal(server$pid, tools::SIGHUP)
  expect(logged(server, "reloaded: generation 2 serves"), "it is not reloaded")
  after <- vapply(c("/where", "/model", "/fits"), function(path) ask_where(server, path)$pid, 1L)
  expect(!anyDuplicated(after) && !any(after %in% before), "workers from before")
  expect(!is_over(held), "it is over")
  open_all_gates(server)
  expect(held()$body == "let go", "what ran was not answered")
  wait_for_workers(server, 3, but = before)
  expect(noted(server, "stopped") == 1L, "its hook has not run, or elsewhere")
}, ways = 1:2)

test("a mounted app may have a pool, for its routes and hooks, and jobs run in theirs", function() {
  app <- write_app(c(
    "inner <- dr_app()",
    "dr_on_worker_start(inner, function() note('inner', Sys.getpid()))",
    "dr_get(inner, '/pid', function(req) Sys.getpid())",
    "app <- dr_app()",
    "dr_get(app, '/pid', function(req) Sys.getpid())",
    "dr_mount(app, '/inner', inner, pool = 'inner')",
    "dr_job(app, '/fits', function(req) { stand_at('fit'); Sys.getpid() }, pool = 'jobs')",
    "app"
  ))
  server <- serve(app, workers = 1, timeout = 600)
  pids <- c(main = ask(server, "/pid")$body, inner = ask(server, "/inner/pid")$body)
  expect(identical(note_lines(server, "inner"), pids[["inner"]]), "its hook has run elsewhere")
  job <- ask(server, "/fits", "-X", "POST")
  expect(job$status == "202" && marked(server, "fit"), "it does not begin")
  # with one worker for requests, which it does not have
  expect(ask(server, "/pid")$body == pids[["main"]], "the job has the only worker")
  open_all_gates(server)
  done <- ask(server, paste0(json(job$body)$url, "/result"), "-H", "Prefer: wait=30")
  expect(within(function() ask(server, paste0(json(job$body)$url, "/result"))$status == "200"), "it does not end: ", done$status)
  result <- ask(server, paste0(json(job$body)$url, "/result"))$body
  expect(!result %in% pids, "a worker of requests has run it")
})

test("jobs of a pool have as many workers as it may have, from none on", function() {
  app <- write_app(c(
    "app <- dr_app()",
    "dr_get(app, '/', function(req) 'here')",
    "dr_job(app, '/fits', function(req) { note('began', Sys.getpid()); stand_at('fit'); 'done' }, pool = 'jobs')",
    "app"
  ))
  server <- serve(app, workers = 1, pools = "jobs=0-2", timeout = 600)
  wait_for_workers(server, 1)
  for (i in 1:3) expect(ask(server, "/fits", "-X", "POST")$status == "202", "it is not accepted")
  expect(within(function() noted(server, "began") == 2L), "two do not run at once")
  wait_for_workers(server, 3)
  expect(never(function() noted(server, "began") != 2L, 0.3), "more run than there are workers for")
  open_all_gates(server)
  expect(within(function() noted(server, "began") == 3L), "the third does not run")
}, ways = 1:2)

test("drover scale changes how many workers a pool has, and a reload keeps it", function() {
  runtime <- runtime_folder()
  server <- launch(command_of(pools_app(), workers = 1, pools = "fits=0-1"), env = runtime)
  wait_for_workers(server, 2)
  shows(command("scale", "model=3", env = runtime), 0L, ": 3 workers of the pool model instead of 1 worker$")
  three <- wait_for_workers(server, 4)
  expect(noted(server, "loaded") == 3L, "others were started")
  shows(command("scale", "model=1-2", env = runtime), 0L, ": 1 to 2 workers of the pool model instead of 3 workers$")
  expect(all(wait_for_workers(server, 3) %in% three), "a worker was replaced")
  shows(command("scale", "2", env = runtime), 0L, ": 2 workers instead of 1 worker$")
  wait_for_workers(server, 4)
  shows(command("reload", env = runtime), 0L, "^reloaded")
  wait_for_workers(server, 4, but = three)
  expect(logged(server, "workers of the pool model=1-2, it was 3"), "it is not in the log")
  shows(command("scale", "gpu=1", env = runtime), 2L, NULL, "the app has no pool gpu; its routes name model, fits$")
  shows(command("scale", "model=0", env = runtime), 2L, NULL, "must be a whole number >= 1")
  shows(command("scale", "model=9999", env = runtime), 2L, NULL, "n_max must be at most 1024")
})

test("dr_scale() changes a pool of a session's server", function() {
  session <- serve_session(c(
    "later::later(function() dr_scale(2, pool = 'model'), 0.1)",
    "later::later(function() message('wrong: ', tryCatch(dr_scale(2, pool = 'gpu'), error = conditionMessage)), 0.3)",
    "serve(workers = c(1L, 1L))"
  ), pools_app())
  wait_for_workers(session, 4)
  expect(logged(session, "wrong: the app has no pool gpu; its routes name model, fits"), "another error")
})

test("drover status shows pools, and what is said of none that there is is in the log", function() {
  runtime <- runtime_folder()
  server <- launch(command_of(pools_app(), workers = 1, pools = "gpu=1"), env = runtime)
  expect(!is.null(server$url), "it does not listen")
  expect(logged(server, "no route of the app has `pool = \"gpu\"`: it has no workers"), "it is not in the log")
  shows(command("status", env = runtime), 0L, "pid  state   pool  generation")
  shows(command("status", env = runtime), 0L, "idle  model           1")
})

test("pools that make no sense are named before anything starts", function() {
  for (wrong in c("gpu", "gpu=0", "gpu=2-1", "g.p=1", "gpu=1,max_rss=much", "gpu=1,size=2")) {
    ended <- run_to_end(command_of(pools_app(), pools = wrong))
    expect(ended$status == 2L, wrong, ": status ", ended$status)
    right <- "pools must be NAME=WORKERS, as in gpu=1, fits=0-2 or fits=0-2,max_rss=8GB, not"
    expect(any(grepl(right, ended$log, fixed = TRUE)), wrong, ": ", toString(ended$log))
  }
})
