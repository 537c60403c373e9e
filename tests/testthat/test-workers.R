# Handlers in worker processes: which process runs what, what they share, and how they start and end. Their deaths are
# in test-workers-faults.R, new generations in test-reload.R, files in test-serve-file.R.

test_that("each worker is a process of its own, and none of them is the session", {
  server <- serve_workers(pid_app(), 3L)
  status <- dr_status()
  expect_identical(nrow(status), 3L)
  expect_false(Sys.getpid() %in% status$pid)
  # three at a time: each has to have one
  seen <- as.integer(texts(fetch_held(server, "/held/three", "three", 3L)))
  expect_setequal(seen, status$pid)
  expect_length(unique(vapply(status$pid, parent_of, 0L)), 1L)
})

test_that("one slow request holds up no other", {
  server <- serve_workers(pid_app(), 2L)
  slow <- raw_client(server$port)
  client_send(slow, request_bytes("/held/slow"))
  expect_true(marked(server, "slow"))
  expect_identical(fetch_many(server, "/pid", 200L), rep(200L, 200L))
  expect_false(client_fill(slow, 0), label = "the slow one has its answer before")
  open_gate(server, "slow")
  expect_identical(client_response(slow)$status, 200L)
})

test_that("dr_status() has a row for each worker and says what it did", {
  begun <- now()
  server <- serve_workers(pid_app(), 2L)
  fetch_many(server, "/pid", 20L)
  expect_true(within(function() sum(dr_status()$requests) == 20))
  status <- dr_status()
  expect_identical(vapply(status, typeof, ""), c(
    pid = "integer", alive = "logical", state = "character", generation = "integer", requests = "double",
    errors = "double", promises = "double", busy = "double", memory = "double", age = "double",
    runs = "character"
  ))
  expect_identical(status$alive, c(TRUE, TRUE))
  expect_true(all(status$state %in% c("idle", "busy")))
  expect_identical(status$generation, c(1L, 1L))
  expect_true(all(status$busy >= 0 & status$busy <= 1))
  expect_true(all(status$memory > 1e6))
  expect_true(all(status$age > 0 & status$age <= now() - begun))
  slow <- raw_client(server$port)
  client_send(slow, request_bytes("/held/slow"))
  worker <- as.integer(mark_text(server, "slow"))
  expect_true(within(function() {
    status <- dr_status()
    identical(status$pid[status$state == "busy"], worker)
  }))
})

test_that("errors of handlers are counted and logged with their worker's words", {
  app <- pid_app()
  dr_get(app, "/fail", function(req) stop("no such luck"))
  dr_get(app, "/warn", function(req) {
    warning("take care")
    "ok"
  })
  server <- serve_workers(app)
  expect_identical(statuses(list(fetch(server, "/fail"), fetch(server, "/warn"))), c(500L, 200L))
  expect_true(within(function() sum(dr_status()$errors) == 1))
  expect_true(within(function() any(grepl("GET /fail 500 no such luck", server$log()))))
  expect_true(within(function() any(grepl("GET /warn warning: take care", server$log()))))
})

test_that("workers have what the session has, and keep what they change to themselves", {
  values <- c(1, 2, 3)
  app <- dr_app()
  dr_get(app, "/sum", function(req) sum(values))
  dr_get(app, "/change", function(req) {
    values <<- 0
    "changed"
  })
  server <- serve_workers(app, 1:2)
  expect_identical(fetch(server, "/sum")$text, "6")
  expect_identical(fetch(server, "/change")$text, "changed")
  expect_identical(values, c(1, 2, 3))
})

test_that("worker hooks run in each worker: of the app, of mounted ones, of the call; and backwards at the end", {
  notes <- withr::local_tempfile()
  note <- function(what) function() cat(paste0(what, " ", Sys.getpid(), "\n"), file = notes, append = TRUE)
  inner <- dr_on_worker_stop(dr_on_worker_start(dr_app(), note("start-inner")), note("stop-inner"))
  app <- dr_mount(pid_app(), "/inner", inner)
  dr_on_worker_start(app, note("start-app"))
  dr_on_worker_stop(app, note("stop-app"))
  serve_workers(app, 2L, on_worker_start = note("start-argument"), on_worker_stop = note("stop-argument"))
  pids <- dr_status()$pid
  dr_stop()
  lines <- strsplit(trimws(readLines(notes)), " ")
  expected <- c("start-app", "start-inner", "start-argument", "stop-argument", "stop-inner", "stop-app")
  for (pid in pids) {
    own <- Filter(function(line) line[[2]] == pid, lines)
    expect_identical(vapply(own, `[[`, "", 1L), expected)
  }
  expect_length(lines, 12L)
})

test_that("with one worker the session is that worker, and runs the hooks itself", {
  log <- character()
  note <- function(what) function() log <<- c(log, what)
  app <- dr_on_worker_stop(dr_on_worker_start(pid_app(), note("start")), note("stop"))
  withr::defer(dr_stop())
  suppressMessages(dr_serve(app, port = 0L, block = FALSE, on_worker_stop = note("argument")))
  expect_identical(log, "start")
  dr_stop()
  expect_identical(log, c("start", "argument", "stop"))
})

test_that("on_worker_start that fails keeps the server from starting and leaves no process", {
  before <- children_of(Sys.getpid())
  stopped <- 0L
  app <- dr_on_stop(pid_app(), function() stopped <<- stopped + 1L)
  error <- error_of(dr_serve(
    app, port = 0L, workers = 2L, log = "none", on_worker_start = function() stop("no database")
  ))
  expect_s3_class(error, c("drover_error_worker", "drover_error_hook", "drover_error"), exact = FALSE)
  expect_match(conditionMessage(error), "on_worker_start failed: no database", fixed = TRUE)
  expect_false(dr_running())
  expect_identical(stopped, 1L)
  expect_identical(nrow(dr_status()), 0L)
  expect_true(within(function() setequal(children_of(Sys.getpid()), before)))
})

test_that("a port in use is a classed error that leaves no process", {
  server <- serve_workers(pid_app())
  other <- run_script(c(
    "app <- dr_get(dr_app(), '/', function(req) 'x')",
    sprintf("error <- tryCatch(dr_serve(app, port = %dL, block = FALSE, workers = 2L), error = identity)", server$port),
    "cat(class(error)[[1]], dr_running(), nrow(dr_status()), '\\n')",
    "children <- function() system(paste('ps -o stat= --ppid', Sys.getpid(), '| grep -cv Z'), intern = TRUE)",
    "while (children() != '1') Sys.sleep(0.1)",
    "cat(children(), '\\n')"
  ))
  # the one child is the `sh` that counts
  expect_identical(other$stdout, c("drover_error_listen FALSE 0 ", "1 "))
})

test_that("dr_stop() lets running requests finish and leaves no process", {
  server <- serve_workers(pid_app(), 2L)
  pids <- c(dr_status()$pid, parent_of(dr_status()$pid[[1]]))
  slow <- raw_client(server$port)
  client_send(slow, request_bytes("/held/slow"))
  expect_true(marked(server, "slow"))
  # the gate opens a moment after the port has closed, when dr_stop() waits
  opener <- processx::process$new("sh", c("-c", sprintf(
    "while curl -s http://127.0.0.1:%d/pid; do :; done; sleep 0.2; touch '%s/slow.open'", server$port, server$marks
  )))
  withr::defer(opener$kill())
  dr_stop(graceful_timeout = 600)
  expect_identical(client_response(slow)$status, 200L)
  expect_false(any(is_alive(pids)))
  expect_false(dr_running())
  expect_error(dr_url(), class = "drover_error_not_running")
})

test_that("dr_stop() ends a worker that does not finish in time", {
  # at a gate that stays closed, and no time for it
  server <- serve_workers(pid_app(), 2L, timeouts = dr_timeouts(timeout = 600))
  pids <- dr_status()$pid
  slow <- raw_client(server$port)
  client_send(slow, request_bytes("/held/slow"))
  expect_true(marked(server, "slow"))
  dr_stop(graceful_timeout = 0.2)
  expect_false(any(is_alive(pids)))
})

test_that("a server may be started and stopped again and again, with and without workers", {
  app <- pid_app()
  for (workers in list(2L, 1L, c(1L, 2L))) {
    suppressMessages(dr_serve(app, port = 0L, block = FALSE, workers = workers, log = "none"))
    expect_true(dr_running())
    dr_stop()
    expect_false(dr_running())
  }
})

test_that("a pool grows while requests wait and shrinks when workers are unused", {
  server <- serve_workers(pid_app(), c(1L, 3L), check_unused = 0.1, max_age = 0.3)
  expect_identical(nrow(dr_status()), 1L)
  expect_length(unique(texts(fetch_held(server, "/held/all", "all", 3L, requests = 6L))), 3L)
  expect_true(within(function() nrow(dr_status()) == 1L))
})

test_that("a worker is replaced after max_requests, and no request is lost", {
  server <- serve_workers(pid_app(), 2L, max_requests = 20L)
  before <- dr_status()$pid
  # where nobody is slow, one worker may get nearly all of them
  expect_true(within(function() {
    expect_identical(fetch_many(server, "/pid", 50L), rep(200L, 50L))
    !any(before %in% dr_status()$pid)
  }))
})

test_that("callbacks of 'later' and promises run in workers", {
  skip_if_not_installed("promises")
  app <- dr_app()
  dr_get(app, "/promise", function(req) {
    promises::then(
      promises::promise(function(resolve, reject) later::later(function() resolve("kept"), 0.05)),
      function(value) paste(value, Sys.getpid())
    )
  })
  dr_get(app, "/held", function(req) {
    note("held-requests", "one")
    once_open("held", function() "opened")
  })
  dr_get(app, "/broken", function(req) {
    promises::promise(function(resolve, reject) later::later(function() reject("broken"), 0.05))
  })
  counted <- 0L
  count <- function() {
    counted <<- counted + 1L
    if (counted < 1000L) later::later(count, 0.01)
  }
  dr_on_worker_start(app, count)
  dr_get(app, "/count", function(req) as.character(counted))
  server <- serve_workers(app, 2L)
  answer <- fetch(server, "/promise")$text
  expect_match(answer, "^kept ")
  expect_true(as.integer(sub("kept ", "", answer)) %in% dr_status()$pid)
  expect_identical(fetch(server, "/broken")$status, 500L)
  # many at once in few workers: they wait together
  held <- raw_clients(10, server$port)
  for (client in held) client_send(client, request_bytes("/held"))
  expect_true(within(function() noted(server, "held-requests") == 10L))
  open_gate(server, "held")
  expect_identical(texts(lapply(held, client_response)), rep("opened", 10))
  # while idle, and while requests keep coming
  expect_true(within(function() as.integer(fetch(server, "/count")$text) > 20L))
})

test_that("warnings of callbacks are seen, though a worker is never at top level", {
  server <- local_script(c(
    "app <- dr_get(dr_app(), '/', function(req) 'ok')",
    "dr_on_worker_start(app, function() later::later(function() warning('take care')))",
    "dr_serve(app, port = 0L, workers = 2L, block = TRUE)"
  ))
  expect_true(within(function() sum(grepl("take care", server$log())) == 2L))
})

test_that("a body of any size reaches a worker, and so does its answer the client", {
  app <- dr_app()
  dr_post(app, "/echo", function(req) req$raw)
  server <- serve_workers(app, 2L, max_body = 3e7)
  body <- as.raw(rep_len(0:250, 2e7))
  file <- withr::local_tempfile()
  writeBin(body, file)
  type <- "Content-Type: application/octet-stream"
  expect_identical(http(dr_url(), "/echo", "-H", type, "--data-binary", paste0("@", file))$raw, body)
})

test_that("workers are the server's to control, and say so", {
  app <- dr_app()
  class_of <- function(code) class(tryCatch(code, error = identity))[[1L]]
  dr_get(app, "/control", function(req) list(
    stop = class_of(dr_stop()), reload = class_of(dr_reload()), url = class_of(dr_url()),
    serve = class_of(dr_serve(dr_app(), port = 0L, block = FALSE)), running = dr_running(), printed = format(app)[[1L]],
    interactive = interactive()
  ))
  server <- serve_workers(app)
  said <- jsonlite::fromJSON(fetch(server, "/control")$text)
  expect_identical(unlist(said[c("stop", "reload", "url")], use.names = FALSE), rep("drover_error_not_running", 3))
  expect_identical(said$serve, "drover_error_running")
  expect_true(said$running)
  expect_match(said$printed, "^<dr_app> 1 route")
  expect_false(said$interactive)
})

test_that("with start = \"spawn\" workers are fresh processes with what the session has", {
  assign("spawned_value", "from the session", globalenv())
  withr::defer(rm("spawned_value", envir = globalenv()))
  handler <- function(req) list(value = spawned_value, pid = Sys.getpid(), attached = "package:drover" %in% search())
  environment(handler) <- globalenv()
  app <- dr_get(dr_app(), "/", handler)
  hook <- function() spawned_value <<- paste(spawned_value, "and hook")
  server <- serve_workers(app, 2L, start = "spawn", on_worker_start = hook)
  said <- jsonlite::fromJSON(fetch(server, "/")$text)
  expect_identical(said$value, "from the session and hook")
  expect_true(said$pid %in% dr_status()$pid)
  expect_true(said$attached)
  # one process each, and none between them and the session
  expect_identical(vapply(dr_status()$pid, parent_of, 0L), rep(Sys.getpid(), 2L))
  saved <- list.files(tempdir(), "^drover-app-.*rds$", full.names = TRUE)
  expect_length(saved, 1L)
  expect_identical(format(file.mode(saved)), "600")
  dr_stop()
  expect_false(file.exists(saved))
})

test_that("an app that another process cannot have is refused by start = \"spawn\"", {
  # as a connection to a database is: memory of this process
  pointer <- attr(drover:::new_request(), "cell")
  app <- dr_get(dr_app(), "/", function(req) pointer)
  expect_argument_error(
    dr_serve(app, port = 0L, block = FALSE, workers = 2L, start = "spawn"),
    "start = \"spawn\" needs an app that can be saved",
    fixed = TRUE
  )
  expect_false(dr_running())
})
