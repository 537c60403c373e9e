# C handlers in worker processes of a session: crashes, data, reloads. What they answer is tested by the files
# test-cpp-answers.R and test-cpp-streams.R, in both places.

handlers_app <- function(...) {
  app <- dr_app()
  for (name in c(...)) {
    dr_get_cpp(app, paste0("/", name), "drover.handlers", name, interface = "drover")
    dr_get_cpp(app, paste0("/inline/", name), "drover.handlers", name, interface = "drover", inline = TRUE)
  }
  dr_get(app, "/pid", function(req) as.character(Sys.getpid()))
  app
}

ask <- function(server, path, frame = parent.frame()) {
  client <- raw_client(server$port, frame)
  client_send(client, request_bytes(path))
  client
}

test_that("a crash costs the requests of its process, and others go on", {
  local_handlers()
  server <- serve_workers(handlers_app("h_segfault", "h_abort", "h_exit", "h_text", "h_block"), 2L)
  here <- environment()
  for (name in c("h_segfault", "h_abort", "h_exit", "inline/h_segfault")) {
    # on both workers, one of which will crash
    gates <- paste(basename(name), startsWith(name, "inline"), 1:4, sep = "-")
    blocked <- lapply(paste0("/h_block?at=", gates), function(path) ask(server, path, here))
    pids <- vapply(gates, function(gate) as.integer(mark_text(server, gate)), 0L, USE.NAMES = FALSE)
    expect_length(unique(pids), 2L)
    expect_identical(fetch(server, paste0("/", name))$status, 502L, info = name)
    expect_identical(fetch(server, "/h_text")$text, "Hello, World!", info = name)
    expect_true(within(function() !all(is_alive(pids))))
    for (gate in gates) open_gate(server, gate)
    expected <- ifelse(is_alive(pids), 200L, 502L)
    expect_setequal(expected, c(200L, 502L))
    expect_identical(statuses(lapply(blocked, client_response)), expected, info = name)
    expect_true(within(function() nrow(dr_status()) == 2L && all(is_alive(dr_status()$pid))), info = name)
  }
  expect_identical(fetch(server, "/pid")$status, 200L)
})

test_that("R that is busy in every worker delays no C handler", {
  local_handlers()
  app <- handlers_app("h_text")
  dr_get(app, "/stand", function(req) {
    stand_at("gate")
    "stood"
  })
  server <- serve_workers(app, c(1L, 1L))
  standing <- ask(server, "/stand")
  expect_true(marked(server, "gate"))
  for (path in c("/h_text", "/inline/h_text")) expect_identical(fetch(server, path)$text, "Hello, World!")
  # nothing yet
  expect_false(client_fill(standing, 0))
  open_gate(server, "gate")
  expect_identical(client_response(standing)$text, "stood")
})

test_that("a pointer of the session is a copy in each worker, and a function makes one there", {
  local_handlers()
  app <- handlers_app("h_data")
  counter <- drover.handlers::new_counter()
  dr_get_cpp(app, "/given", "drover.handlers", "h_count", interface = "drover", data = counter)
  made_in <- function() as.character(Sys.getpid())
  dr_get_cpp(app, "/made", "drover.handlers", "h_data", interface = "drover", data = made_in)
  ready <- FALSE
  after_start <- function() if (ready) "after on_worker_start" else "before"
  dr_get_cpp(app, "/order", "drover.handlers", "h_data", interface = "drover", data = after_start)
  server <- serve_workers(app, c(1L, 1L), on_worker_start = function() ready <<- TRUE)
  expect_identical(fetch(server, "/given")$text, "1")
  expect_identical(fetch(server, "/given")$text, "2")
  expect_identical(drover.handlers::counter_value(counter), 0)
  expect_identical(fetch(server, "/made")$text, fetch(server, "/pid")$text)
  expect_identical(fetch(server, "/order")$text, "after on_worker_start")
})

test_that("data that cannot be made keeps the server from starting, with the reason", {
  local_handlers()
  app <- dr_app()
  make <- function() stop("no weights here")
  dr_get_cpp(app, "/x", "drover.handlers", "h_data", interface = "drover", data = make)
  for (workers in list(1L, 2L)) {
    error <- error_of(suppressMessages(dr_serve(app, port = 0L, block = FALSE, workers = workers, log = "none")))
    expect_s3_class(error, "drover_error_hook")
    expect_match(conditionMessage(error), "C handler of GET /x: `data` failed: no weights here")
    expect_false(dr_running())
  }
})

test_that("a reload takes over C routes", {
  local_handlers()
  app <- handlers_app("h_text")
  server <- serve_workers(app, 1:2)
  expect_identical(fetch(server, "/new")$status, 404L)
  dr_get_cpp(app, "/new", "drover.handlers", "h_json", interface = "drover", inline = TRUE)
  dr_reload()
  expect_true(idle_until(function() identical(fetch(server, "/new")$status, 200L)))
  expect_identical(fetch(server, "/h_text")$status, 200L)
})

test_that("fresh processes resolve functions anew, and need data that can be made there", {
  local_handlers()
  app <- handlers_app("h_text")
  dr_get_cpp(
    app, "/made", "drover.handlers", "h_count", interface = "drover", data = function() drover.handlers::new_counter()
  )
  server <- serve_workers(app, c(1L, 1L), start = "spawn")
  expect_identical(fetch(server, "/h_text")$text, "Hello, World!")
  expect_identical(fetch(server, "/made")$text, "1")
  dr_stop()
  given <- dr_app()
  counter <- drover.handlers::new_counter()
  dr_get_cpp(given, "/x", "drover.handlers", "h_count", interface = "drover", data = counter)
  expect_argument_error(
    dr_serve(given, port = 0L, block = FALSE, workers = 2L, start = "spawn", log = "none"),
    "pointer into this session's memory"
  )
})

test_that("an app in a file has C routes", {
  local_handlers()
  server <- run_workers(c(
    "dr_get_cpp(app, '/x/:id', 'drover.handlers', 'h_echo', interface = 'drover')",
    "dr_get_cpp_stream(app, '/s', 'drover.handlers', 'old_stream')"
  ))
  expect_identical(jsonlite::fromJSON(fetch(server, "/x/7")$text)$params, "7")
  expect_identical(fetch(server, "/s")$text, "data: 1\n\ndata: 2\n\ndata: 3\n\n")
})

test_that("a worker process has cpp_workers threads for C handlers", {
  local_handlers()
  for (threads in 1:2) {
    # who is to be refused is so soon, and who is not has time
    server <- serve_workers(
      handlers_app("h_block"), c(1L, 1L), cpp_workers = threads, queue_timeout = if (threads == 1L) 1 else 600
    )
    first <- ask(server, "/h_block?at=first")
    expect_true(marked(server, "first"))
    second <- ask(server, "/h_block?at=second")
    if (threads == 1L) {
      expect_identical(client_response(second)$status, 503L)
    } else {
      expect_true(marked(server, "second"))
    }
    expect_false(client_fill(first, 0))
    open_all_gates(server)
    expect_identical(client_response(first)$status, 200L)
    if (threads == 2L) expect_identical(client_response(second)$status, 200L)
    dr_stop()
  }
})
