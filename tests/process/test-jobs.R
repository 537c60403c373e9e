# dr_job(): requests that are accepted at once, and run later. What becomes of them when something is killed.

jobs_app <- file.path(here, "jobs-app.R")

# Has a job accepted: its address.
accept <- function(server, path, ...) {
  answer <- ask(server, path, "-X", "POST", ...)
  expect(answer$status == "202", path, " got ", answer$status, ": ", answer$body)
  place <- field(answer, "location")
  expect(identical(place, json(answer$body)$url), "another address: ", answer$body)
  place
}

state <- function(server, place, ...) {
  answer <- ask(server, place, ...)
  expect(answer$status == "200", place, " got ", answer$status, ": ", answer$body)
  json(answer$body)
}

# Waits for the end of a job: its state then.
over <- function(server, place) {
  last <- NULL
  within(function() {
    last <<- state(server, place, "-H", "Prefer: wait=5")
    last$state %in% c("done", "failed", "cancelled")
  }, 60)
  last
}

result <- function(server, place) {
  last <- over(server, place)
  expect(last$state == "done", "it is ", last$state, ": ", last$error)
  answer <- ask(server, last$result)
  expect(answer$status == "200", last$result, " got ", answer$status, ": ", answer$body)
  answer
}

store_file <- function() tempfile("jobs-", fileext = ".sqlite")

test_every_worker("a job is accepted, run once, and has the result of its handler", function(start) {
  server <- start(jobs_app)
  place <- accept(server, "/echo/a%20b", "-d", "{\"x\": 1}", "-H", "Content-Type: application/json", "-H", "Cookie: a=b")
  expect(grepl("^/echo/a%20b/[0-9a-f]{32}$", place), "another address: ", place)
  answer <- result(server, place)
  said <- json(answer$body)
  expect(field(answer, "content-type") == "application/json", "another type: ", field(answer, "content-type"))
  expect(said$name == "a b" && said$body == "{\"x\": 1}" && said$attempt == 1, "another request: ", answer$body)
  expect(said$job == basename(place) && said$type == "application/json", "another job: ", answer$body)
  expect(length(said$cookie) == 0L, "the cookie was kept: ", said$cookie)
  expect(noted(server, "ran") == 1, "it ran ", noted(server, "ran"), " times")
  last <- state(server, place)
  times <- vapply(last[c("created", "began", "ended")], `[[`, "", 1L)
  expect(!is.unsorted(times) && all(grepl("^2.*Z$", times)), "other times: ", toString(times))
  expect(ask(server, place, "-X", "DELETE")$status == "204", "it is not forgotten")
  for (gone in c(place, paste0(place, "/result"), "/echo/x/1", paste0("/echo/x/", strrep("0", 32)))) {
    expect(ask(server, gone)$status == "404", gone, " is there")
  }
  expect(ask(server, place, "-X", "DELETE")$status == "404", "it is forgotten twice")
})

test_every_worker("what a handler returns is the result, whatever that is", function(start) {
  server <- start(jobs_app)
  expect(json(result(server, accept(server, "/typed?n=4"))$body)$twice == 8, "another value")
  answer <- ask(server, "/typed?n=0", "-X", "POST")
  expect(answer$status == "422" && grepl("at least 1", answer$body), "it is accepted: ", answer$status, " ", answer$body)
  answer <- result(server, accept(server, "/file"))
  expect(answer$body == "a,b\n1,2" && grepl("^text/csv", field(answer, "content-type")), "another file: ", answer$body)
  expect(result(server, accept(server, "/stream"))$body == "piece 1\npiece 2\npiece 3", "another stream")
  place <- over(server, accept(server, "/nothing"))
  expect(ask(server, place$result)$status == "204", "another status for nothing")
  got <- tempfile("got-")
  place <- over(server, accept(server, "/long"))
  start_client("curl", c("-s", "-o", got, paste0(server$url, place$result)))$wait(patience(60) * 1000)
  expect(identical(readBin(got, "raw", 7e6), as.raw(rep_len(0:255, 6e6))), "other bytes")
  last <- over(server, accept(server, "/unserialisable"))
  expect(last$state == "failed", "it is ", last$state)
})

test_every_worker("a long body is there when the job runs", function(start) {
  server <- start(jobs_app)
  file <- tempfile("body-")
  text <- strrep("0123456789", 5e4)
  cat(text, file = file)
  answer <- result(server, accept(server, "/echo/long", "--data-binary", paste0("@", file)))
  expect(identical(json(answer$body)$body, text), "another body, of ", nchar(json(answer$body)$body))
}, of = c("the session", "drover serve"))

test_every_worker("what fails is tried again as often as its kind says, and clients are not told the error", function(start) {
  server <- start(jobs_app)
  expect(result(server, accept(server, "/flaky"))$body == "at last", "another result")
  expect(logged(server, "is tried again: attempt 2"), "the log does not say so")
  for (case in list(c("/fails", "Internal Server Error"), c("/refuses", "no such column"))) {
    place <- accept(server, case[[1L]])
    last <- over(server, place)
    expect(last$state == "failed" && last$attempt == 1 && last$error == case[[2L]], case[[1L]], ": ", toString(last))
    answer <- ask(server, paste0(place, "/result"))
    expect(answer$status == "409" && grepl(case[[2L]], answer$body), "another answer: ", answer$status, answer$body)
    expect(!grepl("secret", answer$body), "the error is told")
  }
  expect(logged(server, "POST /fails 500 a secret"), "the log has no reason")
  expect(ask(server, "/text")$body == "text", "it does not go on")
})

test_every_worker("a job that runs says how far it is, and is interrupted when it is cancelled", function(start) {
  server <- start(jobs_app)
  place <- accept(server, "/held/a")
  expect(marked(server, "a"), "it does not begin")
  expect(within(function() identical(state(server, place)$progress$message, "half")), "no progress is told")
  expect(identical(unlist(state(server, place)$progress[c("done", "total")]) / 1, c(done = 1, total = 2)), "another progress")
  answer <- ask(server, paste0(place, "/result"))
  expect(answer$status == "202" && json(answer$body)$state == "running", "it has a result: ", answer$body)
  answer <- ask(server, place, "-X", "DELETE")
  expect(answer$status == "200" && json(answer$body)$state == "cancelled", "another answer: ", answer$body)
  expect(within(function() noted(server, "left") == 1), "it is not interrupted")
  expect(noted(server, "ended") == 0, "it went on")
  expect(ask(server, paste0(place, "/result"))$status == "409", "it has a result")
  # one that waits behind another
  held <- accept(server, "/held/b")
  expect(marked(server, "b"), "the next one does not begin")
  waiting <- accept(server, "/echo/c")
  expect(state(server, waiting)$state == "waiting", "it does not wait")
  expect(ask(server, waiting, "-X", "DELETE")$status == "200", "it is not cancelled")
  open_gate(server, "b")
  expect(over(server, held)$state == "done", "the other one was cancelled, too")
  expect(noted(server, "ran") == 0, "it was run")
})

test_every_worker("clients that would have events are told of each change until the end", function(start) {
  server <- start(jobs_app)
  place <- accept(server, "/held/a")
  expect(marked(server, "a"), "it does not begin")
  expect(within(function() identical(state(server, place)$progress$message, "half")), "no progress is told")
  asked <- ask_later(server, place, "-N", "-H", "Accept: text/event-stream")
  open_gate(server, "a")
  answer <- asked()
  expect(field(answer, "content-type") == "text/event-stream", "another type: ", field(answer, "content-type"))
  lines <- strsplit(answer$body, "\n")[[1L]]
  states <- lapply(sub("^data: ", "", grep("^data: ", lines, value = TRUE)), json)
  expect(states[[length(states)]]$state == "done", "another end: ", answer$body)
  expect(sum(lines == "id: over") == 1L, "the last one is not marked: ", answer$body)
  # a browser comes back
  again <- ask(server, place, "-H", "Accept: text/event-stream", "-H", "Last-Event-ID: over")
  expect(again$status == "204", "it is told again: ", again$status)
})

test("a server that ends waits for no client that waits for a job", function() {
  server <- serve(jobs_app, graceful_timeout = 600)
  place <- accept(server, "/held/a")
  expect(marked(server, "a"), "it does not begin")
  asked <- ask_later(server, place, "-N", "-H", "Accept: text/event-stream")
  expect(within(function() any(grepl("\"running\"", so_far(asked, "body")))), "no event is sent")
  send_signal(server$pid, tools::SIGTERM)
  asked()
  expect(noted(server, "ended") == 0, "the events ended with the job")
  open_gate(server, "a")
  expect(server_ended(server), "it does not end")
  expect(noted(server, "ended") == 1, "the job did not come to its end")
})

test("a job comes by itself, one at a time, and one for all times that have passed", function() {
  file <- store_file()
  app <- write_app(c(
    "app <- dr_app()",
    "dr_job(app, '/tick', function(req) {",
    "  note('ticked', req$job$id)",
    "  stand_at('tick')",
    "}, every = 1)",
    "app"
  ))
  server <- serve(app, workers = 2, jobs_store = file)
  expect(marked(server, "tick"), "it does not come")
  # the turns that pass while it stands at the gate
  let_pass(2.5)
  expect(noted(server, "ticked") == 1, "another one comes while it runs")
  open_gate(server, "tick")
  expect(within(function() noted(server, "ticked") >= 3), "it comes no more")
  expect(!anyDuplicated(note_lines(server, "ticked")), "it is the same job")
  send_signal(server$pid, tools::SIGTERM)
  expect(server_ended(server), "it does not end")
  let_pass(2.5)
  server <- serve(app, workers = 2, jobs_store = file)
  expect(marked(server, "tick"), "it does not come again")
  expect(noted(server, "ticked") == 1, "there is one for each turn that has passed")
})

test("a line of cron has its job run, whichever schedule its kind had before", function() {
  file <- store_file()
  app <- function(schedule) {
    job <- "dr_job(dr_app(), '/tick', function(req) note('ticked', req$job$id), %s)"
    serve(write_app(sprintf(job, schedule)), jobs_store = file)
  }
  server <- app("every = '1h'")
  over(server, accept(server, "/tick"))
  send_signal(server$pid, tools::SIGTERM)
  expect(server_ended(server), "it does not end")
  # as if that had been an hour and a half ago
  turn <- "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute('%s'); db.commit()"
  turn <- sprintf(turn, "UPDATE schedules SET turn = turn - 5400000")
  expect(system2("python3", c("-c", shQuote(turn), file)) == 0L, "the file cannot be changed")
  server <- app("cron = '* * * * *', tz = 'Asia/Tokyo'")
  expect(within(function() noted(server, "ticked") == 1), "it does not come")
}, ways = 1L)

test("a job takes no worker that requests need, and no other job's place", function() {
  server <- serve(jobs_app, workers = 2)
  first <- accept(server, "/held/a")
  expect(marked(server, "a"), "it does not begin")
  second <- accept(server, "/held/b")
  expect(ask(server, "/text")$body == "text", "requests wait for jobs")
  expect(state(server, second)$state == "waiting", "all workers have jobs")
  open_gate(server, "a")
  expect(marked(server, "b"), "the second is not begun when the first has ended")
  open_gate(server, "b")
  expect(over(server, second)$state == "done" && over(server, first)$state == "done", "they do not end")
})

test("as many jobs run at once as the settings and their kinds say", function() {
  server <- serve(jobs_app, workers = 3, jobs_at_once = 3)
  places <- vapply(c("a", "b"), function(name) accept(server, paste0("/single/", name)), "")
  third <- accept(server, "/held/c")
  expect(marked(server, "a") && marked(server, "c"), "they do not begin")
  expect(state(server, places[["b"]])$state == "waiting", "two of a kind run that is for one")
  open_gate(server, "a")
  expect(marked(server, "b"), "the second is not begun when the first has ended")
  open_all_gates(server)
  for (place in c(places, third)) expect(over(server, place)$state == "done", place, " does not end")
})

test("a job that takes too long is interrupted", function() {
  server <- serve(jobs_app)
  last <- over(server, accept(server, "/slow"))
  expect(last$state == "failed" && last$error == "it took too long", "another end: ", toString(last))
  expect(within(function() noted(server, "left") == 1), "it goes on")
})

test("a job whose worker dies runs again, but not for ever", function() {
  server <- serve(jobs_app, workers = 2)
  place <- accept(server, "/held/a")
  send_signal(as.integer(mark_text(server, "a")), tools::SIGKILL)
  expect(within(function() noted(server, "begun-a") == 2), "it is not run again")
  open_gate(server, "a")
  said <- json(result(server, place)$body)
  expect(said$attempt == 2, "the result is of attempt ", said$attempt)
  expect(logged(server, "is tried again: attempt 1: the process that ran it has ended, worker [0-9]+"), "not logged")
  last <- over(server, accept(server, "/kills"))
  expect(last$state == "failed" && last$attempt == 3, "another end: ", toString(last))
  expect(last$error == "the process that ran it has ended" && noted(server, "killed") == 3, "other attempts")
})

# Kills a server, and starts another one on the same file.
killed <- function(server, file, ...) {
  send_signal(server$pid, tools::SIGKILL)
  expect(server_ended(server), "it lives")
  serve(jobs_app, jobs_store = file, ...)
}

test("no job that was accepted is lost when the server is killed, and none that is over runs again", function() {
  file <- store_file()
  server <- serve(jobs_app, workers = 2, jobs_store = file)
  done <- accept(server, "/echo/done")
  before <- result(server, done)$body
  running <- accept(server, "/held/a")
  expect(marked(server, "a"), "it does not begin")
  waiting <- accept(server, "/echo/waiting")
  next_one <- killed(server, file, workers = 2)
  expect(identical(result(next_one, done)$body, before), "another result")
  expect(marked(next_one, "a"), "what ran is not run again")
  open_gate(next_one, "a")
  expect(json(result(next_one, running)$body)$attempt == 2, "another attempt")
  expect(json(result(next_one, waiting)$body)$name == "waiting", "another result")
  expect(identical(note_lines(next_one, "ran"), basename(waiting)), "what was over ran again")
  expect(bitwAnd(as.integer(file.mode(file)), 63L) == 0L, "others may read the file")
})

test("a server that ends waits for its jobs, and what does not end in time is no attempt that counts", function() {
  file <- store_file()
  server <- serve(jobs_app, workers = 2, jobs_store = file)
  place <- accept(server, "/held/a")
  expect(marked(server, "a"), "it does not begin")
  waiting <- accept(server, "/echo/b")
  send_signal(server$pid, tools::SIGTERM)
  expect(drains(server), "it does not drain")
  open_gate(server, "a")
  expect(server_ended(server), "it does not end")
  expect(noted(server, "left") == 1 && noted(server, "ran") == 0, "another one was begun")
  server <- serve(jobs_app, workers = 2, jobs_store = file, graceful_timeout = 0.2)
  expect(json(result(server, place)$body)$attempt == 1, "the result is lost")
  result(server, waiting)
  for (attempt in 1:4) {
    if (attempt == 1) place <- accept(server, "/held/c")
    expect(marked(server, "c"), "attempt ", attempt, " does not begin")
    send_signal(server$pid, tools::SIGTERM)
    expect(server_ended(server), "it does not end")
    server <- serve(jobs_app, workers = 2, jobs_store = file, graceful_timeout = 0.2)
  }
  expect(marked(server, "c"), "it was given up")
  open_gate(server, "c")
  expect(json(result(server, place)$body)$attempt == 5, "another attempt")
})

test("a job outlives a reload of its app", function() {
  app <- tempfile("jobs-", fileext = ".R")
  file.copy(jobs_app, app)
  server <- serve(app, workers = 2)
  place <- accept(server, "/held/a")
  expect(marked(server, "a"), "it does not begin")
  write("dr_get(app, '/new', function(req) 'new')\napp", app, append = TRUE)
  send_signal(server$pid, tools::SIGHUP)
  expect(within(function() ask(server, "/new")$status == "200"), "it is not reloaded")
  expect(state(server, place)$state == "running", "it does not go on")
  open_gate(server, "a")
  expect(json(result(server, place)$body)$attempt == 1, "another attempt")
}, ways = 1L)

test_every_worker("a handler has a job run, and so has a job", function(start) {
  server <- start(jobs_app)
  asked <- ask(server, "/asks/a?key=one", "-X", "POST")
  expect(asked$status == "200", asked$body)
  said <- json(result(server, paste0("/echo/a/", asked$body))$body)
  expect(said$job == asked$body && said$name == "a" && said$body == "{\"x\":1}", "another request: ", toString(said))
  expect(ask(server, "/asks/a?key=one", "-X", "POST")$body == asked$body, "another job of that name")
  second <- result(server, accept(server, "/first/c"))$body
  expect(json(result(server, paste0("/echo/c/", second))$body)$name == "c", "the second has not run")
})

test("what a job of the app writes is found by the id of the job", function() {
  server <- serve(write_app(c("app <- dr_app()", "dr_job(app, '/fails', function(req) stop('a secret'))",
    "dr_post(app, '/ask', function(req) dr_enqueue('/fails'))")))
  id <- ask(server, "/ask", "-X", "POST")$body
  expect(over(server, paste0("/fails/", id))$state == "failed", "it does not fail")
  named <- sprintf("id=%s the job %s of POST /fails has failed", substr(id, 1L, 16L), id)
  expect(logged(server, named) && logged(server, sprintf("id=%s .*a secret", substr(id, 1L, 16L))), "another name")
})

test("a handler whose job cannot be written down is told so", function() {
  server <- serve(jobs_app, max_jobs = 1L)
  place <- accept(server, "/held/a")
  expect(ask(server, "/asks/b", "-X", "POST")$status == "500", "it is accepted")
  expect(logged(server, "too many jobs wait: max_jobs is 1"), "not told")
  open_gate(server, "a")
  result(server, place)
  expect(ask(server, "/asks/b", "-X", "POST")$status == "200", "it is not accepted")
})

test("who sends a request again gets the same job", function() {
  server <- serve(jobs_app)
  key <- "Idempotency-Key: order 7"
  place <- accept(server, "/echo/a", "-H", key)
  result(server, place)
  expect(accept(server, "/echo/a", "-H", key) == place, "another job")
  expect(accept(server, "/echo/a") != place, "the same job without a key")
  other <- accept(server, "/held/a", "-H", key)
  expect(basename(other) != basename(place), "the same job at another path")
  expect(noted(server, "ran") <= 2, "it ran again")
  for (wrong in c("Idempotency-Key;", paste0("Idempotency-Key: ", strrep("x", 256)))) {
    expect(ask(server, "/echo/a", "-X", "POST", "-H", wrong)$status == "400", "it is taken: ", wrong)
  }
  open_all_gates(server)
})

test("a job is asked for at the path of its kind only, by those who may", function() {
  file <- store_file()
  server <- serve(jobs_app, jobs_store = file)
  token <- "Authorization: Bearer the-token-of-ann-is-long"
  expect(ask(server, "/guarded/job", "-X", "POST")$status == "401", "it is accepted")
  place <- accept(server, "/guarded/job", "-H", token)
  expect(ask(server, place)$status == "401", "all may ask")
  expect(ask(server, paste0("/nothing/", basename(place)))$status == "404", "it is there at another path")
  expect(within(function() json(ask(server, place, "-H", token)$body)$state == "done"), "it does not end")
  expect(ask(server, paste0(place, "/result"), "-H", token)$body == "ann", "another client")
  key <- "X-Key: the-key-of-bob-is-long-too"
  keyed <- accept(server, "/keyed/job", "-H", key)
  expect(within(function() json(ask(server, keyed, "-H", key)$body)$state == "done"), "it does not end")
  answer <- json(ask(server, paste0(keyed, "/result"), "-H", key)$body)
  expect(answer$user == "bob" && length(answer$key) == 0L, "the handler has the key: ", toString(answer))
  kept <- unlist(lapply(Sys.glob(paste0(file, "*")), function(file) readBin(file, "raw", file.size(file))))
  for (secret in c("the-token-of-ann", "the-key-of-bob")) {
    expect(!length(grepRaw(secret, kept, fixed = TRUE)), secret, " is in the file")
  }
  expect(length(grepRaw("POST /guarded/job", kept, fixed = TRUE)) > 0, "nothing is in the file")
})

test("there are no more unfinished jobs than the settings say", function() {
  server <- serve(jobs_app, max_jobs = 2)
  places <- c(accept(server, "/held/a"), accept(server, "/held/b"))
  answer <- ask(server, "/held/c", "-X", "POST")
  expect(answer$status == "503" && grepl("too many jobs wait", answer$body), "another answer: ", answer$body)
  expect(nzchar(field(answer, "retry-after")) && logged(server, "over `max_jobs` = 2"), "not said")
  open_all_gates(server)
  for (place in places) over(server, place)
  accept(server, "/held/c")
})

test("jobs take no more room than the settings say, with their requests and results", function() {
  server <- serve(jobs_app, workers = 2, max_jobs_size = "2MB")
  refused <- function(answer) {
    expect(answer$status == "503" && grepl("jobs take too much room", answer$body), "another answer: ", answer$body)
    expect(nzchar(field(answer, "retry-after")) && logged(server, "over `max_jobs_size` = 2000000"), "not said")
  }
  body <- tempfile()
  writeBin(raw(9e5), body)
  post <- function(path) ask(server, path, "--data-binary", paste0("@", body))
  places <- vapply(c("a", "b"), function(name) field(post(paste0("/held/", name)), "location"), "")
  refused(post("/held/c"))
  open_all_gates(server)
  for (place in places) result(server, place)
  # their requests are not kept any more; a result, which may be larger than there is room, is
  long <- accept(server, "/long")
  expect(over(server, long)$state == "done", "it has failed")
  refused(ask(server, "/echo/x", "-X", "POST"))
  expect(ask(server, long, "-X", "DELETE")$status == "204", "it is not forgotten")
  accept(server, "/echo/x")
})

test("a disk that is full takes no job, and what was computed is written when there is room again", function() {
  file <- store_file()
  # the signal that a limit of files sends is ignored, and a write beyond it fails, as on a full disk
  server <- serve(jobs_app, workers = 2, jobs_store = file, wrapper = c("sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh"))
  limit <- function(bytes) processx::run("prlimit", c("--pid", server$pid, paste0("--fsize=", bytes, ":unlimited")))
  place <- accept(server, "/held/a")
  expect(marked(server, "a"), "it does not begin")
  limit(file.size(paste0(file, "-wal")))
  answer <- ask(server, "/echo/b", "-X", "POST")
  expect(answer$status == "503" && grepl("cannot be read or written", answer$body), "another answer: ", answer$body)
  expect(logged(server, "the store of jobs: "), "the log has no reason")
  open_gate(server, "a")
  expect(logged(server, paste(basename(place), ".*its end cannot be written")), "its end was written")
  limit("unlimited")
  expect(json(result(server, place)$body)$attempt == 1, "it ran again")
  result(server, accept(server, "/echo/c"))
  expect(noted(server, "ran") == 1, "the job that was refused ran")
})

test("a file of jobs is for one server, and for jobs", function() {
  file <- store_file()
  server <- serve(jobs_app, jobs_store = file)
  other <- run_to_end(command_of(jobs_app, jobs_store = file))
  expect(isTRUE(other$status > 0), "it starts")
  expect(any(grepl(paste0("jobs_store: ", file, ": another server has it open"), other$log, fixed = TRUE)),
    "another error: ", toString(other$log))
  text <- tempfile()
  writeLines(rep("a,b", 100), text)
  other <- run_to_end(command_of(jobs_app, jobs_store = text))
  expect(any(grepl("jobs_store: .*not a database", other$log)), "another error: ", toString(other$log))
  other <- run_to_end(command_of(jobs_app, jobs_store = "/nowhere/at/all"))
  expect(any(grepl("jobs_store: /nowhere/at/all: .*No such file", other$log)), "another error: ", toString(other$log))
  expect(ask(server, "/text")$body == "text", "it does not go on")
})

# A server whose jobs `drover jobs` finds, and no other's: list(server, run(...)).
operated_server <- function(...) {
  runtime <- runtime_folder()
  server <- launch(command_of(jobs_app, ...), env = runtime)
  expect(!is.null(server$url), paste(c("it does not listen", server$log()), collapse = "\n"))
  list(server = server, run = function(..., command = "jobs") command(command, ..., env = runtime))
}

test("drover jobs lists the jobs of a server, and shows one", function() {
  operated <- operated_server(workers = 2, metrics = TRUE)
  server <- operated$server
  run <- operated$run
  shows(run(), 0L, "^no jobs, or none that are still kept$")
  expect(identical(run("--json")$out, "[]"), "another list of none")
  expect(!any(grepl("^jobs:", run(command = "status")$out)), "the status speaks of no jobs")
  refused <- basename(accept(server, "/refuses"))
  expect(over(server, paste0("/refuses/", refused))$state == "failed", "it has not failed")
  place <- accept(server, "/held/a")
  held <- basename(place)
  expect(within(function() identical(state(server, place)$progress$message, "half")), "no progress")
  waiting <- basename(accept(server, "/echo/x"))
  all <- run()
  shows(all, 0L, c(
    "^ +id +state +kind +attempt +age +took +error or progress$",
    paste0("^ +", waiting, "  waiting +POST /echo/<name> +0 +[0-9.]+ s$"),
    paste0("^ +", held, "  running +POST /held/<name> +1 +[0-9.]+ s +[0-9.]+ m?s +1 of 2: half$"),
    paste0("^ +", refused, " +failed +POST /refuses +1 +[0-9.]+ s +[0-9.]+ [mu]?s +no such column$"),
    "^jobs: 1 waiting, 1 running, 1 failed$"
  ))
  listed <- function(...) vapply(json_shown(run(..., "--json")), `[[`, "", "id")
  expect(identical(listed(), c(waiting, held, refused)), "another order: ", toString(listed()))
  expect(identical(listed("--limit", "2"), c(waiting, held)), "another limit")
  expect(identical(listed("--state", "failed"), refused), "another state")
  expect(identical(listed("--kind", "POST /held/<name>"), held), "another kind")
  shows(run("--state", "done"), 0L, c("^none of these$", "^jobs: 1 waiting"))
  one <- json_shown(run(held, "--json"))
  is_it <- one$state == "running" && one$kind == "POST /held/<name>" && one$progress$total == 2
  expect(is_it, "another job: ", toString(one))
  same <- state(server, place)
  names <- setdiff(names(same), "url")
  is_same <- identical(one[names], same[names]) && identical(setdiff(names(one), names), "kind")
  expect(is_same, "not what its client is told")
  shows(run(refused), 0L, c(paste0("^id +", refused), "^state +failed$", "^error +no such column$", "^ended +2"))
  shows(run(command = "status"), 0L, "^jobs: 1 waiting, 1 running, 1 failed$")
  metrics <- function() strsplit(ask(server, "/metrics")$body, "\n", fixed = TRUE)[[1L]]
  figures <- c('drover_jobs{kind="POST /held/<name>",state="running"} 1',
    'drover_jobs{kind="POST /refuses",state="failed"} 1', 'drover_jobs{kind="POST /refuses",state="done"} 0',
    'drover_job_attempts_total{kind="POST /refuses",end="failed"} 1')
  for (line in figures) {
    expect(within(function() line %in% sub("[.]0$", "", metrics())), "no metric ", line)
  }
  shows(run(strrep("0", 32)), 4L, NULL, paste("has no job", strrep("0", 32)))
  shows(run(held, "--state", "done"), 2L, NULL, "leave out the id")
  shows(run("--state", "over"), 2L, NULL, "waiting, running, done, failed, cancelled, scheduled")
  shows(run("xx", held), 2L, NULL, "xx is no id of a job")
  shows(command("jobs", env = runtime_folder()), 4L, NULL, "no server")
  open_all_gates(server)
}, ways = 1)

test("drover jobs has jobs retried and cancelled, and says which of them it cannot", function() {
  operated <- operated_server(workers = 2, metrics = TRUE)
  server <- operated$server
  run <- operated$run
  refused <- accept(server, "/refuses")
  expect(over(server, refused)$state == "failed", "it has not failed")
  place <- accept(server, "/held/a")
  expect(marked(server, "a"), "it does not begin")
  waiting <- accept(server, "/echo/x")
  nothing <- strrep("0", 32)
  ids <- basename(c(waiting, refused, place))
  ran <- run("cancel", nothing, ids, as.character(server$pid))
  shows(ran, 1L, paste("^cancelled", ids[c(1L, 3L)]), c(
    paste0("^drover: cannot cancel ", nothing, ": there is no such job"),
    paste0("^drover: cannot cancel ", ids[[2L]], ": it is failed already$")
  ))
  expect(length(ran$out) == 2L && length(ran$err) == 2L, "it says more")
  expect(within(function() noted(server, "left") == 1) && noted(server, "ended") == 0, "it is not interrupted")
  for (cancelled in c(place, waiting)) expect(state(server, cancelled)$state == "cancelled", "it is not cancelled")
  open_gate(server, "a")
  ran <- run("retry", ids, nothing)
  shows(ran, 1L, paste("^retried", ids), paste0("cannot retry ", nothing, ": there is no such job"))
  expect(json(result(server, place)$body)$attempt == 2, "it is not tried again")
  expect(json(result(server, waiting)$body)$name == "x", "the one that waited is not run")
  expect(over(server, refused)$attempt == 2, "the failed one is not tried again")
  expect(over(server, accept(server, "/flaky"))$state == "done", "it does not end")
  attempts <- function() {
    grep("^drover_job_attempts_total.*flaky", strsplit(ask(server, "/metrics")$body, "\n")[[1L]], value = TRUE)
  }
  wanted <- paste0('drover_job_attempts_total{kind="POST /flaky",end="', c('done"} 1', 'retried"} 2'))
  expect(within(function() identical(sub("[.]0$", "", attempts()), wanted)), "other attempts: ", toString(attempts()))
  shows(run("retry", ids[[1L]]), 1L, NULL, "it is done: only failed and cancelled jobs can be retried")
  shows(run("retry"), 2L, NULL, "ID.SERVER")
  shows(run("retry", as.character(server$pid)), 2L, NULL, "which jobs")
}, ways = 1)
