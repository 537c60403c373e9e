# dr_state(): values that all workers of a server see, in every way of starting.

state_app <- function(more = NULL) {
  write_app(c(
    "state <- dr_state('test')", "state$add('loaded')", "app <- dr_app()",
    "dr_on_worker_start(app, function() dr_state('test')$add('workers'))",
    "dr_use(app, function(req, nxt) { state$add('seen'); nxt() })",
    "dr_get(app, '/value/:key', function(req, key) list(value = state$get(key)))",
    "dr_get(app, '/add/:key', function(req, key) list(value = state$add(key), pid = Sys.getpid()))",
    "dr_post(app, '/set/:key', function(req, key) { state$set(key, req$json); 'set' })",
    "dr_get(app, '/die/:key', function(req, key) repeat {",
    "  state$add(key); state$set('list', list(key, stats::runif(50))); state$delete('list')",
    "})",
    "dr_get(app, '/full', function(req) {",
    "  class(tryCatch(for (i in 1:100) state$set(paste0('f', i), i), error = identity))[[1]]",
    "})",
    "dr_get(app, '/long', function(req) {",
    "  tryCatch(state$set('long', strrep('x', 1e5)), error = conditionMessage)",
    "})",
    "dr_ws(app, '/ws', on_message = function(conn, msg) dr_ws_send(conn, as.character(state$add('messages'))))",
    more, "app"
  ))
}

state_value <- function(server, path) json(ask(server, path)$body)$value

test_every_way("what one handler sets, all see: the file, hooks, middleware and handlers", function(start) {
  server <- start(state_app())
  answer <- ask(server, "/set/list", "-H", "Content-Type: application/json", "-d", "{\"a\":[1,2]}")
  expect(answer$body == "set", "not set: ", answer$body)
  expect(identical(state_value(server, "/value/list"), list(a = 1:2)), "another value")
  expect(state_value(server, "/value/loaded") >= 1, "what the file has set is gone")
  expect(state_value(server, "/value/workers") >= 1, "what the hook has set is gone")
  expect(state_value(server, "/value/seen") == 5, "middleware has counted ", state_value(server, "/value/seen"))
})

test("increments of all workers count, and outlive a reload", function() {
  server <- serve(state_app(), workers = "3-3", metrics = TRUE)
  wait_for_workers(server, 3)
  account <- load(server, "/add/n", connections = 16, requests = 3000)
  expect_account(account)
  expect(state_value(server, "/value/n") == 3000, "they count to ", state_value(server, "/value/n"))
  before <- state_value(server, "/value/loaded")
  old <- workers(server)
  tools::pskill(server$pid, tools::SIGHUP)
  expect(within(function() length(intersect(workers(server), old)) == 0L), "it does not reload")
  expect(state_value(server, "/value/n") == 3000, "the reload has lost them")
  # an app of the session is forked or copied again, and not loaded
  loads <- if (grepl("^dr_serve", style)) before else before + 1
  expect(state_value(server, "/value/loaded") >= loads, "the file has another state")
  figures <- scrape(server)
  expect(figure(figures, "drover_state_entries") >= 3, "too few entries")
  expect(figure(figures, "drover_state_bytes") >= 3 * 128, "too few bytes")
})

test("workers that are killed amid changes leave the state whole, and the others go on", function() {
  server <- serve(state_app(), workers = "4-4", timeout = 600)
  wait_for_workers(server, 4)
  for (round in 1:5) {
    # all but one are at it
    busy <- lapply(1:3, function(i) ask_later(server, paste0("/die/n", i)))
    counted <- function(i) state_value(server, paste0("/value/n", i))
    expect(within(function() all(vapply(1:3, function(i) isTRUE(counted(i) > 100), NA))), "they do not count")
    pids <- workers(server)
    free <- json(ask(server, "/add/asked")$body)$pid
    tools::pskill(setdiff(pids, free), tools::SIGKILL)
    for (wait in busy) expect(wait()$status == "502", "another status")
    before <- vapply(1:3, counted, 0)
    expect(all(before == floor(before)), "a torn count")
    expect(state_value(server, "/add/n1") == before[[1L]] + 1, "it does not go on from there")
    expect(state_value(server, "/value/asked") == round, "another has changed")
    for (i in 1:3) ask(server, paste0("/set/n", i), "-H", "Content-Type: application/json", "-d", "0")
    expect(within(function() length(setdiff(workers(server), pids)) == 3L), "they are not replaced")
  }
})

test_every_worker("what is too much is an error that names the limit", function(start) {
  server <- start(state_app(), max_state_entries = 20L, max_state_value = "1kB")
  expect(ask(server, "/full")$body == "drover_error_full", ask(server, "/full")$body)
  said <- ask(server, "/long")$body
  expect(grepl("may take 1000: over `max_state_value` = 1000", said, fixed = TRUE), said)
  expect(!is.null(state_value(server, "/value/f1")), "what was there is gone")
})

test_every_worker("WebSockets and tasks see it, too", function(start) {
  server <- start(state_app(c(
    "library(promises)",
    "dr_get(app, '/task', function(req) {",
    "  then(dr_async(function() dr_state('test')$add('tasks')), function(n) list(value = n))",
    "})"
  )))
  expect(state_value(server, "/task") == 1, "another number")
  expect(state_value(server, "/value/tasks") == 1, "the handler does not see what the task has done")
  socket <- ws(server, "/ws")
  for (n in 1:3) expect(identical(ws_ask(socket, "next"), as.character(n)), "another message")
  expect(state_value(server, "/value/messages") == 3, "handlers do not see what WebSockets have done")
})

test_every_way("a handler may be the first that has a state, and outgrow what there is of memory", function(start) {
  server <- start(write_app(c(
    "app <- dr_app()",
    "dr_get(app, '/first', function(req) list(value = dr_state('late')$add('n')))",
    "dr_get(app, '/grow', function(req) {",
    "  for (i in 1:40) dr_state('late')$set(paste0('k', i), strrep('x', 6e4))",
    "  list(value = nchar(dr_state('late')$get('k40')))",
    "})", "app"
  )))
  expect(identical(c(state_value(server, "/first"), state_value(server, "/first")), 1:2), "another number")
  expect(state_value(server, "/grow") == 6e4, "another value")
})
