# Starting, stopping and sharing the session: what dr_serve() and dr_stop() hold, and what goes on beside them.
# Not here: what handlers do to the session (test-faults-session.R).

test_that("50 starts and stops in one session leave descriptors, threads and memory flat", {
  skip_without_proc()
  ran <- run_script(c(fetch_here_lines,
    "measure <- function() {",
    "  gc()",
    "  status <- readLines('/proc/self/status')",
    "  number <- function(name) as.numeric(gsub('\\\\D', '', grep(name, status, value = TRUE)))",
    "  c(fds = length(list.files('/proc/self/fd')), threads = number('^Threads'), rss = number('^VmRSS'), cells = gc()[1, 1])",
    "}",
    "app <- dr_app()",
    "dr_get(app, '/', function(req) 'ok')",
    "cycle <- function() {",
    "  dr_serve(app, port = 0L, block = FALSE, threads = 2L)",
    "  answer <- fetch_here(dr_url())",
    "  dr_stop()",
    "  stopifnot(identical(answer, 'ok'), !dr_running())",
    "}",
    "for (i in 1:30) cycle()",
    "before <- measure()",
    "for (i in 1:50) cycle()",
    "after <- measure()",
    "cat(sprintf('%s %.0f\\n', names(before), after - before), sep = '')"
  ))
  expect_identical(ran$status, 0L, info = paste(ran$stderr, collapse = "\n"))
  grown <- as.numeric(sub(".* ", "", ran$stdout))
  names(grown) <- sub(" .*", "", ran$stdout)
  expect_lte(grown[["fds"]], 0)
  expect_lte(grown[["threads"]], 0)
  expect_lt(grown[["rss"]], 5000)
  expect_lt(grown[["cells"]], 5000)
})

test_that("port 0 is a free port, reported by dr_url() and on the console", {
  ran <- run_script(c(fetch_here_lines,
    "app <- dr_app()",
    "dr_get(app, '/', function(req) paste('port', req$host))",
    "shown <- character()",
    "withCallingHandlers(dr_serve(app, port = 0L, block = FALSE),",
    "  message = function(m) shown <<- c(shown, conditionMessage(m)))",
    "port <- as.integer(sub('.*:', '', sub('/$', '', dr_url())))",
    "cat(port > 0, any(grepl(dr_url(), shown, fixed = TRUE)), fetch_here(dr_url()) == paste0('port 127.0.0.1:', port), '\\n')",
    "dr_stop()"
  ))
  expect_identical(ran$stdout, "TRUE TRUE TRUE ")
  expect_identical(ran$status, 0L)
})

test_that("a port in use is a classed error that leaves nothing behind", {
  other <- local_server({
    app <- dr_app()
    dr_get(app, "/", function(req) "other")
  })
  ran <- run_script(c(fetch_here_lines,
    "app <- dr_app()",
    "dr_get(app, '/', function(req) 'ok')",
    "dr_serve(app, port = 0L, block = FALSE)",
    "dr_stop()",
    "count <- function() c(length(list.files('/proc/self/fd')), length(list.files('/proc/self/task')))",
    "before <- count()",
    sprintf("port <- '%d'", other$port),
    "for (i in 1:5) error <- tryCatch(dr_serve(app, port = as.integer(port), block = FALSE),",
    "  drover_error_listen = identity)",
    "cat(class(error)[[1]], grepl(port, conditionMessage(error), fixed = TRUE), dr_running(), identical(count(), before), '\\n')",
    "dr_serve(app, port = 0L, block = FALSE)",
    "cat(fetch_here(dr_url()), '\\n')",
    "dr_stop()"
  ))
  expect_identical(ran$stdout, c("drover_error_listen TRUE FALSE TRUE ", "ok "))
  expect_identical(ran$status, 0L)
  expect_identical(fetch(other, "/")$text, "other")
})

test_that("dr_stop() lets a request in flight finish and takes no new one", {
  skip_if_not_installed("promises")
  ran <- run_script(c(
    "app <- dr_app()", "finish <- NULL", "is_big_asked <- FALSE",
    "dr_get(app, '/held', function(req) promises::promise(function(resolve, reject) {",
    "  finish <<- function() resolve('finished')",
    "}))",
    "dr_get(app, '/big', function(req) { is_big_asked <<- TRUE; strrep('x', 2e7) })",
    "dr_serve(app, port = 0L, block = FALSE, timeouts = dr_timeouts(timeout = 600, write_timeout = 600))",
    "url <- dr_url()",
    "ask <- processx::process$new('curl', c('-s', paste0(url, '/held')), stdout = '|')",
    "big <- processx::process$new('sh', c('-c', paste0('curl -s --limit-rate 20M ', url, '/big | wc -c')), stdout = '|')",
    "while (is.null(finish) || !is_big_asked) later::run_now(600)",
    # while dr_stop() waits
    "later::later(function() {",
    "  late <- processx::run('curl', c('-s', url), error_on_status = FALSE)",
    "  cat(late$status, ask$is_alive(), '\\n')",
    "  finish()",
    "})",
    "dr_stop(600)",
    "cat(dr_running(), '\\n')",
    "cat(ask$read_all_output(), '\\n')",
    "cat(trimws(big$read_all_output()), '\\n')",
    "late <- processx::run('curl', c('-s', url), error_on_status = FALSE)",
    "cat(late$status, '\\n')"
  ))
  expect_identical(ran$stdout, c("7 TRUE ", "FALSE ", "finished ", "20000000 ", "7 "))
  expect_identical(ran$status, 0L)
})

test_that("dr_stop() does not wait for a promise that nobody waits for any more", {
  skip_if_not_installed("promises")
  # all that could end it otherwise is further away than the end of the script
  ran <- run_script(c(
    "asked <- FALSE",
    "app <- dr_get(dr_app(), '/never', function(req) {",
    "  asked <<- TRUE",
    "  promises::promise(function(resolve, reject) NULL)",
    "}, timeout = 600)",
    "dr_serve(app, port = 0L, block = FALSE)",
    "ask <- processx::process$new('curl', c('-s', paste0(dr_url(), '/never')))",
    "while (!asked) later::run_now(600)",
    "invisible(ask$kill())",
    "dr_stop(600)",
    "cat('running', dr_running(), '\\n')"
  ))
  expect_identical(ran$stdout, "running FALSE ")
})

test_that("Ctrl-C on a blocking server stops it cleanly and runs the stop hooks", {
  server <- local_script(c(
    "app <- dr_app()",
    "dr_get(app, '/', function(req) 'ok')",
    "dr_on_stop(app, function() writeLines('hook'))",
    "tryCatch(dr_serve(app, port = 0L, block = TRUE), interrupt = function(e) writeLines('interrupted'))",
    "writeLines(paste('after', dr_running()))"
  ))
  expect_identical(fetch(server, "/")$text, "ok")
  tools::pskill(server$pid, tools::SIGINT)
  expect_true(within(function() !server$process$is_alive()))
  expect_identical(server$process$get_exit_status(), 0L)
  expect_true("hook" %in% server$out())
  expect_identical(tail(server$out(), 1), "after FALSE")
})

test_that("Ctrl-C works while requests keep coming", {
  server <- local_script(c(
    "app <- dr_app()",
    "dr_get(app, '/', function(req) 'ok')",
    "dr_serve(app, port = 0L, block = TRUE)",
    "writeLines('after')"
  ))
  load <- processx::process$new("sh", c("-c", sprintf(
    "while curl -s http://127.0.0.1:%d/; do :; done", server$port
  )), stdout = "|")
  withr::defer(load$kill())
  # they are coming
  expect_true(within(function() grepl("ok", load$read_output())))
  tools::pskill(server$pid, tools::SIGINT)
  expect_true(within(function() !server$process$is_alive()))
  # where it strikes decides how it ends; a crash it must not be
  expect_true(server$process$get_exit_status() %in% c(0L, 1L, 130L))
})

test_that("SIGTERM ends the process", {
  server <- local_script(c(
    "app <- dr_app()", "dr_get(app, '/', function(req) 'ok')", "dr_serve(app, port = 0L, block = TRUE)"
  ))
  expect_identical(fetch(server, "/")$text, "ok")
  tools::pskill(server$pid, tools::SIGTERM)
  expect_true(within(function() !server$process$is_alive()))
  expect_error(suppressWarnings(raw_client(server$port)))
})

test_that("a session that ends without dr_stop() ends at once", {
  ran <- run_script(c("app <- dr_app()", "dr_get(app, '/', function(req) 'ok')",
    "dr_serve(app, port = 0L, block = FALSE)", "writeLines('last line')"))
  expect_identical(ran$status, 0L)
  expect_identical(ran$stdout, "last line")
})

test_that("the loop that older programs run serves: while (TRUE) later::run_now(1)", {
  # each request must wake the loop, not wait for its time to pass, which is 600 s here
  server <- local_script(c(
    "app <- dr_app()",
    "ticks <- 0",
    "tick <- function() { ticks <<- ticks + 1; later::later(tick, 0.02) }",
    "dr_get(app, '/', function(req) 'ok')",
    "dr_get(app, '/tick', function(req) { tick(); 'ticking' })",
    "dr_get(app, '/ticks', function(req) as.character(ticks))",
    "dr_serve(app, port = 0L, block = FALSE)",
    "while (TRUE) later::run_now(600)"
  ))
  expect_true(all(fetch_many(server, "/", 200) == 200L))
  for (i in 1:20) expect_identical(fetch(server, "/")$text, "ok")
  expect_identical(fetch(server, "/tick")$text, "ticking")
  expect_true(within(function() as.numeric(fetch(server, "/ticks")$text) > 5))
})

test_that("later callbacks and promises run under load and while dr_serve() blocks", {
  skip_if_not_installed("promises")
  server <- local_server({
    app <- dr_app()
    ticks <- 0L
    tick <- function() {
      ticks <<- ticks + 1L
      later::later(tick, 0.01)
    }
    tick()
    dr_get(app, "/busy", function(req) {
      end <- proc.time()[["elapsed"]] + 0.005
      while (proc.time()[["elapsed"]] < end) NULL
      as.character(ticks)
    })
    dr_get(app, "/ticks", function(req) as.character(ticks))
    dr_get(app, "/later", function(req) {
      promises::promise(function(resolve, reject) later::later(function() resolve("later"), 0.05))
    })
  })
  ticks <- function() as.integer(fetch(server, "/ticks")$text)
  before <- ticks()
  # idle
  expect_true(within(function() ticks() > before + 10))
  # under load: clients that keep R's queue from ever being empty, for a second at least. R looks for callbacks every
  # 5 ms, however long handlers take
  load <- raw_clients(4, server$port)
  bytes <- rep(request_bytes("/busy"), 50)
  for (client in load) client_send(client, bytes)
  answers <- lapply(load, function(client) lapply(1:50, function(i) client_response(client)))
  seen <- as.integer(texts(unlist(answers, FALSE)))
  expect_length(seen, 200L)
  expect_gt(diff(range(seen)), 20L)
  for (client in load) client_send(client, bytes)
  expect_identical(fetch(server, "/later")$text, "later")
  for (client in load) expect_identical(client_response(client)$status, 200L)
})

test_that("an R console stays usable while it serves, and Ctrl-C gives the prompt back", {
  skip_on_os("windows")
  console <- local_console()
  console$write("library(drover); app <- dr_app(); x <- 'start'; dr_get(app, '/', function(req) x)")
  console$write("dr_serve(app, port = 0L, block = FALSE)")
  expect_true(console$shows("listening on http://127.0.0.1:[0-9]+"), info = console$screen())
  port <- as.integer(sub(".*listening on http://127.0.0.1:([0-9]+).*", "\\1", console$screen()))
  server <- list(port = port)
  # the prompt is idle: nobody types, nobody calls later
  expect_identical(fetch(server, "/")$text, "start")
  console$write("x <- 'changed'; cat('sum', 40 + 2, '\\n')")
  expect_true(console$shows("sum 42"), info = console$screen())
  expect_identical(fetch(server, "/")$text, "changed")
  # an interrupt at the prompt ends nothing
  tools::pskill(console$process$get_pid(), tools::SIGINT)
  expect_identical(fetch(server, "/")$text, "changed")
  console$write("dr_stop(); cat('stopped', dr_running(), '\\n')")
  expect_true(console$shows("stopped FALSE"), info = console$screen())
  # blocking: Ctrl-C as the terminal sends it
  console$write("dr_serve(app, port = 0L, block = TRUE)")
  expect_true(console$shows("stopped FALSE.*listening on http://127.0.0.1:[0-9]+"), info = console$screen())
  port <- as.integer(sub(".*listening on http://127.0.0.1:([0-9]+).*", "\\1", console$screen()))
  expect_identical(fetch(list(port = port), "/")$text, "changed")
  console$process$write_input("\003")
  console$write("cat('back', dr_running(), '\\n')")
  expect_true(console$shows("back FALSE"), info = console$screen())
  expect_true(console$process$is_alive())
})

test_that("a script serves until it is stopped, without being told to", {
  server <- local_script(c(
    "app <- dr_app()", "dr_get(app, '/', function(req) 'ok')", "dr_serve(app, port = 0L)", "writeLines('after')"
  ))
  expect_identical(http(paste0("http://127.0.0.1:", server$port))$body, "ok")
  expect_true(server$process$is_alive())
  tools::pskill(server$process$get_pid(), tools::SIGINT)
  expect_true(within(function() !server$process$is_alive()))
  expect_identical(server$out(), "after")
})

test_that("dr_serve() and dr_reload() replace the app of a session, with the port open and no request failed", {
  server <- local_script(c(
    "version <- function(text) {", "  app <- dr_app()", "  dr_on_stop(app, function() writeLines(paste('bye', text)))",
    "  dr_get(app, '/', function(req) text)", "  dr_get(app, '/reload', function(req) {",
    "    dr_get(app, '/added', function(req) 'added')", "    dr_reload()", "    'reloading'", "  })",
    "  dr_get(app, '/next', function(req) {",
    "    later::later(function() { mark('replacing'); serve('two', block = FALSE) }, 0.01)", "    'soon'", "  })",
    "  dr_get(app, '/held', function(req) once_open('held', function() paste('held', text)))", "  app", "}",
    "serve <- function(text, ...) dr_serve(version(text), port = 0L, timeouts = far, ...)",
    "far <- dr_timeouts(timeout = 600, graceful_timeout = 600)", "serve('one')"
  ))
  url <- paste0("http://127.0.0.1:", server$port)
  expect_identical(http(url, "/added")$status, 404L)
  expect_identical(http(url, "/reload")$body, "reloading")
  expect_true(within(function() identical(http(url, "/added")$body, "added")))
  held <- raw_client(server$port)
  client_send(held, request_bytes("/held"))
  expect_true(marked(server, "held"))
  expect_identical(http(url, "/next")$body, "soon")
  expect_true(marked(server, "replacing"))
  # those that come now are of the one app or wait for the other
  waiting <- raw_clients(10, server$port)
  for (client in waiting) {
    client_send(client, request_bytes("/"))
    let_pass(0.02)
  }
  expect_false(client_fill(held, 0) || held$closed)
  open_gate(server, "held")
  expect_identical(client_response(held)$text, "held one")
  expect_true(all(texts(lapply(waiting, client_response)) %in% c("one", "two")))
  expect_true(within(function() identical(http(url)$body, "two")))
  expect_true(within(function() identical(server$out(), "bye one")))
})

test_that("dr_serve() again with workers gives them the other app; with other settings it starts anew", {
  app_of <- function(text) dr_get(dr_app(), "/", function(req) text)
  withr::defer(dr_stop())
  suppressMessages(dr_serve(app_of("one"), port = 0L, workers = 2L, block = FALSE, log = "none"))
  url <- dr_url()
  expect_message(
    dr_serve(app_of("two"), port = 0L, workers = 2L, block = FALSE, log = "none"), "has the app as it is now"
  )
  expect_identical(c(dr_url(), http(url)$body), c(url, "two"))
  broken <- dr_on_worker_start(app_of("three"), function() stop("no"))
  expect_error(
    dr_serve(broken, port = 0L, workers = 2L, block = FALSE, log = "none"), class = "drover_error_reload"
  )
  expect_identical(http(url)$body, "two")
  dr_reload()
  expect_identical(http(url)$body, "two")
  expect_message(
    dr_serve(app_of("four"), port = 0L, workers = 2L, block = FALSE, log = "none", timeout = 9), "the settings are others"
  )
  expect_identical(http(dr_url())$body, "four")
})

test_that("dr_serve() that replaces an app and blocks serves the new one until it is stopped", {
  server <- local_script(c(
    "app_of <- function(text) dr_get(dr_app(), '/', function(req) text)",
    "dr_serve(app_of('one'), port = 0L, block = FALSE)",
    "dr_serve(app_of('two'), port = 0L, block = TRUE)",
    "writeLines('done')"
  ))
  url <- paste0("http://127.0.0.1:", server$port)
  expect_true(within(function() identical(http(url)$body, "two")))
  tools::pskill(server$process$get_pid(), tools::SIGTERM)
  expect_true(within(function() !server$process$is_alive()))
  expect_identical(server$process$get_exit_status(), 0L)
  expect_identical(server$out(), "done")
})

test_that("Ctrl-C is never lost, whichever of the server's own code it meets", {
  ran <- run_script(c(
    "app <- dr_app()",
    "dr_serve(app, port = 0, block = FALSE)",
    # what R fetches when it is called first is not to be what an interrupt meets: R would never fetch it again
    "invisible(drover:::serve(drover:::modes$idle))",
    # R takes an interrupt with one of the next thousand evaluations: here with each of those that it takes to serve
    "press_and_serve <- function(k) tryCatch({",
    "  tools::pskill(Sys.getpid(), tools::SIGINT)",
    "  lapply(seq_len(k), identity)",
    "  as.character(drover:::serve(drover:::modes$idle))",
    "}, interrupt = function(e) 'caught')",
    "outcomes <- vapply(0:1200, function(k) tryCatch(press_and_serve(k), interrupt = function(e) 'caught'), '')",
    "cat('seen', sum(outcomes == drover:::interrupted), 'caught', sum(outcomes == 'caught'), 'of', length(outcomes), '\\n')",
    "dr_stop()"
  ))
  output <- paste(c(ran$stdout, ran$stderr), collapse = "\n")
  counts <- as.integer(regmatches(output, regexec("seen (\\d+) caught (\\d+) of (\\d+)", output))[[1L]][-1L])
  expect_identical(counts[[1L]] + counts[[2L]], counts[[3L]], info = output)
  expect_true(all(counts[1:2] > 0L), info = output)
})

test_that("a script whose server was ended by a signal ends when it waits, after what stands before", {
  waits <- c(later = "repeat later::run_now(3600)", sleep = "while (TRUE) Sys.sleep(3600)")
  for (workers in 1:2) for (wait in names(waits)) for (signal in c(tools::SIGTERM, tools::SIGINT)) {
    server <- local_script(c(
      "app <- dr_app()", "dr_get(app, '/', function(req) 'ok')", "dr_on_stop(app, function() writeLines('hook'))",
      sprintf("dr_serve(app, port = 0L, workers = %dL)", workers),
      "writeLines(paste('after', dr_running()))", waits[[wait]]
    ))
    expect_identical(fetch(server, "/")$text, "ok")
    tools::pskill(server$pid, signal)
    expect_true(within(function() !server$process$is_alive()), info = paste(workers, wait, signal))
    expect_identical(server$process$get_exit_status(), 0L)
    expect_identical(tail(server$out(), 2L), c("hook", "after FALSE"))
  }
})

test_that("a server that blocks does without 'later', whose load takes as long as all else, until code has it", {
  for (workers in 1:2) {
    server <- local_script(c(
      "app <- dr_app()", "dr_get(app, '/loaded', function(req) format(isNamespaceLoaded('later')))",
      "dr_get(app, '/promise', function(req) {",
      "  promises::promise(function(resolve, reject) later::later(function() resolve('kept'), 0.01))", "})",
      "dr_get(app, '/nested', function(req) {",
      "  done <- FALSE", "  later::later(function() done <<- TRUE, 0.01)", "  while (!done) later::run_now(1)", "  'nested'",
      "})",
      sprintf("dr_serve(app, port = 0L, workers = %dL)", workers), "writeLines(format(isNamespaceLoaded('later')))"
    ))
    expect_identical(fetch(server, "/loaded")$text, "FALSE")
    if (workers == 1L) for (path in c("/promise", "/nested", "/promise", "/loaded")) {
      expect_identical(fetch(server, path)$text, c("/promise" = "kept", "/nested" = "nested", "/loaded" = "TRUE")[[path]])
    }
    tools::pskill(server$pid, tools::SIGTERM)
    expect_true(within(function() !server$process$is_alive()))
    expect_identical(tail(server$out(), 1L), format(workers == 1L))
  }
})

test_that("a script that was told dr_stop(), or serves again, goes on", {
  server <- local_script(c(
    "app <- dr_app()", "dr_get(app, '/', function(req) 'ok')",
    "dr_get(app, '/stop', function(req) { later::later(dr_stop); 'stops' })",
    "dr_serve(app, port = 0L)", "Sys.sleep(0.01)", "later::run_now(0)", "writeLines('goes on')",
    "dr_serve(app, port = 0L)"
  ))
  expect_identical(fetch(server, "/stop")$text, "stops")
  expect_true(within(function() "goes on" %in% server$out()))
})
