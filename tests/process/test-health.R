# /livez and /readyz, for balancers: answered without R, and the truth about it.

health_app <- function() write_app(c(
  "app <- dr_app()",
  "dr_get(app, '/text', function(req) 'text')",
  "dr_get(app, '/readyz', function(req) 'of the app')",
  "dr_get(app, '/held', function(req) { stand_at('gate'); 'let go' })",
  "app"
))

expect_unready <- function(server, reason) {
  answer <- ask(server, "/readyz")
  expect(answer$status == "503" && answer$body == reason, "not `", reason, "`: ", answer$status, " ", answer$body)
  live <- ask(server, "/livez")
  expect(live$status == "200", "/livez: ", live$status)
}

test_every_worker("a server says that it lives, and whether it is ready, however busy R is", function(start) {
  server <- start(health_app(), health = TRUE, max_queue = 1L, timeout = 600)
  for (path in c("/livez", "/readyz")) {
    answer <- ask(server, path)
    expect(answer$status == "200" && answer$body == "ok", path, ": ", answer$status, " ", answer$body)
    expect(field(answer, "cache-control") == "no-store", path, " may be stored")
    expect(ask(server, path, "-I")$status == "200", "HEAD ", path)
    post <- ask(server, path, "-d", "x")
    expect(post$status == "405" && field(post, "allow") == "GET, HEAD", "POST ", path, ": ", post$status)
  }
  running <- ask_later(server, "/held")
  expect(marked(server, "gate"), "it does not begin")
  expect(ask(server, "/readyz")$status == "200", "a request is no reason not to be ready")
  waiting <- ask_later(server, "/text")
  expect(within(function() ask(server, "/readyz")$status == "503"), "it is ready, with a full queue")
  expect_unready(server, "the queue is full")
  expect(!is_over(running) && !is_over(waiting), "R was not busy")
  open_gate(server, "gate")
  expect(running()$body == "let go" && waiting()$body == "text", "a request was lost")
  expect(ask(server, "/readyz")$status == "200", "it is not ready any more")
})

test_every_worker("the paths are the app's unless the setting says otherwise", function(start) {
  server <- start(health_app())
  expect(ask(server, "/livez")$status == "404", "/livez is answered")
  expect(ask(server, "/readyz")$body == "of the app", "/readyz is not the app's")
}, of = c("the session", "drover serve"))

test_every_worker("for drain_delay seconds only /readyz changes, and a second signal ends that", function(start) {
  server <- start(health_app(), drain_delay = 1)
  began <- Sys.time()
  send_signal(server$pid, tools::SIGTERM)
  expect(identical(exit_status(server), 0L), "it does not end in peace")
  expect(Sys.time() - began >= 1, "it has not waited")

  server <- start(health_app(), health = TRUE, drain_delay = 600)
  send_signal(server$pid, tools::SIGTERM)
  expect(within(function() ask(server, "/readyz")$status == "503"), "it is ready")
  expect_unready(server, "the server is ending")
  expect(ask(server, "/text")$body == "text", "a new connection is not answered")
  # within half a second a second signal is taken for the first, as terminals may send it twice
  let_pass(0.6)
  send_signal(server$pid, tools::SIGTERM)
  expect(!is.na(exit_status(server)), "the second signal does not end it")
})

test("without a worker it is not ready", function() {
  server <- serve(health_app(), health = TRUE, workers = "1")
  zygote <- zygotes(server)
  send_signal(zygote, 19L) # STOP: nobody forks the next worker
  send_signal(workers(server), tools::SIGKILL)
  expect(within(function() ask(server, "/readyz")$status == "503"), "it is ready")
  expect_unready(server, "no worker is ready")
  send_signal(zygote, 18L) # CONT
  expect(within(function() ask(server, "/readyz")$status == "200"), "it is not ready again")
}, ways = c(1L, 2L, 3L))
