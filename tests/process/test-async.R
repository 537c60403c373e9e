# Handlers that return promises, in every way of starting: they hold no worker, and what happens to other requests
# happens to theirs: deadlines, clients that leave, errors, the end of a worker or of the server.

async_app <- file.path(here, "async-app.R")

# Starts it in a way; what stands at gates has as much time as the test takes.
start_async <- function(start, ...) start(async_app, timeout = 600, ...)

# The status of each answer, after waiting for all.
statuses_of <- function(asked) vapply(asked, function(answer) answer()$status, "")

# Whether none of these requests has its answer.
none_over <- function(asked) !any(vapply(asked, is_over, NA))

# Asks for what has a second only, again when that has passed before it was begun: 503, as a slow machine may have it.
ask_begun <- function(server, path, ...) {
  answer <- NULL
  within(function() {
    answer <<- ask(server, path, ...)
    answer$status != "503"
  })
  answer
}

# The same for a promise that is never kept: the request, as of ask_later(), once it is begun.
begin_endless <- function(server) {
  before <- noted(server, "begun")
  asked <- NULL
  is_begun <- function() noted(server, "begun") > before
  expect(within(function() {
    asked <<- ask_later(server, "/endless")
    within(function() is_begun() || is_over(asked))
    is_begun()
  }), "it was not begun")
  asked
}

test_every_worker("200 promises are under way at once, and each answers its own request", function(start) {
  server <- start_async(start, max_streams = 250L)
  expect(ask(server, "/text")$body == "text", "no answer")
  # each is kept when all have come
  account <- load(server, "/together/200/{n}", echo = TRUE, connections = 200, requests = 200)
  expect_account(account)
  expect(account[["s200"]] == 200, attr(account, "line"))
  folder <- tempfile("answers-")
  dir.create(folder)
  client <- start_client("curl", c("-s", "--parallel", "--parallel-immediate", "--parallel-max", "200",
    "--http2-prior-knowledge", "--max-time", "120", "-o", file.path(folder, "#1"), paste0(server$url,
    "/together/200/[1-200]")))
  expect(within(function() !client$is_alive(), 60), "HTTP/2: they are not answered")
  answers <- vapply(1:200, function(n) readChar(file.path(folder, n), 10L), "")
  expect(identical(answers, as.character(1:200)), "HTTP/2: answers to other requests")
  # all on one connection, which not every curl can
  if (nzchar(Sys.which("h2load"))) {
    said <- processx::run("h2load", c("-n", "200", "-c", "1", "-m", "200", paste0(server$url, "/together/200/1")),
      timeout = 120)$stdout
    expect(grepl("200 2xx", said), "HTTP/2, one connection: ", said)
  }
})

test_every_worker("promises hold up no plain request, and a worker that waits for them sleeps", function(start) {
  server <- start_async(start)
  pid <- as.integer(ask(server, "/pid")$body)
  asked <- lapply(1:30, function(n) ask_later(server, paste0("/asleep/", n, "?q=", n)))
  expect(within(function() noted(server, "begun") == 30L), "they were not all begun")
  before <- cpu_time(pid)
  for (i in 1:5) {
    let_pass(0.2)
    expect(ask(server, "/pid")$body == pid, "another worker")
  }
  expect(cpu_time(pid) - before < 0.5, "the worker spins")
  expect(none_over(asked) && noted(server, "ended") == 0L, "they ended before")
  ask(server, "/go")
  answers <- lapply(asked, function(answer) answer())
  expect(identical(vapply(answers, `[[`, "", "body"), as.character(1:30)), "answers to other requests")
  expect(identical(vapply(answers, field, "", "x-query"), as.character(1:30)), "another request's query")
})

test_every_worker("requests have their turn between callbacks that are due at the same moment", function(start) {
  server <- start_async(start, metrics = TRUE)
  ask(server, "/crowd/100")
  expect(marked(server, "crowd"), "none was called")
  asked <- lapply(1:3, function(i) ask_later(server, "/turn"))
  # with the one that asks for it
  expect_figure(server, 4, "drover_requests_open")
  open_gate(server, "crowd")
  expect(all(statuses_of(asked) == "200"), "other answers")
  expect(within(function() noted(server, "turns") == 103L), "some are lost")
  turns <- note_lines(server, "turns")
  expect(max(which(turns == "request")) < 103L, "they were all called before")
})

test_every_worker("a promise reads its request's body after others were served", function(start) {
  server <- start_async(start)
  asked <- lapply(1:5, function(n) ask_later(server, "/body", "-d", paste("body", n)))
  expect(within(function() noted(server, "begun") == 5L), "they were not begun")
  for (i in 1:5) expect(ask(server, "/text")$body == "text", "another answer")
  expect(none_over(asked), "they were answered before")
  open_gate(server, "body")
  expect(identical(vapply(asked, function(answer) answer()$body, ""), paste("body", 1:5)), "another body")
})

test_every_worker("a client that leaves costs its own answer and no other", function(start) {
  server <- start_async(start, metrics = TRUE)
  pid <- ask(server, "/pid")$body
  left <- open_stream(server, "/held/go/left")
  stays <- ask_later(server, "/held/go/stays")
  expect(within(function() noted(server, "begun") == 2L), "they were not begun")
  close(left)
  # the one that stays, and the one that asks for it
  expect_figure(server, 2, "drover_requests_open")
  open_gate(server, "go")
  expect(stays()$body == "stays", "another answer")
  expect(within(function() noted(server, "ended") == 2L), "the promise was broken off")
  expect(ask(server, "/pid")$body == pid, "the worker was replaced")
})

test_every_worker("a promise that is over its time gets 504, and harms no other", function(start) {
  server <- start_async(start)
  pid <- ask(server, "/pid")$body
  ask(server, "/later/10/first")
  stays <- ask_later(server, "/held/go/stays")
  expect(within(function() noted(server, "begun") == 2L), "it was not begun")
  for (flag in c("--http1.1", "--http2-prior-knowledge")) {
    answer <- ask_begun(server, "/impatient/go", flag)
    expect(answer$status == "504", flag, ": ", answer$status)
  }
  expect(!is_over(stays), "the other one is over as well")
  open_gate(server, "go")
  expect(stays()$body == "stays", "another answer")
  expect(within(function() noted(server, "ended") == 4L), "the promises were broken off")
  expect(ask(server, "/pid")$body == pid, "the worker was replaced")
})

test_every_worker("a promise that is rejected is answered and logged like a handler that fails", function(start) {
  server <- start_async(start)
  answer <- ask(server, "/reject/50")
  expect(answer$status == "500" && !grepl("on purpose", answer$body), answer$status, ": ", answer$body)
  expect(logged(server, "GET /reject/50 .*on purpose"), "the log does not say why")
  expect(ask(server, "/abort/50")$status == "409", "dr_abort() in a promise")
  answer <- ask(server, "/outer/reject/50")
  expect(answer$status == "500" && answer$body == "caught: on purpose", "dr_on_error(): ", answer$body)
  answer <- ask(server, "/outer/later/50")
  expect(answer$body == "later" && field(answer, "x-outer") == "yes", "middleware: ", answer$body)
  expect(ask(server, "/stream/50")$body == "xxxxx", "a promise of a stream")
})

test_every_worker("a worker that is killed: requests of its promises get 502, others go to the next", function(start) {
  server <- start_async(start)
  pid <- as.integer(ask(server, "/pid")$body)
  asked <- lapply(1:4, function(n) ask_later(server, paste0("/held/go/", n)))
  expect(within(function() noted(server, "begun") == 4L), "they were not begun")
  send_signal(pid, tools::SIGKILL)
  expect(all(statuses_of(asked) == "502"), "other statuses")
  expect(within(function() ask(server, "/later/50/next")$body == "next"), "nobody answers")
}, of = setdiff(names(starts), "the session"))

test_every_worker("a reload and the server's end wait for promises under way", function(start) {
  server <- start_async(start)
  first <- ask_later(server, "/held/first/first")
  expect(within(function() noted(server, "begun") == 1L), "it was not begun")
  send_signal(server$pid, tools::SIGHUP)
  # the session has one app at a time: the new one comes when nothing is under way, and may answer then only
  is_session <- identical(start, starts[["the session"]])
  if (!is_session) expect(logged(server, "reloaded: "), "it does not reload")
  new <- ask_later(server, "/later/10/new")
  if (!is_session) expect(within(function() is_over(new)), "the new app does not answer")
  expect(!is_over(first), "the reload did not wait")
  open_gate(server, "first")
  expect(first()$body == "first", "the reload broke it off")
  expect(new()$body == "new", "the new app does not answer")
  expect(logged(server, "reloaded: "), "it does not reload when that has ended")
  second <- ask_later(server, "/held/second/second")
  expect(within(function() sum(note_lines(server, "begun") == "second") == 1L), "it was not begun")
  send_signal(server$pid, tools::SIGTERM)
  expect(drains(server), "it does not end")
  expect(!is_over(second), "the end did not wait")
  open_gate(server, "second")
  expect(second()$body == "second", "the end broke it off")
  expect(identical(exit_status(server), 0L), "status ", exit_status(server))
})

test_every_worker("a promise that has no end keeps no worker from ending, once its time is over", function(start) {
  # nothing else ends the worker
  server <- start_async(start, graceful_timeout = 600)
  pid <- as.integer(ask(server, "/pid")$body)
  endless <- begin_endless(server)
  send_signal(server$pid, tools::SIGHUP)
  expect(endless()$status == "504", "another status")
  expect(within(function() !is_alive(pid)), "the worker before stays")
  expect(ask(server, "/text")$body == "text", "nobody answers")
  expect(!any(grepl(paste0("worker ", pid, " .*killed"), server$log())), "it had to be killed")
}, of = setdiff(names(starts), "the session"))

test_every_worker("max_async: more wait in the queue, without an error", function(start) {
  server <- start_async(start, max_async = 3L, metrics = TRUE)
  asked <- lapply(1:12, function(i) ask_later(server, "/counted"))
  expect_figure(server, 9, "drover_queue_requests")
  expect(none_over(asked), "some are answered")
  open_gate(server, "counted")
  expect(all(statuses_of(asked) == "200"), "not all were answered")
  expect(ask(server, "/most")$body == "3", ask(server, "/most")$body, " were under way at once")
  # promises whose clients have left go on, and take no place
  left <- lapply(1:3, function(i) open_stream(server, "/held/go/left"))
  expect(within(function() sum(note_lines(server, "begun") == "left") == 3L), "they were not begun")
  lapply(left, close)
  expect(ask(server, "/text")$body == "text", "they are in the way")
  expect(!"left" %in% note_lines(server, "ended"), "they have ended")
  open_gate(server, "go")
  expect(within(function() sum(note_lines(server, "ended") == "left") == 3L), "they do not go on")
})

test_every_worker("max_async: a promise that is over its time gives its place back", function(start) {
  server <- start_async(start, max_async = 2L)
  endless <- lapply(1:2, function(i) begin_endless(server))
  answer <- ask(server, "/text")
  expect(answer$status == "200", "it got ", answer$status)
  expect(all(statuses_of(endless) == "504"), "other statuses")
})

for (threads in 1:2) local({
  threads <- threads
  name <- paste0("promises under way take no place in the queue (", threads, " threads)")
  test_every_worker(name, function(start) {
    server <- start_async(start, max_queue = 2L, threads = threads)
    asked <- list()
    for (n in 1:20) {
      asked[[n]] <- ask_later(server, paste0("/held/go/", n))
      expect(within(function() noted(server, "begun") == n), "number ", n, " was not begun")
    }
    expect(ask(server, "/text")$status == "200", "a plain request is refused")
    expect(none_over(asked), "some are over")
    open_gate(server, "go")
    expect(all(statuses_of(asked) == "200"), "not all were answered")
  }, of = c("the session", "drover serve"))
})

test_every_worker("max_requests: a worker is replaced when its promises have ended", function(start) {
  server <- start_async(start, max_requests = 10L)
  pid <- ask(server, "/pid")$body
  account <- load(server, "/later/100/{n}", echo = TRUE, connections = 20, requests = 200)
  expect_account(account)
  # it serves until another is there
  expect(within(function() ask(server, "/pid")$body != pid), "it was not replaced")
}, of = setdiff(names(starts), "the session"))

test_every_worker("a thread of compiled code resolves a promise, and need not wait for another request", function(start) {
  # there is none
  answer <- ask(start_async(start), "/thread/300")
  expect(answer$body == "by a thread", "it got ", answer$status)
})

# Two workers wait for promises. A callback of one of them stands at a gate: what is asked for goes to the other, whose
# promises are as before. `meanwhile(server, pid)` asks for it; `pid` is that of the other. Until each has been that:
# which one is given a request first depends on how quickly they wake.
with_a_busy_one <- function(server, meanwhile) {
  both <- wait_for_workers(server, 2)
  pids <- integer()
  for (round in seq_len(20)) {
    busy <- ask_later(server, paste0("/busy/busy-", round))
    expect(marked(server, paste0("busy-", round)), "it was not begun")
    stays <- ask_later(server, paste0("/held/stays-", round, "/stays"))
    expect(marked(server, paste0("stays-", round)), "the other one was not begun")
    pid <- as.integer(mark_text(server, paste0("stays-", round)))
    expect(mark_text(server, paste0("busy-", round)) != pid, "they are in the same worker")
    meanwhile(server, pid)
    expect(!is_over(busy) && !is_over(stays), "they are over")
    open_gate(server, paste0("busy-", round))
    open_gate(server, paste0("stays-", round))
    expect(busy()$body == "busy" && stays()$body == "stays", "another answer")
    pids <- c(pids, pid)
    if (all(both %in% pids)) return(invisible())
  }
  expect(FALSE, "it was always the same worker")
}

test("a callback of a promise that takes its time holds up no request that another worker can take", function() {
  with_a_busy_one(serve(async_app, workers = "2-2", timeout = 600), function(server, pid) {
    for (i in 1:5) expect(ask(server, "/pid")$body == pid, "another worker")
  })
})

test("nor one that the other worker was slow to begin with", function() {
  with_a_busy_one(serve(async_app, workers = "2-2", timeout = 600), function(server, pid) {
    send_signal(pid, tools::SIGSTOP)
    asked <- ask_later(server, "/pid")
    # long enough to be taken back from it
    let_pass(0.3)
    send_signal(pid, tools::SIGCONT)
    expect(within(function() is_over(asked)), "it waits")
    expect(asked()$body == pid, "another worker")
  })
})

test("a promise's callback that does not return ends with its worker, once a request has waited in vain", function() {
  # the promise itself has time; only its worker's end can end it
  server <- serve(async_app, workers = "1-1", timeout = 600, kill_after = 0.5)
  wait_for_workers(server, 1)
  hangs <- ask_later(server, "/hang")
  expect(within(function() noted(server, "begun") == 1L), "it was not begun")
  expect(ask(server, "/quickly")$status == "503", "it was answered")
  expect(hangs()$status == "502", "the promise: another status")
  expect(within(function() ask(server, "/text")$status == "200"), "nobody answers")
  expect(logged(server, "for a stream or a promise, did not return"), "the log does not say why")
})

test("the same after the promise was over its time", function() {
  server <- serve(async_app, workers = "1-1", timeout = 600, kill_after = 0.5)
  wait_for_workers(server, 1)
  expect(ask_begun(server, "/hang-on")$status == "504", "the promise: another status")
  expect(within(function() noted(server, "begun") == 1L), "it was not begun")
  expect(ask(server, "/quickly")$status == "503", "it was answered")
  expect(within(function() ask(server, "/quickly")$status == "200"), "nobody answers")
  expect(logged(server, "for a stream or a promise, did not return"), "the log does not say why")
})
