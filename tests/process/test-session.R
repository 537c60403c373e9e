# The same from an R session: dr_serve() with several workers.

test("dr_serve(workers = 3): requests are spread, a kill costs one, Ctrl-C ends it in peace", function() {
  server <- serve_session("serve(workers = 3L)")
  pids <- wait_for_workers(server, 3)
  expect(!server$pid %in% as.integer(ask(server, "/pid")$body), "a handler runs in the session")
  load <- start_load(server, "/n/{n}", echo = TRUE, connections = 8)
  victim <- ask_later(server, "/held/victim")
  pid <- as.integer(mark_text(server, "victim"))
  send_signal(pid, tools::SIGKILL)
  expect(victim()$status == "502", "another status")
  wait_for_workers(server, 3, but = pid)
  expect_account(end_load(load))
  send_signal(server$pid, tools::SIGINT)
  expect(identical(exit_status(server), 0L), "another exit status")
})

test("a session that computes holds up no request, and one that ends without dr_stop() leaves nothing", function() {
  server <- serve_session(c(
    "dr_serve(app, port = 0L, block = FALSE, workers = 2L)",
    "while (!is_open('session')) sqrt(2)",
    "mark('computed')",
    "quit('no')"
  ))
  # all of them are answered while it computes
  expect_account(load(server, "/n/{n}", echo = TRUE, connections = 4, requests = 2000))
  expect(server$process$is_alive() && !file.exists(file.path(server$marks, "computed")), "it computes no more")
  open_gate(server, "session")
  expect(identical(exit_status(server), 0L), "another exit status")
})

test("KILL of the session: nothing of it is left", function() {
  server <- serve_session("serve(workers = 2L, timeout = 100)")
  wait_for_workers(server, 2)
  expect(ask(server, "/child")$status == "200", "no child")
  running <- ask_later(server, "/deaf")
  expect(marked(server, "begun"), "it does not begin")
  send_signal(server$pid, tools::SIGKILL)
  expect(have_ended(server$pid), "it lives")
  end_clients()
  # what ends by itself takes 100 s, longer than even a slow machine is waited for here
  left <- processes_left(10)
  expect(!length(left), "still there: ", paste(left, collapse = "; "))
})

test("the zygote of a session is killed: the session makes another one", function() {
  server <- serve_session("serve(workers = 2L)")
  old <- wait_for_workers(server, 2)
  zygote <- zygotes(server)
  load <- start_load(server, "/n/{n}", echo = TRUE, connections = 4)
  send_signal(zygote, tools::SIGKILL)
  expect(within(function() any(is_alive(setdiff(zygotes(server), c(zygote, old))))), "no new zygote")
  expect(ask(server, "/kill")$status == "502", "another status")
  expect(within(function() length(workers(server)) >= 1L), "no worker of the new zygote")
  expect_account(end_load(load))
})

test("an error at the start is a condition, and the session has no children left", function() {
  taken <- serve(workers = 1)
  ran <- run_to_end(c(file.path(R.home("bin"), "Rscript"), "--vanilla", write_app(c(
    "app <- dr_app()", "dr_get(app, '/', function(req) 'x')",
    "class_of <- function(code) tryCatch({ code; 'none' }, error = function(e) class(e))",
    sprintf("cat('port:', class_of(dr_serve(app, port = %dL, block = FALSE, workers = 2L)), '\\n')", taken$port),
    "hook <- function() stop('no database')",
    "cat('hook:', class_of(dr_serve(app, port = 0L, block = FALSE, workers = 2L, on_worker_start = hook)), '\\n')",
    "cat('workers:', class_of(dr_serve(app, port = 0L, block = FALSE, workers = c(3L, 1L))), '\\n')",
    "cat('none:', class_of(dr_serve(app, port = 0L, block = FALSE, workers = 0L)), '\\n')",
    "dr_serve(app, port = 0L, block = FALSE, workers = 2L)", "dr_stop()", "cat('served\\n')"
  ))), 60)
  expect(identical(ran$status, 0L), "exit status ", ran$status, ": ", paste(ran$log, collapse = "\n    "))
  for (line in c("port: .*drover_error_listen", "hook: .*drover_error_hook", "workers: .*drover_error_argument",
    "none: .*drover_error_argument", "served")) {
    expect(any(grepl(paste0("^", line), ran$log)), "not there: ", line, ", but:\n    ", paste(ran$log,
      collapse = "\n    "))
  }
})
