# What belongs to the server happens once, and not in each worker or generation: stop hooks, timers, buffered output.

# A worker ends by itself, and the app is loaded anew; then the server ends.
live_through <- function(server) {
  old <- wait_for_workers(server, 2)
  send_signal(old[[1L]], tools::SIGTERM)
  newer <- wait_for_workers(server, 2, but = old[[1L]])
  # one that is not ready yet would be ended by the reload, and has no hooks
  for (pid in newer) expect(logged(server, sprintf("worker %d is ready", pid)), "worker ", pid, " is not ready")
  send_signal(server$pid, 1L)
  wait_for_workers(server, 2, but = c(old, newer))
  expect(logged(server, "reloaded: generation 2 serves"), "it does not reload")
  # those of the generation before are gone
  expect(within(function() length(zygotes(server)) == if (is_spawned()) 2L else 1L), "they are still there")
}

hooked_app <- function(lines = character()) {
  write_app(c(
    lines, "app <- dr_app()", "dr_get(app, '/pid', function(req) Sys.getpid())",
    "dr_on_stop(app, function() note('stopped', Sys.getpid()))",
    "dr_on_worker_stop(app, function() note('workers', Sys.getpid()))", "app"
  ))
}

expect_stopped_once <- function(server) {
  expect(!length(note_lines(server, "stopped")), "before the end")
  send_signal(server$pid, tools::SIGTERM)
  expect(identical(exit_status(server), 0L), "status ", exit_status(server))
  # after all that workers do
  expect(length(note_lines(server, "stopped")) == 1L, "stop hooks ran in ", toString(note_lines(server, "stopped")))
  expect(length(note_lines(server, "workers")) == 5L, "workers' hooks ran in ", toString(note_lines(server, "workers")))
}

test("stop hooks run once, when the server ends: not with a worker, nor after a reload", function() {
  server <- serve(hooked_app(), workers = 2)
  live_through(server)
  expect_stopped_once(server)
})

test("so they do where each worker loads the app by itself, after the others have ended", function() {
  server <- serve(hooked_app("listener <- serverSocket(0)"), workers = 2)
  expect(logged(server, "each worker loads the app by itself"), "it forks")
  before <- zygotes(server)
  send_signal(server$pid, 1L)
  expect(within(function() length(zygotes(server)) == 2L && !any(zygotes(server) %in% before)), "no reload")
  expect(!length(note_lines(server, "stopped")), "before the end")
  send_signal(server$pid, tools::SIGTERM)
  expect(identical(exit_status(server), 0L), "status ", exit_status(server))
  stopped <- note_lines(server, "stopped")
  expect(length(stopped) == 1L, "stop hooks ran in ", toString(stopped))
  expect(identical(utils::tail(note_lines(server, "workers"), 1L), stopped), "a worker ended after them")
}, ways = 1:2)

test("the hook `exit` of a router runs once, and takes its folder with it only then", function() {
  if (!requireNamespace("plumber", quietly = TRUE)) skip("the package 'plumber' is not installed")
  folder <- folder_of(plumber.R = c(
    "dir.create('work', showWarnings = FALSE)", "#* @get /", "function() length(list.files(tempfile('x', 'work')))",
    "#* @get /work", "function() dir.exists('work')", "#* @plumber",
    "function(pr) plumber::pr_hook(pr, 'exit', function() {",
    "  cat('exit\\n', file = 'exits', append = TRUE)", "  unlink('work', recursive = TRUE)", "})"
  ))
  server <- serve(file.path(folder, "plumber.R"), workers = 2)
  live_through(server)
  expect(ask(server, "/work")$body == "[true]", "its folder is gone")
  send_signal(server$pid, tools::SIGTERM)
  expect(identical(exit_status(server), 0L), "status ", exit_status(server))
  expect(identical(readLines(file.path(folder, "exits")), "exit"), toString(readLines(file.path(folder, "exits"))))
  expect(!dir.exists(file.path(folder, "work")), "its folder is left")
}, ways = 1:2)

test("timers that are set while the app is loaded run in one process, also when that is replaced", function() {
  server <- serve(write_app(c(
    "tick <- function() {", "  note('ticks', Sys.getpid())", "  later::later(tick, 0.02)", "}",
    "later::later(tick, 0.02)", "app <- dr_app()", "note('loaded', Sys.getpid())",
    "dr_on_worker_start(app, function() later::later(function() note('own', Sys.getpid())))",
    "dr_get(app, '/pid', function(req) Sys.getpid())", "app"
  )), workers = 2)
  all <- wait_for_workers(server, 2)
  # a worker's own timers run in it
  expect(within(function() setequal(note_lines(server, "own"), all)), "own timers: ", toString(note_lines(server, "own")))
  expect(within(function() length(note_lines(server, "ticks")) >= 20L), "no ticks")
  in_session <- style %in% styles[3:4]
  # one that is due before the app is loaded runs where that is done
  ticking <- function() setdiff(note_lines(server, "ticks"), if (!in_session) note_lines(server, "loaded"))
  has_them <- ticking()
  expect(length(has_them) == 1L, "timers run in ", toString(has_them))
  if (in_session) return(expect(has_them == server$pid, "not in the session"))
  expect(has_them %in% all, "in no worker")
  expect(logged(server, "1 timer of the app, set by later\\(\\) while it was loaded: this worker has it"), "the log")
  send_signal(as.integer(has_them), tools::SIGKILL)
  expect(within(function() length(setdiff(ticking(), has_them)) == 1L), "they do not go on")
  ticks <- length(note_lines(server, "ticks"))
  expect(within(function() length(note_lines(server, "ticks")) >= ticks + 20L), "no more ticks")
  expect(length(ticking()) == 2L, "timers run in ", toString(ticking()))
})

test("what is due when the app is loaded has run before there are workers", function() {
  server <- serve(write_app(c(
    "ran_in <- 0", "later::later(function() ran_in <<- Sys.getpid())",
    "app <- dr_app()", "dr_get(app, '/', function(req) list(ran_in = ran_in, pid = Sys.getpid()))", "app"
  )), workers = 2)
  pids <- wait_for_workers(server, 2)
  ran_in <- jsonlite::fromJSON(ask(server, "/")$body)$ran_in
  expect(ran_in %in% zygotes(server), "it ran in ", ran_in)
}, ways = 1:2)

test("output that is still buffered when workers are forked is written once", function() {
  server <- serve(write_app(c(
    "out <- file(file.path(Sys.getenv('MARKS'), 'buffered'), 'w')", "writeLines('once', out)",
    "app <- dr_app()", "dr_get(app, '/', function(req) 'ok')", "app"
  )), workers = 2)
  old <- wait_for_workers(server, 2)
  send_signal(old[[1L]], tools::SIGTERM)
  wait_for_workers(server, 2, but = old[[1L]])
  send_signal(server$pid, tools::SIGTERM)
  expect(identical(exit_status(server), 0L), "status ", exit_status(server))
  expect(identical(note_lines(server, "buffered"), "once"), toString(note_lines(server, "buffered")))
}, ways = 1:3)
