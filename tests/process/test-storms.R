# Several things at once.

test("kills and reloads at the same time under load: nothing but 502 for who was running", function() {
  server <- serve(workers = 3, threads = 3, timeout = 600)
  load <- start_load(server, "/n/{n}", echo = TRUE, connections = 8)
  kills <- 0
  for (round in 1:8) {
    send_signal(server$pid, tools::SIGHUP)
    # at any moment of a reload
    let_pass(stats::runif(1, 0, 0.6))
    pids <- workers(server)
    if (length(pids) && round %% 2) {
      kills <- kills + 1
      send_signal(sample(rep(pids, 2), 1), tools::SIGKILL)
    }
  }
  expect(within(function() length(zygotes(server)) == 1L && length(workers(server)) == 3L),
    "zygotes: ", toString(zygotes(server)), "; workers: ", toString(workers(server)))
  account <- end_load(load)
  expect(account[["s502"]] <= kills, attr(account, "line"))
  expect_account(account, s502 = account[["s502"]])
}, ways = 1:3)

test("ten HUPs at once: the last code serves, nothing fails, and one generation is left", function() {
  file <- write_app(c("app <- dr_app()", "dr_get(app, '/n/<n>', function(req) req$params[['n']])", "app"))
  server <- serve(file, workers = 2)
  load <- start_load(server, "/n/{n}", echo = TRUE, connections = 4)
  write_app(c("app <- dr_app()", "dr_get(app, '/n/<n>', function(req) req$params[['n']])",
    "dr_get(app, '/new', function(req) 'new')", "app"), file)
  for (i in 1:10) send_signal(server$pid, tools::SIGHUP)
  expect(within(function() ask(server, "/new")$status == "200"), "the new code does not come")
  expect(within(function() length(zygotes(server)) == 1L && length(workers(server)) == 2L),
    "zygotes: ", toString(zygotes(server)), "; workers: ", toString(workers(server)))
  expect_account(end_load(load))
}, ways = 1:2)

# A line of an app that has it stand at a gate when it is loaded, if there is a file "hold".
held_at_load <- "if (file.exists(file.path(Sys.getenv('MARKS'), 'hold'))) stand_at('loading')"

# Forks of a session load nothing: their zygote is ready within a millisecond.
test("the zygote is killed while it loads for a reload: the old code serves on, and the next reload works", function() {
  file <- tempfile("app-", fileext = ".R")
  write_app(c(held_at_load, "app <- dr_app()", "dr_get(app, '/n/<n>', function(req) req$params[['n']])", "app"), file)
  server <- serve(file, workers = 2)
  old <- zygotes(server)
  load <- start_load(server, "/n/{n}", echo = TRUE, connections = 4)
  file.create(file.path(server$marks, "hold"))
  send_signal(server$pid, tools::SIGHUP)
  expect(marked(server, "loading"), "the new code is not loaded")
  expect(length(setdiff(zygotes(server), old)) == 1L, "no zygote for the new code")
  send_signal(setdiff(zygotes(server), old), tools::SIGKILL)
  expect(logged(server, "not reloaded"), "nothing is told")
  unlink(file.path(server$marks, "hold"))
  send_signal(server$pid, tools::SIGHUP)
  expect(logged(server, "reloaded: generation"), "no further reload")
  expect_account(end_load(load))
}, ways = 1:2)

test("TERM while it loads, and while it reloads", function() {
  server <- launch(command_of(write_app("stand_at('loading')"), start_timeout = 600), ready = NULL)
  expect(marked(server, "loading"), "it does not load")
  send_signal(server$pid, tools::SIGTERM)
  expect(!is.na(exit_status(server)), "TERM does not end a server that loads")
  file <- write_app(c(held_at_load, "app <- dr_app()", "dr_get(app, '/n/<n>', function(req) req$params[['n']])", "app"))
  server <- serve(file, workers = 2, start_timeout = 600)
  file.create(file.path(server$marks, "hold"))
  send_signal(server$pid, tools::SIGHUP)
  expect(marked(server, "loading"), "it does not reload")
  send_signal(server$pid, tools::SIGTERM)
  expect(identical(exit_status(server), 0L), "TERM does not end a server that reloads")
  # a session does not load the file again
}, ways = 1:2)

test("a zygote that is stopped (SIGSTOP): its workers serve, and a lost one comes back when it goes on", function() {
  server <- serve(workers = 2)
  zygote <- zygotes(server)
  pids <- wait_for_workers(server, 2)
  send_signal(zygote, tools::SIGSTOP)
  load <- start_load(server, "/n/{n}", echo = TRUE, connections = 4)
  send_signal(pids[1], tools::SIGKILL)
  expect(have_ended(pids[1]), "it lives")
  expect(within(function() ask(server, "/pid")$body == pids[2]), "the other one does not serve")
  expect(identical(workers(server), pids[2]), "there is another worker already: ", toString(workers(server)))
  send_signal(zygote, tools::SIGCONT)
  wait_for_workers(server, 2, but = pids[1])
  account <- end_load(load)
  expect(account[["s502"]] <= 1, attr(account, "line"))
  expect_account(account, s502 = account[["s502"]])
}, ways = 1:3)

test("all workers and the zygote are killed at once, and all is made anew", function() {
  server <- serve(workers = 2, timeout = 600)
  load <- start_load(server, "/n/{n}", echo = TRUE, connections = 4)
  old <- c(zygotes(server), workers(server))
  send_signal(old, tools::SIGKILL)
  wait_for_workers(server, 2, but = old)
  account <- end_load(load)
  expect(account[["s502"]] <= 2, attr(account, "line"))
  expect_account(account, s502 = account[["s502"]])
}, ways = 1:3)

test("workers that serve one request each", function() {
  server <- serve(workers = 2, max_requests = 1, timeout = 600)
  expect_account(load(server, "/n/{n}", echo = TRUE, connections = 4, requests = 200))
})

test("uploads and long answers while workers are killed: no file is left, and no answer is torn", function() {
  folder <- tempfile("uploads-")
  dir.create(folder)
  body <- tempfile("body-")
  writeBin(raw(3e6), body)
  server <- serve(workers = 2, max_body = 1e7, express = FALSE, upload_path = folder, timeout = 600, env = c(TMPDIR = folder))
  load <- start_load(server, "/big", connections = 4)
  for (round in 1:4) {
    uploads <- lapply(1:4, function(i) ask_later(server, "/upload", "--data-binary", paste0("@", body)))
    pids <- wait_for_workers(server, 2)
    send_signal(pids[1], tools::SIGKILL)
    for (wait in uploads) expect(wait()$status %in% c("200", "502"), "another status")
  }
  account <- end_load(load)
  # an answer that the dead worker had begun is cut, as its status was sent
  expect(account[["s200"]] + account[["s502"]] + account[["cut"]] == account[["sent"]], attr(account, "line"))
  expect(account[["s502"]] + account[["cut"]] <= 4, attr(account, "line"))
  # R's own folders are there while it runs, and in them the app that a session gives to the processes that it spawns
  left <- function() grep("/drover-app-[^/]*$", list.files(folder, recursive = TRUE), value = TRUE, invert = TRUE)
  expect(within(function() !length(left())), "left: ", toString(left()))
})

# How long each storm is, in seconds.
storm_seconds <- as.numeric(Sys.getenv("STORM_SECONDS", "5"))

# The ways to start a server with handlers in R and in C, by functions of the folder for uploads.
settings <- "threads = 2L, max_queue = 64L, kill_after = 20, log = 'none', upload_path = "
in_session <- function(how) {
  function(folder) {
    call <- sprintf(how, paste0(settings, deparse(folder)))
    serve_session(c(sprintf("c_app <- %s", deparse(c_app())), call), app = c_app())
  }
}
ways <- list(
  "drover serve" = function(folder) {
    serve(c_app(), workers = 2, threads = 2, max_queue = 64, kill_after = 20, log = "none", upload_path = folder)
  },
  "dr_run()" = in_session("dr_run(c_app, port = 0L, workers = 2L, block = TRUE, %s)"),
  "dr_serve(workers = 2)" = in_session("serve(workers = 2L, %s)"),
  "dr_serve(start = 'spawn')" = in_session(paste(
    "serve(workers = 2L, start = 'spawn', on_worker_start = function() dyn.load(Sys.getenv('FAULTS')), %s)"
  )),
  "dr_serve(workers = 1)" = in_session("serve(workers = 1L, %s)")
)

for (way in names(ways)) local({
  way <- way
  test(paste("clients that leave at every moment, on every kind of answer: nothing is left of them:", way), function() {
    may_take(120)
    folder <- tempfile("uploads-")
    server <- ways[[way]](folder)
    paths <- storm_paths(storm_file())
    # what is made at the first use is made
    end_storm(start_storm(server, paths, 2))
    expect_account(load(server, "/n/{n}", echo = TRUE, connections = 8, requests = 500))
    before <- census(server)
    held <- nameless(before$pid)
    # on a slow machine more than once
    left <- 0
    expect(within(function() {
      left <<- left + end_storm(start_storm(server, paths, storm_seconds))
      all(left > 10)
    }, 60), "too few have left: ", toString(paste(names(left), left)))
    # every place in the queue and every slot is free, as soon as what has been left is over
    free <- function() {
      account <- load(server, "/n/{n}", echo = TRUE, connections = 60, requests = 60)
      account[["s200"]] == 60
    }
    expect(within(free), "it does not serve")
    expect_account(load(server, "/n/{n}", echo = TRUE, connections = 60, requests = 6000))
    expect_account(load(server, "/c/later/3", connections = 60, requests = 600))
    after <- census(server)
    expect(setequal(after$pid, before$pid), "processes were ", toString(before$pid), ", and are ", toString(after$pid))
    steady <- function() {
      after <<- census(server)
      now <- after[match(before$pid, after$pid), ]
      # threads that read files or run C handlers come as they are needed, a few of them
      all(now$descriptors <= before$descriptors + 2L) && all(now$threads <= before$threads + 8L)
    }
    show <- function(table) paste(utils::capture.output(print(table)), collapse = "\n    ")
    expect(within(steady), "descriptors or threads are left:\n    ", show(before), "\n    ", show(after))
    expect(!length(files_in(folder)), "files are left: ", toString(files_in(folder)))
    expect(within(function() length(nameless(after$pid)) <= length(held)), "files are held: ",
      toString(nameless(after$pid)))
    grown <- after$resident - before$resident[match(after$pid, before$pid)]
    # an average of some 15 kB for each client that left would be more; R's heap grows by up to 40 MB, however long the
    # storm
    expect(all(grown < 48e6), "memory grew:\n    ", show(before), "\n    ", show(after))
  })
})
