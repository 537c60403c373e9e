# Short requests and long ones: how they pass, and the one worker more.

# Those of `styles` whose workers are forks.
forking <- 1:3

# Holds the two workers of a server with requests that wait at the gates "one" and "two", and has a third one wait for a
# worker. They, by these names.
hold_two_workers <- function(server) {
  held <- list()
  for (name in c("one", "two")) {
    held[[name]] <- ask_later(server, paste0("/held/", name))
    expect(marked(server, name), "it does not begin")
  }
  held$three <- ask_later(server, "/held/three")
  held
}

is_marked <- function(server, name) file.exists(file.path(server$marks, name))

# All of these are answered, as soon as the gates are open.
expect_answers <- function(server, requests) {
  open_all_gates(server)
  for (request in requests) expect(request()$status == "200", "a request failed")
}

expect_answered <- function(server, path) {
  answer <- ask(server, path)
  expect(answer$status == "200", path, " is not answered: ", answer$status)
  answer$body
}

test("short requests are answered while all workers are at long ones, which have as many as before", function() {
  server <- serve(workers = 2, timeout = 600, metrics = TRUE)
  held <- hold_two_workers(server)
  # one that was never called, one of its route, and another
  for (path in c("/n/7", "/n/8", "/pid")) expect_answered(server, path)
  expect(logged(server, "one worker more, for short requests: all workers have long ones"), "it is not in the log")
  three <- wait_for_workers(server, 3)
  expect(as.integer(expect_answered(server, "/pid")) %in% three, "another process has answered")
  expect(!is_marked(server, "three"), "a long request has the worker that is for short ones")
  expect(figure(scrape(server), "drover_passed_requests_total") >= 3, "they are not counted")
  open_gate(server, "one")
  expect(held$one()$status == "200", "a request failed")
  expect(marked(server, "three"), "it does not begin when a worker is free")
  expect_answers(server, held[-1L])
}, ways = forking)

test("what was taken for short and is long waits from then on, and keeps nothing from long ones", function() {
  server <- serve(workers = 2, timeout = 600, metrics = TRUE)
  held <- hold_two_workers(server)
  slow <- ask_later(server, "/slow/600000")
  expect(marked(server, "begun"), "it does not begin")
  again <- ask_later(server, "/slow/0")
  expect_figure(server, 2, "drover_queue_requests")
  open_gate(server, "one")
  expect(held$one()$status == "200", "a request failed")
  # two of three workers may have long ones: one has the slow one, one is held
  expect(!is_marked(server, "three"), "long requests have all workers")
  expect_answered(server, "/n/1")
  expect_answers(server, c(held[-1L], again))
  expect(!is_over(slow), "it is over")
}, ways = forking)

test("an express worker that is killed is replaced, and short requests go on passing", function() {
  server <- serve(workers = 2, timeout = 600)
  held <- hold_two_workers(server)
  first <- as.integer(expect_answered(server, "/pid"))
  send_signal(first, tools::SIGKILL)
  expect(as.integer(expect_answered(server, "/pid")) != first, "it is still there")
  expect(!is_marked(server, "three"), "a long request has the worker that is for short ones")
  expect_answers(server, held)
}, ways = forking)

test("the express worker ends when no short request has needed it", function() {
  server <- serve(workers = 2, timeout = 600, check_unused = 0.1, max_age = 0.1)
  held <- hold_two_workers(server)
  expect_answered(server, "/pid")
  expect_answers(server, held)
  wait_for_workers(server, 2)
  expect(logged(server, "no short request has needed the express worker for 0.1 s"), "it is not in the log")
}, ways = forking)

test("scale and reload count without the express worker", function() {
  runtime <- runtime_folder()
  server <- launch(command_of(file.path(here, "app.R"), workers = 2, timeout = 600), env = runtime)
  held <- hold_two_workers(server)
  expect_answered(server, "/pid")
  wait_for_workers(server, 3)
  shows(command("scale", "3", env = runtime), 0L, ": 3 workers instead of 2 workers$")
  four <- wait_for_workers(server, 4)
  expect(marked(server, "three"), "there is a worker more for long ones, too")
  expect_answers(server, held)
  shows(command("reload", env = runtime), 0L, "^reloaded")
  wait_for_workers(server, 3, but = four)
})

test("where none is to pass, requests are answered in order", function() {
  server <- serve(workers = 2, timeout = 600, express = FALSE, metrics = TRUE)
  held <- hold_two_workers(server)
  expect_figure(server, 1, "drover_queue_requests")
  short <- ask_later(server, "/n/1")
  expect_figure(server, 2, "drover_queue_requests")
  open_gate(server, "one")
  expect(held$one()$status == "200" && marked(server, "three"), "it does not begin")
  expect(never(function() is_over(short), 0.2), "it was answered")
  expect(length(workers(server)) == 2L, "there is a worker more")
  expect_answers(server, c(held[-1L], short))
})

test("workers that each load the app have short and long requests in turn", function() {
  server <- serve(workers = 2, timeout = 600, metrics = TRUE)
  held <- hold_two_workers(server)
  expect_figure(server, 1, "drover_queue_requests")
  short <- ask_later(server, "/n/1")
  expect_figure(server, 2, "drover_queue_requests")
  expect(never(function() is_over(short) || length(workers(server)) > 2L, 0.2), "there is a worker more")
  expect_answers(server, c(held, short))
}, ways = 4L)

test_every_way("one worker has short requests and long ones in turn", function(start) {
  server <- start(file.path(here, "app.R"), timeout = 600, metrics = TRUE)
  long <- list(one = ask_later(server, "/held/one"))
  expect(marked(server, "one"), "it does not begin")
  for (name in c("two", "three")) {
    long[[name]] <- ask_later(server, paste0("/held/", name))
    expect_figure(server, length(long) - 1, "drover_queue_requests")
  }
  short <- ask_later(server, "/n/1")
  expect_figure(server, 3, "drover_queue_requests")
  open_gate(server, "one")
  # one of the long ones may come first
  expect(within(function() is_over(short) || is_marked(server, "two") || is_marked(server, "three")), "none is next")
  for (name in c("two", "three")) if (!is_over(short) && is_marked(server, name)) open_gate(server, name)
  # the gate of the other one is closed
  expect(short()$status == "200", "it is not answered before both of them")
  expect_answers(server, long)
})
