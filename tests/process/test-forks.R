# What a fork takes along of the threads that it does not have.

# The thread begins when a fork is done, and works for 20 ms: forks that do not mind it find the lock held for ever.
test("a worker is not forked while a thread of another package works, which may hold a lock", function() {
  app <- write_app(c(
    "dyn.load(Sys.getenv('FAULTS'))", ".C('work_with_lock')", "app <- dr_app()",
    "dr_on_worker_start(app, function() {",
    "  can <- .C('can_lock', can = 0L)$can",
    "  cat(paste0(can, '\\n'), file = file.path(Sys.getenv('MARKS'), 'can'), append = TRUE)",
    "})", "dr_get(app, '/', function(req) 'here')", "app"
  ))
  server <- serve(app, workers = 12, start = "fork")
  expect(within(function() length(workers(server)) == 12L), "not all workers are there")
  can <- function() readLines(file.path(server$marks, "can"), warn = FALSE)
  expect(within(function() length(can()) == 12L), length(can()), " start hooks have run")
  expect(all(can() == "1"), sum(can() != "1"), " of 12 workers have found the lock held")
}, ways = 1:2)
