# Worker processes in trouble: killed, hanging, over their time, left by their client. Exact accounting under load is in
# tests/process.

test_that("a worker that is killed costs the request that it ran, and is replaced", {
  server <- serve_workers(pid_app(), 2L)
  slow <- raw_client(server$port)
  client_send(slow, request_bytes("/held/slow"))
  victim <- as.integer(mark_text(server, "slow"))
  tools::pskill(victim, tools::SIGKILL)
  expect_identical(client_response(slow)$status, 502L)
  expect_identical(fetch_many(server, "/pid", 20L), rep(200L, 20L))
  expect_true(within(function() nrow(dr_status()) == 2L && !victim %in% dr_status()$pid))
})

test_that("a handler that crashes its process costs its own request", {
  app <- pid_app()
  dr_get(app, "/crash", function(req) tools::pskill(Sys.getpid(), tools::SIGKILL))
  server <- serve_workers(app, 2L)
  expect_identical(fetch(server, "/crash")$status, 502L)
  expect_identical(fetch(server, "/pid")$status, 200L)
  expect_true(within(function() any(grepl("was killed by signal 9", server$log()))))
})

test_that("quit() in a handler is an error, and the worker goes on", {
  app <- pid_app()
  dr_get(app, "/quit", function(req) quit(save = "no"))
  server <- serve_workers(app, 1:2)
  before <- dr_status()$pid
  expect_identical(fetch(server, "/quit")$status, 500L)
  expect_identical(fetch(server, "/pid")$text, as.character(before[[1]]))
})

test_that("a request over its time gets 504, its handler is interrupted, and on.exit() runs", {
  app <- pid_app()
  dr_get(app, "/held", function(req) {
    on.exit(note("left", "handler"))
    stand_at("held")
    note("left", "gate")
  }, timeout = 0.3)
  dr_get(app, "/loop", function(req) repeat NULL, timeout = 0.3)
  server <- serve_workers(app, 2L, timeouts = dr_timeouts(timeout = 600, kill_after = 600))
  expect_identical(fetch(server, "/held")$status, 504L)
  expect_true(within(function() noted(server, "left") > 0L))
  expect_identical(fetch(server, "/loop")$status, 504L)
  expect_true(within(function() any(grepl("GET /loop interrupted", server$log()))))
  expect_identical(fetch(server, "/pid")$status, 200L)
  expect_identical(note_lines(server, "left"), "handler")
})

test_that("a route's own time limit counts, shorter or longer than the server's", {
  app <- dr_app()
  handler <- function(req) {
    stand_at(basename(req$path))
    "done"
  }
  dr_get(app, "/short", handler, timeout = 0.2)
  dr_get(app, "/long", handler, timeout = 600)
  dr_get(app, "/server", handler)
  inner <- dr_post(dr_app(), "/short", handler, timeout = 0.2)
  dr_mount(app, "/inner", inner)
  # nobody opens the gates of those that are 504
  server <- serve_workers(app, 2L, timeouts = dr_timeouts(timeout = 600, kill_after = 600))
  expect_identical(fetch(server, "/short")$status, 504L)
  expect_identical(fetch(server, "/inner/short", "POST")$status, 504L)
  dr_stop()
  server <- serve_workers(app, 2L, timeouts = dr_timeouts(timeout = 0.5, kill_after = 600))
  long <- raw_client(server$port)
  client_send(long, request_bytes("/long"))
  expect_true(marked(server, "long"))
  expect_identical(fetch(server, "/server")$status, 504L)
  # the server's limit has passed for both
  expect_false(client_fill(long, 0) || long$closed)
  open_gate(server, "long")
  expect_identical(client_response(long)$text, "done")
  for (wrong in list(-1, "soon", NA, c(1, 2), Inf)) {
    expect_argument_error(dr_get(dr_app(), "/", handler, timeout = wrong), "`timeout` must be a single number of seconds")
  }
})

test_that("a worker that does not heed its interrupt is killed and replaced", {
  app <- pid_app()
  dr_get(app, "/deaf", function(req) suspendInterrupts(repeat NULL), timeout = 0.2)
  server <- serve_workers(app, 2L, timeouts = dr_timeouts(kill_after = 0.3))
  before <- dr_status()$pid
  expect_identical(fetch(server, "/deaf")$status, 504L)
  expect_true(within(function() {
    status <- dr_status()
    nrow(status) == 2L && !all(before %in% status$pid) && all(status$state == "idle")
  }))
  expect_identical(sum(is_alive(before)), 1L)
})

test_that("a client that goes away interrupts its handler", {
  app <- pid_app()
  dr_get(app, "/held", function(req) {
    on.exit(note("left", "handler"))
    stand_at("held")
    note("left", "gate")
  })
  server <- serve_workers(app, 2L, timeouts = dr_timeouts(timeout = 600, kill_after = 600))
  client <- raw_client(server$port)
  client_send(client, request_bytes("/held"))
  expect_true(marked(server, "held"))
  client_close(client)
  expect_true(within(function() noted(server, "left") > 0L))
  expect_identical(fetch(server, "/pid")$status, 200L)
  expect_identical(note_lines(server, "left"), "handler")
})

test_that("an interrupt that no request asked for is none", {
  app <- pid_app()
  dr_get(app, "/busy", function(req) {
    mark("busy")
    n <- 0
    while (!is_open("busy")) n <- n + 1
    "done"
  })
  server <- serve_workers(app, 1:2)
  worker <- dr_status()$pid
  client <- raw_client(server$port)
  client_send(client, request_bytes("/busy"))
  expect_true(marked(server, "busy"))
  for (signal in c(tools::SIGINT, 1L)) tools::pskill(worker, signal)
  expect_true(never(function() client_fill(client, 0) || client$closed, 0.2))
  open_gate(server, "busy")
  expect_identical(client_response(client)$text, "done")
  tools::pskill(parent_of(worker), tools::SIGINT)
  tools::pskill(parent_of(worker), tools::SIGTERM)
  expect_identical(fetch(server, "/pid")$text, as.character(worker))
})

test_that("SIGTERM ends a worker once it has answered", {
  server <- serve_workers(pid_app(), 2L)
  client <- raw_client(server$port)
  client_send(client, request_bytes("/held/slow"))
  worker <- as.integer(mark_text(server, "slow"))
  tools::pskill(worker, tools::SIGTERM)
  expect_true(never(function() client_fill(client, 0) || client$closed, 0.2))
  open_gate(server, "slow")
  expect_identical(client_response(client)$text, as.character(worker))
  expect_true(within(function() !worker %in% dr_status()$pid && nrow(dr_status()) == 2L))
  expect_identical(fetch(server, "/pid")$status, 200L)
})

test_that("SIGTERM lets promises under way come to their end", {
  skip_if_not_installed("promises")
  app <- dr_app()
  dr_get(app, "/promise", function(req) once_open("promise", function() as.character(Sys.getpid())))
  server <- serve_workers(app, c(1L, 1L))
  worker <- dr_status()$pid
  client <- raw_client(server$port)
  client_send(client, request_bytes("/promise"))
  expect_true(marked(server, "promise"))
  tools::pskill(worker, tools::SIGTERM)
  expect_true(never(function() client_fill(client, 0) || client$closed || !is_alive(worker), 0.3))
  open_gate(server, "promise")
  expect_identical(client_response(client)$text, as.character(worker))
  expect_true(within(function() !worker %in% dr_status()$pid && nrow(dr_status()) == 1L))
})

test_that("children that a handler forks or starts answer nobody, and go with their worker", {
  app <- pid_app()
  dr_get(app, "/fork", function(req) {
    total <- parallel::mccollect(list(parallel::mcparallel(sum(1:10)), parallel::mcparallel(sum(1:20))))
    sum(unlist(total))
  })
  dr_get(app, "/escape", function(req) {
    parallel:::mcfork()
    "answered"
  })
  dr_get(app, "/terminate", function(req) {
    # at a gate that stays closed
    child <- parallel::mcparallel(stand_at("child"))
    marked(list(marks = Sys.getenv("MARKS")), "child")
    tools::pskill(child$pid, tools::SIGTERM)
    parallel::mccollect(child)
    "ended"
  })
  dr_get(app, "/start", function(req) {
    system("sleep 600 > /dev/null & echo $!", intern = TRUE)
  })
  server <- serve_workers(app, 1:2)
  expect_identical(fetch(server, "/fork")$text, "265")
  expect_identical(fetch(server, "/terminate")$text, "ended")
  client <- raw_client(server$port)
  client_send(client, request_bytes("/escape"))
  expect_identical(client_response(client)$text, "answered")
  expect_null(client_response(client, timeout = 0.5))
  child <- as.integer(fetch(server, "/start")$text)
  expect_true(is_alive(child))
  dr_stop(graceful_timeout = 1)
  expect_true(within(function() !is_alive(child)))
})

test_that("a session whose zygote dies forks another, and workers that die after that are replaced", {
  server <- serve_workers(pid_app(), 2L)
  pids <- dr_status()$pid
  zygote <- parent_of(pids[[1]])
  tools::pskill(zygote, tools::SIGKILL)
  expect_true(idle_until(function() any(grepl("zygote is there again", server$log()))))
  # those there go on
  expect_setequal(as.integer(texts(fetch_held(server, "/held/before", "before", 2L))), pids)
  tools::pskill(pids[[1]], tools::SIGKILL)
  expect_true(idle_until(function() nrow(dr_status()) == 2L && !pids[[1]] %in% dr_status()$pid))
  expect_identical(statuses(fetch_held(server, "/held/after", "after", 2L, requests = 4L)), rep(200L, 4L))
  # the new zygote and its workers hold nothing of the server: its connections end when it says so, and its port is free
  sockets <- sockets_at(server$port)
  files_of <- function(pid) Sys.readlink(list.files(file.path("/proc", pid, "fd"), full.names = TRUE))
  expect_true(any(files_of(Sys.getpid()) %in% sockets))
  new <- setdiff(dr_status()$pid, pids)
  for (pid in c(new, parent_of(new[[1]]))) expect_false(any(files_of(pid) %in% sockets))
})

test_that("a console that serves with workers stays usable, and lends itself for another zygote while idle", {
  console <- local_console()
  console$write("library(drover); x <- 'start'; app <- dr_get(dr_app(), '/', function(req) paste(x, Sys.getpid()))")
  console$write("dr_serve(app, port = 0L, block = FALSE, workers = 2L)")
  expect_true(console$shows("listening on http://127.0.0.1:[0-9]+ "), info = console$screen())
  server <- list(port = as.integer(sub(".*listening on http://127.0.0.1:([0-9]+).*", "\\1", console$screen())))
  answer <- strsplit(fetch(server, "/")$text, " ")[[1]]
  expect_identical(answer[[1]], "start")
  # R waits for a line to be typed: handlers do not need it
  tools::pskill(parent_of(as.integer(answer[[2]])), tools::SIGKILL)
  expect_true(console$shows("zygote is there again"), info = console$screen())
  console$write("x <- 'changed'; dr_reload(); cat(paste0('reloaded ', nrow(dr_status()) >= 2, '\\n'))")
  expect_true(console$shows("reloaded TRUE"), info = console$screen())
  expect_match(fetch(server, "/")$text, "^changed ")
  # an interrupt at the prompt is none of the workers'
  tools::pskill(console$process$get_pid(), tools::SIGINT)
  expect_match(fetch(server, "/")$text, "^changed ")
  console$write("dr_stop(); cat('stopped', dr_running(), '\\n')")
  expect_true(console$shows("stopped FALSE"), info = console$screen())
})

test_that("workers of a zygote that was forked by a running server keep promises, and reload in a callback works", {
  skip_if_not_installed("promises")
  app <- pid_app()
  dr_get(app, "/promise", function(req) {
    promises::promise(function(resolve, reject) later::later(function() resolve(as.character(Sys.getpid())), 0.1))
  })
  server <- serve_workers(app, 2L)
  reloaded <- FALSE
  later::later(function() {
    dr_reload()
    reloaded <<- TRUE
  })
  expect_true(idle_until(function() reloaded))
  seen <- as.integer(texts(fetch_all(server, rep("/promise", 4))))
  expect_true(all(seen %in% dr_status()$pid[dr_status()$generation == 2L]))
})

test_that("what a handler leaves changed in a worker is put back", {
  app <- dr_app()
  dr_get(app, "/change", function(req) {
    setwd("/")
    options(warn = 2)
    sink(tempfile())
    "changed"
  })
  dr_get(app, "/look", function(req) list(wd = getwd(), warn = getOption("warn"), sinks = sink.number()))
  server <- serve_workers(app, c(1L, 1L))
  before <- fetch(server, "/look")$text
  expect_identical(fetch(server, "/change")$text, "changed")
  expect_identical(fetch(server, "/look")$text, before)
  expect_true(within(function() any(grepl("the handler left changed", server$log()))))
})

test_that("a session that ends without dr_stop() takes its processes with it", {
  ran <- run_script(c(
    "app <- dr_get(dr_app(), '/', function(req) 'ok')", "dr_serve(app, port = 0L, block = FALSE, workers = 2L)",
    "cat(dr_status()$pid, '\n')"
  ))
  expect_identical(ran$status, 0L)
  pids <- as.integer(strsplit(trimws(ran$stdout), " ")[[1]])
  expect_length(pids, 2L)
  expect_true(within(function() !any(is_alive(pids))))
})

test_that("when the session is killed, its zygote and workers go, whatever R does in them", {
  server <- local_script(c(
    "app <- dr_app()", "dr_get(app, '/pid', function(req) as.character(Sys.getpid()))",
    "dr_get(app, '/deaf', function(req) { mark('deaf'); suspendInterrupts(repeat NULL) })",
    "dr_serve(app, port = 0L, workers = 2L, block = TRUE)"
  ))
  worker <- as.integer(fetch(server, "/pid")$text)
  zygote <- parent_of(worker)
  client <- raw_client(server$port)
  client_send(client, request_bytes("/deaf"))
  expect_true(marked(server, "deaf"))
  family <- c(zygote, children_of(zygote))
  expect_length(family, 3L)
  tools::pskill(server$pid, tools::SIGKILL)
  expect_true(within(function() !any(is_alive(family))))
})
