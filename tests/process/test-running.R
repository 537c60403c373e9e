# `drover status`, `reload` and `stop`, as their user runs them: which server they find, what they say, how they end.

# A folder for sockets, of a test's own, so that servers of others are left alone: the variable of the environment that
# names it.
runtime_folder <- function(mode = "0700") {
  folder <- tempfile("sockets-")
  dir.create(folder, mode = mode)
  c(DROVER_SOCKETS = folder)
}

sockets <- function(runtime) list.files(runtime)

# A server that the commands with the same `runtime` find, of version "1" of an app with a route that waits at a gate.
start_found <- function(runtime, ..., file = tempfile("app-", fileext = ".R")) {
  write_version("1", file)
  server <- launch(command_of(file, ...), env = runtime)
  expect(!is.null(server$url), paste(server$log(), collapse = "\n"))
  c(server, list(file = file))
}

write_version <- function(version, file) {
  write_app(c(
    "app <- dr_app()", sprintf("dr_get(app, '/version', function(req) '%s')", version),
    "dr_get(app, '/held', function(req) {", "  stand_at('held')", "  'done'", "}, timeout = 600)", "app"
  ), file)
}

# Starts a command that takes its time: the process.
start_command <- function(..., env) {
  start_client(drover_program(), c(...), env = c("current", env), stdout = "|", stderr = "2>&1")
}

test("status says how a server is, reload brings the new code before it ends, and stop waits for requests", function() {
  runtime <- runtime_folder()
  server <- start_found(runtime, workers = 2, graceful_timeout = 600)
  for (i in 1:3) ask(server, "/version")
  # a request is counted when its client has its answer already
  within(function() any(grepl(" 3 requests answered", command("status", env = runtime)$out)))
  shows(command("status", env = runtime), 0L, c(
    paste0("^", server$url, ": ", server$file, "$"), paste0("^process ", server$pid, ", drover .*generation 1$"),
    "^2 workers, 3 requests answered by these workers, 0 of them with errors, 0 waiting", "^ +pid +state +generation",
    "^ +[0-9]+ +idle +1 "
  ))
  told <- jsonlite::fromJSON(command("status", "--json", env = runtime)$out)
  expect(told$pid == server$pid && setequal(told$workers[[1L]]$pid, workers(server)), "other processes in JSON")
  write_version("2", server$file)
  shows(command("reload", env = runtime), 0L, "^reloaded: generation 2 of http.* serves$")
  expect(ask(server, "/version")$body == "2", "reload ended before the new code served")
  line <- match("stop('no such table')", readLines(write_app("stop('no such table')", server$file)))
  shows(command("reload", env = runtime), 1L, NULL, sprintf("^drover: not reloaded, .*: line %d: no such table$", line))
  expect(ask(server, "/version")$body == "2", "the code before does not serve")
  running <- ask_later(server, "/held")
  expect(marked(server, "held"), "it does not begin")
  stop <- start_command("stop", env = runtime)
  expect(drains(server), "it still listens")
  expect(never(function() !stop$is_alive(), 0.3) && !is_over(running), "it does not wait for what runs")
  open_gate(server, "held")
  expect(running()$body == "done", "the request in flight failed")
  stop$wait(patience() * 1000)
  said <- stop$read_all_output()
  expect(identical(stop$get_exit_status(), 0L) && grepl(paste0("^stopped ", server$url), said), said)
  expect(have_ended(server$pid), "its process is still there")
  expect(identical(exit_status(server), 0L) && !length(sockets(runtime)), "another end, or something is left")
  shows(command("status", env = runtime), 4L, NULL, "^drover: no server (of this user )?runs that the program has started")
  shows(command("stop", env = runtime), 4L, NULL, "no server")
}, ways = 1)

test("of several servers one is named by its port, file, folder or process", function() {
  runtime <- runtime_folder()
  one <- start_found(runtime, workers = 1)
  folder <- tempfile("project-")
  dir.create(folder)
  other <- start_found(runtime, workers = 1, file = file.path(folder, "app.R"))
  ran <- command("status", env = runtime)
  shows(ran, 0L, c(paste0("^", one$url, ":"), paste0("^", other$url, ":")))
  for (what in c("reload", "stop")) {
    shows(command(what, env = runtime), 2L, NULL, c("2 servers run: say which", one$url, other$url))
  }
  expect(is_alive(one$pid) && is_alive(other$pid), "one was ended")
  shows(command("reload", one$port, env = runtime), 0L, paste0(one$url, ".*process ", one$pid))
  shows(command("reload", folder, env = runtime), 0L, other$url)
  shows(command("stop", "app.R", wd = folder, env = runtime), 0L, other$url)
  none <- command("stop", "1", env = runtime)
  shows(none, 4L, NULL, c("no server runs on port, with process id, or for the file or app 1", one$url))
  shows(command("stop", one$pid, env = runtime), 0L, one$url)
  expect(have_ended(c(one$pid, other$pid)), "one is still there")
}, ways = 1)

test("stop has a time limit, and --now needs none", function() {
  runtime <- runtime_folder()
  server <- start_found(runtime, workers = 1, graceful_timeout = 600)
  running <- ask_later(server, "/held")
  expect(marked(server, "held"), "it does not begin")
  waited <- command("stop", "--wait", "500ms", env = runtime)
  shows(waited, 1L, NULL, "has not ended within 0.5 s: it waits for requests")
  shows(command("stop", "--wait", "soon", env = runtime), 2L, NULL, "must be a number of seconds, or a time")
  shows(command("stop", "--now", env = runtime), 0L, "^stopped")
  expect(have_ended(server$pid), "its process is still there")
}, ways = 1)

test("a server that is loading is found, and is no server that serves", function() {
  runtime <- runtime_folder()
  file <- write_app("stand_at('loading')")
  server <- launch(command_of(file, start_timeout = 600), env = runtime, ready = NULL)
  expect(marked(server, "loading"), "it does not load")
  shows(command("status", env = runtime), 1L, "^starting: ", "does not serve yet$")
  shows(command("reload", env = runtime), 1L, NULL, "not reloaded.*starting or stopping")
  shows(command("stop", env = runtime), 0L, "^stopped one that starts")
  expect(identical(exit_status(server), 0L), "another exit status")
}, ways = 1)

test("a server that was killed is not found, and what it has left goes", function() {
  runtime <- runtime_folder()
  server <- start_found(runtime, workers = 1)
  send_signal(server$pid, tools::SIGKILL)
  expect(have_ended(server$pid), "it lives")
  expect(length(sockets(runtime)) == 1L, "nothing is left to be found")
  shows(command("status", env = runtime), 4L, NULL, "no server")
  expect(!length(sockets(runtime)), "it stays")
  again <- start_found(runtime, workers = 1)
  send_signal(again$pid, tools::SIGKILL)
  expect(have_ended(again$pid), "it lives")
  start_found(runtime, workers = 1)
  expect(length(sockets(runtime)) == 1L, "the next server leaves it there")
}, ways = 1)

test("a folder that others may enter is not used, and the server serves all the same", function() {
  runtime <- runtime_folder("0755")
  server <- start_found(runtime, workers = 1)
  expect(!length(sockets(runtime)), "it is used")
  expect(logged(server, "will not find this server: .*: not a folder that only this user may enter"), "not told")
  expect(ask(server, "/version")$body == "1", "it does not serve")
  shows(command("stop", server$pid, env = runtime), 4L, NULL, "no server runs")
}, ways = 1)

test("without a folder that is named, a server is in that of the user", function() {
  runtime <- tempfile("runtime-")
  dir.create(runtime, mode = "0700")
  server <- start_found(c(XDG_RUNTIME_DIR = runtime), workers = 1)
  expect(length(list.files(file.path(runtime, "drover"), "[.]sock$")) == 1L, "no socket")
  expect(format(file.mode(file.path(runtime, "drover"))) == "700", "others may enter")
  shows(command("stop", server$pid, env = c(XDG_RUNTIME_DIR = runtime)), 0L, server$url)
  expect(!length(list.files(file.path(runtime, "drover"))), "something is left")
}, ways = 1)

test("reloads that are asked for at once are as many as are needed, and each is told how it ended", function() {
  runtime <- runtime_folder()
  server <- start_found(runtime, workers = 1)
  write_version("2", server$file)
  asked <- lapply(1:4, function(i) start_command("reload", env = runtime))
  for (client in asked) {
    client$wait(patience(60) * 1000)
    expect(identical(client$get_exit_status(), 0L), client$read_all_output())
  }
  expect(ask(server, "/version")$body == "2", "another version")
}, ways = 1)

test("root finds servers of other users, whose they are, and has to name those that it reloads or stops", function() {
  if (Sys.info()[["effective_user"]] != "root") skip("only root finds servers of others")
  if (!nzchar(Sys.which("setpriv"))) skip("there is no setpriv")
  # that user may not enter R's own temporary folder
  folder <- tempfile("others-", dirname(tempdir()))
  dir.create(folder, mode = "0755")
  on.exit(unlink(c(folder, "/tmp/drover-65534"), recursive = TRUE))
  file <- file.path(folder, "app.R")
  writeLines("drover::dr_get(drover::dr_app(), '/', function(req) 'x')", file)
  as_nobody <- c("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
  server <- launch(c(as_nobody, command_of(file, workers = 1)), env = c(XDG_RUNTIME_DIR = "", TMPDIR = "/tmp"))
  expect(!is.null(server$url), paste(server$log(), collapse = "\n"))
  nobody <- Filter(function(user) user[[3L]] == "65534", strsplit(readLines("/etc/passwd"), ":"))[[1L]][[1L]]
  # named: servers of other tests may be starting
  shows(command("status", server$pid), 0L, paste0("^process ", server$pid, " of ", nobody, ", drover "))
  told <- jsonlite::fromJSON(command("status", "--json", server$pid)$out)
  expect(identical(told$user, nobody), "JSON says nothing of the user")
  # alone in its folder, so that no server of another test is meant
  alone <- c(DROVER_SOCKETS = "/tmp/drover-65534")
  for (name in c("reload", "stop")) shows(command(name, env = alone), 2L, NULL, "runs?: say which by its port")
  shows(command("reload", server$pid), 0L, paste0("^reloaded: generation 2 of .*process ", server$pid, " of ", nobody))
  shows(command("stop", server$pid), 0L, "^stopped")
  expect(identical(exit_status(server), 0L), "another end")
}, ways = 1)
