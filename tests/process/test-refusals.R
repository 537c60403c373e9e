# What cannot be served: one clear error, a status that says so, and nothing left running.

# Runs `drover serve` to its end, which must be of this status and say this, in few lines: once, and in the line of
# its worker if there was one.
refused <- function(app, status, says, ...) {
  ran <- run_to_end(command_of(app, ...))
  lines <- ran$log[nzchar(ran$log)]
  shown <- paste(lines, collapse = "\n    ")
  expect(!is.na(ran$status), "it runs on:\n    ", shown)
  expect(ran$status == status, "exit status ", ran$status, ", not ", status, ":\n    ", shown)
  expect(sum(grepl(says, lines)) <= 1L + sum(grepl(" ERROR worker ", lines)), "said too often: ", says, "\n    ", shown)
  expect(any(grepl(says, lines)), "not said: ", says, "\n    ", shown)
  expect(length(lines) <= 5L, "too many words:\n    ", shown)
}

app_file <- file.path(here, "app.R")

test("a port in use", function() {
  server <- serve(workers = 1)
  refused(app_file, 3L, paste0(server$port, ".*in use|in use.*", server$port), port = server$port)
  expect(ask(server, "/text")$status == "200", "the server that has the port does not answer")
})

test("a file that does not parse", function() {
  refused(write_app("app <- dr_app(", tempfile("wrong-", fileext = ".R")), 1L, "unexpected|incomplete|parse")
})

test("a file that fails", function() {
  refused(write_app("stop('no such table')"), 1L, "no such table")
})

test("a file whose value is no app", function() {
  refused(write_app("42"), 1L, "makes no app")
})

test("a file that ends R, or is killed", function() {
  refused(write_app("quit('no', 7L)"), 1L, "ended R")
  refused(write_app("tools::pskill(Sys.getpid(), tools::SIGKILL)"), 1L, "signal 9")
})

test("a file that does not come to an end", function() {
  refused(write_app("repeat Sys.sleep(1)"), 1L, "not loaded within 1 s \\(start_timeout\\)", start_timeout = 1)
})

# A file that ends is served however long it took, and whoever waits is told.
test("a file that loads for long is told of while it loads, with the setting, and may load for ever", function() {
  file <- write_app(c("stand_at('loading')", "app <- dr_app()", "dr_get(app, '/x', function(req) 'x')", "app"))
  server <- launch(command_of(file, start_timeout = patience(4)), ready = NULL)
  expect(marked(server, "loading"), "it is not loaded")
  expect(logged(server, "still on its way after [0-9]+ s: it is loaded, within `start_timeout` = "),
    "nothing is said:\n", paste(server$log(), collapse = "\n"))
  open_gate(server, "loading")
  expect(logged(server, "drover listening on "), "it does not come to serve")
  forever <- launch(command_of(file, start_timeout = 0), ready = NULL)
  expect(marked(forever, "loading"), "it is not loaded where there is no limit")
  open_gate(forever, "loading")
  expect(logged(forever, "drover listening on "), "it does not come to serve where there is no limit")
})

test("on_worker_start that throws", function() {
  refused(write_app(c("app <- dr_app()", "dr_get(app, '/', function(req) 'x')",
    "dr_on_worker_start(app, function() stop('no database'))", "app")), 1L, "no database")
})

test("workers that die before they are ready", function() {
  refused(write_app(c("app <- dr_app()", "dr_get(app, '/', function(req) 'x')",
    "dr_on_worker_start(app, function() tools::pskill(Sys.getpid(), tools::SIGKILL))", "app")), 1L,
    "no worker could be started")
})

test("a file that is not there", function() {
  refused("/nonexistent/app.R", 4L, "/nonexistent/app.R")
})

test("settings that make no sense", function() {
  refused(app_file, 2L, "workers", workers = 0)
  refused(app_file, 2L, "workers|n.min|n.max", workers = "3-1")
  refused(app_file, 2L, "port", port = 70000)
  refused(app_file, 2L, "unexpected argument .*no.such.flag", no_such_flag = 1)
})
