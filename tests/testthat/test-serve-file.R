# Apps in files: dr_run(). What a file may look like is in test-load-app.R.

test_that("a file is served by processes that load it, not by the session", {
  server <- run_workers(c(
    "only_in_workers <- 'loaded'", "dr_get(app, '/', function(req) paste(only_in_workers, Sys.getpid()))"
  ))
  answer <- strsplit(fetch(server, "/")$text, " ")[[1]]
  expect_identical(answer[[1]], "loaded")
  expect_true(as.integer(answer[[2]]) %in% dr_status()$pid)
  expect_false(exists("only_in_workers", envir = globalenv()))
  expect_identical(sort(names(formals(dr_run))), sort(c("file", "kind", "args", setdiff(names(formals(dr_serve)), "app"))))
})

test_that("the banner says how many workers and routes there are", {
  # whatever the file is called
  file <- withr::local_tempfile(pattern = "an app's \"file\" $HOME \u00e9 ", fileext = ".R")
  write_app(file, "dr_get(app, '/', function(req) 'x')")
  withr::defer(dr_stop())
  expect_message(
    dr_run(file, port = 0L, block = FALSE, log = "none"),
    "^drover listening on http://127.0.0.1:[0-9]+ \\(threads=1, workers=1-3, routes=1, cpp_routes=0, static=0\\)\n$"
  )
})

test_that("hooks run where the file is loaded: once before the workers, in each worker, and at the end", {
  notes <- withr::local_tempfile()
  note <- sprintf("function() cat(paste0('%%s ', Sys.getpid(), '\\n'), file = '%s', append = TRUE)", notes)
  server <- run_workers(c(
    sprintf(paste0("dr_on_start(app, ", note, ")"), "start"), sprintf(paste0("dr_on_stop(app, ", note, ")"), "stop"),
    sprintf(paste0("dr_serve(app, on_worker_start = ", note, ", port = 1)"), "worker"),
    "dr_get(app, '/', function(req) 'x')"
  ), on_worker_stop = eval(str2lang(sprintf(note, "bye"))))
  workers <- dr_status()$pid
  zygote <- parent_of(workers[[1]])
  dr_stop()
  expect_true(within(function() any(grepl("^stop", readLines(notes)))))
  lines <- trimws(readLines(notes))
  expect_identical(lines[[1]], paste("start", zygote))
  expect_setequal(lines[2:3], paste("worker", workers))
  expect_setequal(lines[4:5], paste("bye", workers))
  expect_identical(lines[[6]], paste("stop", zygote))
})

test_that("dr_reload() reads the file again, and keeps the old code when the new does not load", {
  server <- run_workers(c("said <- 'one'", "dr_get(app, '/', function(req) said)"))
  write_app(server$file, c("said <- 'two'", "dr_get(app, '/', function(req) said)"))
  expect_identical(fetch(server, "/")$text, "one")
  dr_reload()
  expect_identical(fetch(server, "/")$text, "two")
  write_app(server$file, c("said <- 'three'", "dr_get(app, '/', function(req) said"))
  expect_error(dr_reload(), "line [0-9]+, column [0-9]+: unexpected", class = "drover_error_reload")
  write_app(server$file, c("", "stop('not today')"))
  expect_error(dr_reload(), "line 4: not today", class = "drover_error_reload")
  expect_identical(fetch(server, "/")$text, "two")
  expect_identical(dr_status()$generation, c(2L, 2L))
})

test_that("packages that a handler loads work in its worker, 'later' and promises among them", {
  skip_if_not_installed("promises")
  server <- run_workers(c(
    "dr_get(app, '/loaded', function(req) isNamespaceLoaded('later'))",
    "dr_get(app, '/promise', function(req) {",
    "  promises::promise(function(resolve, reject) later::later(function() resolve('kept'), 0.1))", "})"
  ))
  expect_identical(fetch(server, "/loaded")$text, "false")
  expect_identical(texts(fetch_all(server, rep("/promise", 4))), rep("kept", 4))
  expect_identical(fetch(server, "/promise")$text, "kept")
})

test_that("a zygote that dies is started again, and so are workers after that", {
  server <- run_workers("dr_get(app, '/', function(req) as.character(Sys.getpid()))")
  pids <- dr_status()$pid
  tools::pskill(parent_of(pids[[1]]), tools::SIGKILL)
  expect_identical(fetch(server, "/")$status, 200L)
  tools::pskill(pids[[1]], tools::SIGKILL)
  expect_true(within(function() {
    status <- dr_status()
    nrow(status) == 2L && !pids[[1]] %in% status$pid && all(status$state == "idle")
  }))
  expect_identical(statuses(fetch_all(server, rep("/", 4))), rep(200L, 4))
})

test_that("with start = \"spawn\" each worker loads the file itself", {
  server <- run_workers(c(
    "loaded_by <- Sys.getpid()", "dr_get(app, '/', function(req) as.character(loaded_by == Sys.getpid()))"
  ), start = "spawn")
  expect_identical(texts(fetch_all(server, rep("/", 4))), rep("TRUE", 4))
})

test_that("a file of plumber may be read without the package, which has R start with a larger heap", {
  skip_if_not_installed("plumber")
  file <- withr::local_tempfile(fileext = ".R", lines = c(
    "#* @get /", "#* @serializer text",
    "function() isNamespaceLoaded('plumber')"
  ))
  withr::defer(dr_stop())
  for (kind in c("auto", "annotations")) {
    dr_run(file, port = 0L, workers = 1L, kind = kind, block = FALSE, log = "none")
    answer <- readLines(dr_url(), warn = FALSE)
    expect_identical(answer, if (kind == "auto") "TRUE" else "FALSE")
    dr_stop()
    # an app does not see how its R was started
    source <- jsonlite::fromJSON(drover:::program_source(file, drover:::heap_for(file, kind)))
    expect_identical("--min-nsize=1000k" %in% source$args, kind == "auto")
  }
})

test_that("what cannot be served is one classed error, and nothing is left running", {
  file <- withr::local_tempfile(fileext = ".R")
  expect_argument_error(dr_run(file), "`file` must be the path of a file or folder that exists")
  expect_error(dr_run(withr::local_tempdir(), port = 0L, log = "none"), "it is empty", class = "drover_error_load")
  expect_argument_error(dr_run(file, kind = "other"), "`kind` must be \"auto\", \"script\"")
  expect_argument_error(dr_run(1), "`file` must be a single string")
  writeLines("x <- (", file)
  expect_argument_error(dr_run(file, workers = 0), "`workers` must be")
  expect_argument_error(dr_run(file, mode = 1), "`mode` is not an argument of dr_run()", fixed = TRUE)
  expect_error(
    dr_run(file, port = 0L, log = "none"), "line 2, column 0: unexpected end of input", class = "drover_error_load"
  )
  write_app(file, "dr_get(app, '/', function(req) 'x')")
  expect_error(
    dr_run(file, port = 0L, log = "none", on_worker_start = function() stop("no database")), "no database",
    class = "drover_error_worker"
  )
  server <- serve_workers(pid_app())
  expect_error(dr_run(file, port = 0L), class = "drover_error_running")
  dr_stop()
  expect_false(dr_running())
  expect_length(list.files(tempdir(), "^drover-hooks-"), 0L)
})

test_that("dr_run() blocks in a script until SIGTERM, and the workers go with it when it is killed", {
  file <- withr::local_tempfile(fileext = ".R")
  write_app(file, "dr_get(app, '/', function(req) as.character(Sys.getpid()))")
  lines <- c(sprintf("dr_run('%s', port = 0L, workers = 2L)", file), "writeLines(paste('after', dr_running()))")
  server <- local_script(lines)
  expect_match(fetch(server, "/")$text, "^[0-9]+$")
  tools::pskill(server$pid, tools::SIGTERM)
  expect_true(within(function() !server$process$is_alive()))
  expect_identical(server$out(), "after FALSE")

  server <- local_script(lines)
  worker <- as.integer(fetch(server, "/")$text)
  zygote <- parent_of(worker)
  tools::pskill(server$pid, tools::SIGKILL)
  expect_true(within(function() !any(is_alive(c(worker, zygote)))))
})

test_that("the program is where dr_cli_path() says", {
  expect_identical(dr_cli_path(), system.file("bin", "drover", package = "drover"))
  expect_identical(file.access(dr_cli_path(), 1L), c(0L), ignore_attr = TRUE)
})

test_that("dr_serve() takes the place of a server of dr_run(), and dr_run() says what to do where one runs", {
  file <- withr::local_tempfile(fileext = ".R")
  write_app(file, c("dr_get(app, '/', function(req) 'of a file')", "app"))
  withr::defer(dr_stop())
  suppressMessages(dr_run(file, port = 0L, workers = 1L, block = FALSE, log = "none"))
  expect_identical(http(dr_url())$body, "of a file")
  expect_error(dr_run(file, port = 0L), "call dr_stop() first, or dr_reload() to read its file again", fixed = TRUE)
  app <- dr_get(dr_app(), "/", function(req) "of the session")
  expect_message(
    expect_message(
      dr_serve(app, port = 0L, workers = 2L, block = FALSE, log = "none"),
      "the server of dr_run() stops, and one for this app starts", fixed = TRUE
    ), "listening on"
  )
  expect_identical(http(dr_url())$body, "of the session")
  expect_error(dr_run(file, port = 0L), "call dr_stop\\(\\) first$")
})
