# dr_async(): functions that other workers run. In every way of starting; with a session or one worker they are run by
# the one that asks.

tasks_app <- file.path(here, "tasks-app.R")

value_of <- function(server, path, ...) {
  answer <- ask(server, path, ...)
  expect(answer$status == "200", path, " got ", answer$status, ": ", substr(answer$body, 1L, 200L))
  json(answer$body)
}

test_every_worker("a task gives its value, its error, and why there is none", function(start) {
  server <- start(tasks_app)
  expect(value_of(server, "/closure/21") == 42, "another value")
  answer <- ask(server, "/req?x=1")$body
  expect(grepl("^no: ", answer), "`req` was there: ", answer)
  answer <- value_of(server, "/why/stop")
  expect(answer$class == "mine" && answer$size == 42, "another error: ", toString(answer))
  expect(ask(server, "/fails")$status == "500", "another status")
  expect(logged(server, "GET /fails.*500 non-numeric argument"), "not logged")
  expect(logged(server, "log\\(x\\)"), "without its traceback")
  answer <- ask(server, "/aborts", "-H", "Accept: text/plain")
  expect(answer$status == "409" && grepl("taken", answer$body), "another answer: ", answer$status, " ", answer$body)
  expect(ask(server, "/nested/5")$body == "bottom", "tasks of tasks")
  expect(ask(server, "/promise")$body == "kept", "a task's promise")
  model <- value_of(server, "/model")
  expect(model$call == "stats::lm(formula = dist ~ speed, data = data)" && model$slope > 3.9, "another model: ", model$call)
  for (problem in list(c("jump", "failed"), c("long", "failed"))) {
    answer <- value_of(server, paste0("/why/", problem[[1L]]))
    expect(answer$class == "drover_error_async" && answer$why == problem[[2L]], problem[[1L]], ": ", toString(answer))
  }
  told <- value_of(server, "/arguments")
  expect(grepl("`f` must be a function", told$f) && grepl("`timeout`", told$timeout), "other errors: ", toString(told))
  expect(told$argument == "not for others" && grepl("64 MB", told$long), "other errors: ", toString(told))
  expect(ask(server, "/text")$body == "text", "it does not go on")
})

test_every_worker("long arguments and values pass", function(start) {
  server <- start(tasks_app, max_body = "32MB")
  file <- tempfile("bytes-")
  bytes <- as.raw(sample(0:255, 20e6, TRUE))
  writeBin(bytes, file)
  got <- tempfile("got-")
  start_client("curl", c("-s", "--data-binary", paste0("@", file), "-H", "Content-Type: application/octet-stream", "-o",
    got, paste0(server$url, "/bytes")))$wait(patience(60) * 1000)
  expect(identical(readBin(got, "raw", 21e6), rev(bytes)), "other bytes")
  expect(ask(server, "/text")$body == "text", "it does not go on")
}, of = c("the session", "spawned workers"))

# a session is nobody's to interrupt for being late
test_every_worker("a task may give a response with a file, whoever's that is", function(start) {
  server <- start(tasks_app)
  for (which in c("named", "removed", "listed")) {
    answer <- ask(server, paste0("/file/", which))
    expect(answer$status == "200" && answer$body == "a,b", which, ": ", answer$status, " ", answer$body)
    expect(grepl("^text/csv", field(answer, "content-type")), which, " is ", field(answer, "content-type"))
  }
  answer <- ask(server, "/file/kept", "-H", "Range: bytes=0-1")
  expect(answer$status == "206" && nchar(answer$body) == 2L, "kept: ", answer$status)
  answer <- ask(server, "/file/plot")
  expect(answer$status == "200" && field(answer, "content-type") == "image/png", "plot: ", answer$status)
})

test_every_worker("a task is interrupted at its own deadline and at that of its request", function(start) {
  server <- start(tasks_app)
  for (path in c("/limited", "/short", "/why/late")) {
    # one whose time is over before a worker has begun it is not interrupted: then it is asked for again
    expect(within(function() {
      before <- noted(server, "begun")
      if (path == "/why/late") {
        expect(value_of(server, path)$why == "late", "another reason")
      } else {
        answer <- ask(server, path)
        expect(answer$status == "504", path, " got ", answer$status)
      }
      noted(server, "begun") > before
    }), path, ": it is never begun")
  }
  # none of them ends by itself
  expect(within(function() noted(server, "left") == noted(server, "begun")), "they go on: ", noted(server, "left"))
  expect(logged(server, "WARN a task of dr_async\\(\\) took too long"), "not logged")
  expect(ask(server, "/text")$body == "text", "it does not go on")
}, of = c("forks of the session", "drover serve"))

test_every_worker("tasks end when the client of their request leaves, and when it is answered", function(start) {
  server <- start(tasks_app)
  expect(ask(server, "/unwaited")$body == "answered", "no answer")
  gone <- start_client("curl", c("-s", paste0(server$url, "/held/gone")))
  expect(within(function() any(grepl("^gone ", note_lines(server, "begun")))), "it was not begun")
  gone$kill()
  expect(within(function() "gone" %in% note_lines(server, "left")), "it goes on without its client")
  # what was begun in a callback belongs to the request, too
  gone <- start_client("curl", c("-s", paste0(server$url, "/chain")))
  expect(within(function() any(grepl("^second ", note_lines(server, "begun")))), "it was not begun")
  gone$kill()
  expect(within(function() "second" %in% note_lines(server, "left")), "the second goes on without its client")
  expect(identical(note_lines(server, "ended"), "first"), "others have ended: ", toString(note_lines(server, "ended")))
  expect(ask(server, "/text")$body == "text", "it does not go on")
  # nobody hears of what nobody waits for
  expect(!any(grepl(" ERROR ", server$log())), "an error is logged")
})

test_every_worker("there is a limit to how many tasks a worker has under way", function(start) {
  server <- start(tasks_app, max_async = 5L)
  answer <- value_of(server, "/many/8")
  expect(identical(answer, list(character = 3L, integer = 5L)), "others: ", toString(answer))
  answer <- value_of(server, "/many/5")
  expect(identical(answer, list(integer = 5L)), "others: ", toString(answer))
}, of = c("the session", "dr_run()"))

test("tasks are run by other workers, at the same time", function() {
  server <- serve(tasks_app, workers = "3-3")
  wait_for_workers(server, 3)
  both <- ask_later(server, "/two-held")
  # neither goes on before the other has begun
  for (name in c("one", "other")) expect(marked(server, name), name, " waits for the other")
  for (name in c("one", "other")) open_gate(server, name)
  answer <- json(both()$body)
  expect(length(unique(answer$there)) == 2L, "in one process: ", toString(answer))
})

test("who asks serves others meanwhile, and a worker that computes gets nothing else", function() {
  server <- serve(tasks_app, workers = "2-2", timeout = 600)
  wait_for_workers(server, 2)
  slow <- ask_later(server, "/held/task")
  expect(marked(server, "task"), "it was not begun")
  for (i in 1:10) expect(ask(server, "/text")$body == "text", "a request is not answered")
  expect(!is_over(slow), "the task is over")
  open_gate(server, "task")
  answer <- json(slow()$body)
  expect(answer$here != answer$there, "it ran where it was asked for")
})

test("a worker that dies takes its task with it, or the tasks it has asked for", function() {
  server <- serve(tasks_app, workers = "2-2", timeout = 600)
  wait_for_workers(server, 2)
  expect(value_of(server, "/why/kill")$why == "lost", "another reason")
  # two that are ready
  expect(within(function() length(unique(value_of(server, "/two/0.3")$there)) == 2L), "no second worker")
  # the other worker may be busy for a moment with what came before: then it is asked for again
  for (name in paste0("orphan", 1:5)) {
    slow <- ask_later(server, paste0("/held/", name))
    begun <- function() grep(paste0("^", name, " "), note_lines(server, "begun"), value = TRUE)
    expect(within(function() length(begun()) == 1L), "it was not begun")
    runs <- as.integer(sub(".* ", "", begun()))
    asks <- as.integer(utils::tail(note_lines(server, "asked"), 1L))
    if (asks != runs) break
    open_gate(server, name)
    slow()
  }
  expect(asks != runs, "it runs where it was asked for")
  send_signal(asks, tools::SIGKILL)
  expect(slow()$status == "502", "another status")
  expect(within(function() name %in% note_lines(server, "left")), "it goes on for nobody")
  expect(runs %in% workers(server), "its worker has died, too")
})

test("a reload lets tasks come to their end", function() {
  server <- serve(tasks_app, workers = "2-2", timeout = 600, graceful_timeout = 600)
  wait_for_workers(server, 2)
  slow <- ask_later(server, "/chain")
  expect(marked(server, "second"), "it was not begun")
  before <- workers(server)
  send_signal(server$pid, tools::SIGHUP)
  expect(logged(server, "reloaded: generation 2"), "it is not reloaded")
  expect(!is_over(slow), "the task is over")
  open_gate(server, "second")
  expect(slow()$status == "200", "another status")
  expect(within(function() !any(before %in% workers(server))), "the workers before go on")
  expect(value_of(server, "/two/0.1")$here %in% workers(server), "no answer after it")
})

test("dr_async() says where it cannot be", function() {
  said <- processx::run(file.path(R.home("bin"), "Rscript"), c("--vanilla", "-e", paste(
    "library(drover); say <- function() cat(tryCatch(dr_async(identity, 1), error = conditionMessage), '\\n')",
    "say(); app <- dr_app(); dr_get(app, '/', function(req) 'x')",
    "server <- dr_serve(app, port = 0, workers = 2, block = FALSE); say(); dr_stop()", sep = "\n"
  )), error_on_status = FALSE)
  expect(length(gregexpr("no worker runs here", said$stdout)[[1L]]) == 2L, "it says: ", said$stdout, said$stderr)
})
