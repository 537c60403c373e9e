# Servers of a test: `drover serve` on a file, or an R session that calls dr_serve(), on a free port.

servers <- list()

drover_program <- function() {
  path <- system.file("bin", "drover", package = "drover")
  if (!nzchar(path)) stop("the package was installed without its program")
  path
}

# An app with these lines of R, the last value of which it is. They have what handlers leave and wait for
# (../lib/gates.R).
write_app <- function(lines, file = tempfile("app-", fileext = ".R")) {
  writeLines(c("library(drover)", "sys.source(Sys.getenv('GATES'), globalenv())", lines), file)
  file
}

# An app with C handlers: those of tests/handlers, which are installed when they are first asked for.
c_app <- function() {
  if (!requireNamespace("drover.handlers", quietly = TRUE)) {
    library <- made_once("library", function(library) {
      source <- tempfile("handlers-")
      dir.create(source)
      # not where they are kept: what is compiled does not belong there
      file.copy(file.path(root, "tests/handlers"), source, recursive = TRUE)
      processx::run(file.path(R.home("bin"), "R"), c(
        "CMD", "INSTALL", "--no-docs", "--no-test-load", paste0("--library=", library), file.path(source, "handlers")
      ), env = c("current", R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep)))
    })
    .libPaths(c(library, .libPaths()))
  }
  file.path(here, "c-app.R")
}

# Servers here have few packages (with_few_packages()), so apps say stats::runif(). The `env` of a test whose packages
# do not say it:
with_usual_packages <- c(R_DEFAULT_PACKAGES = "datasets,utils,grDevices,graphics,stats,methods")

# Starts a command and remembers it. Gives list(process, pid, port, url, log(), marks): port and url are NULL when it
# does not come to listen. `marks` is a folder for the app's handlers to leave files in.
launch <- function(command, env = NULL, ready = listens) {
  marks <- new_marks()
  env <- c(MARKS = marks, FAULTS = compile(file.path(here, "faults.c"), library = TRUE),
    R_APP = file.path(here, "app.R"), env)
  process <- start_program(command, with_few_packages(env), ready = ready, stdin = NULL, cleanup_tree = FALSE)
  server <- c(process, marks = marks)
  servers[[length(servers) + 1L]] <<- server
  server
}

# The command of `drover serve`: command_of(app, workers = "2-4", timeout = 1, health = TRUE).
command_of <- function(app, ..., port = 0L) {
  flags <- list(port = port, ...)
  words <- unlist(lapply(names(flags), function(name) {
    value <- flags[[name]]
    if (isFALSE(value)) return(paste0("--", gsub("_", "-", name), "=false"))
    shown <- if (!isTRUE(value)) paste(vapply(value, format, "", scientific = FALSE), collapse = ",")
    c(paste0("--", gsub("_", "-", name)), shown)
  }))
  c(drover_program(), "serve", app, words)
}

# The ways to start a server: run.R says which one serve() takes.
styles <- c("drover serve", "dr_run()", "dr_serve(start = 'fork')", "dr_serve(start = 'spawn')")
style <- styles[[1L]]
is_spawned <- function() style == "dr_serve(start = 'spawn')"

# Starts a server in the present way, and fails the test when it does not listen. `...` are flags of the program.
# `wrapper`: words before the command, of a program that becomes it (exec).
serve <- function(app = file.path(here, "app.R"), ..., wrapper = NULL, env = NULL) {
  command <- if (style == styles[[1L]]) command_of(app, ...) else session_of(app, ...)
  server <- launch(c(wrapper, command), env)
  expect(!is.null(server$url), "the server does not listen")
  server
}

# The command of an R session that does the same as `drover serve` with these flags.
session_of <- function(app, ..., port = 0L) {
  settings <- list(port = port, ..., block = TRUE)
  if (is.null(settings$workers)) settings$workers <- "1-3"
  # worker processes, though there is one
  if (!identical(settings$workers, "auto")) {
    settings$workers <- as.integer(rep_len(strsplit(as.character(settings$workers), "-")[[1L]], 2L))
  }
  if (is_spawned()) {
    settings$start <- "spawn"
    # what the app has loaded is not copied
    settings$on_worker_start <- quote(function() dyn.load(Sys.getenv("FAULTS")))
  }
  serve <- if (style == "dr_run()") bquote(dr_run(.(app))) else bquote(dr_serve(eval(parse(.(app)))))
  file <- tempfile("session-", fileext = ".R")
  writeLines(c("library(drover)", deparse(as.call(c(as.list(serve), settings)))), file)
  c(file.path(R.home("bin"), "Rscript"), "--vanilla", file)
}

# Starts an R session that runs these lines, with `serve(...)` for dr_serve(block = TRUE) of `app` on a free port.
serve_session <- function(lines, app = file.path(here, "app.R"), wrapper = NULL) {
  file <- tempfile("session-", fileext = ".R")
  writeLines(c(
    sprintf("app <- eval(parse(%s))", deparse(app)),
    "serve <- function(...) dr_serve(app, port = 0L, ..., block = TRUE)",
    lines
  ), file)
  server <- launch(c(wrapper, file.path(R.home("bin"), "Rscript"), "--vanilla", file))
  expect(!is.null(server$url), "the session does not listen")
  server
}

# Every way of starting a server that waits for its end: each a function of an app's file and of settings, by their
# names in R. One worker: the session itself, or a process. `wrapper` is as for serve().
starts <- list(
  "the session" = function(app, ..., wrapper = NULL) serve_session(r_call("serve", ..., workers = 1L), app, wrapper),
  "forks of the session" = function(app, ..., wrapper = NULL) {
    serve_session(r_call("serve", ..., workers = c(1L, 1L)), app, wrapper)
  },
  "spawned workers" = function(app, ..., wrapper = NULL) {
    serve_session(r_call("serve", ..., workers = c(1L, 1L), start = "spawn"), app, wrapper)
  },
  "dr_run()" = function(app, ..., wrapper = NULL) {
    serve_session(r_call("dr_run", file = app, port = 0L, ..., workers = 1L), app, wrapper)
  },
  "drover serve" = function(app, ..., wrapper = NULL) serve(app, ..., workers = 1L, wrapper = wrapper)
)

# A program that runs a command in a terminal: a `wrapper`.
terminal <- function() compile(file.path(here, "terminal.c"))

# Registers a test for both places that handlers run in: the session, and a worker process; `body` is a function of one
# of `starts`, those of `of`. Several ways come to processes, and tests take turns with them; WAYS=all runs those that
# are left out, too.
test_every_worker <- function(name, body, of = names(starts)) {
  processes <- setdiff(of, "the session")
  now <- c(intersect(of, "the session"), one_of(processes, name))
  test_ways(name, body, now)
  test_ways(name, body, setdiff(processes, now), only_all = 1L)
}

# Registers a test for each way of starting, where that is what it is about.
test_every_way <- function(name, body, of = names(starts)) test_ways(name, body, of)

test_ways <- function(name, body, ways, ...) {
  for (way in ways) local({
    start <- starts[[way]]
    test(paste0(name, " (", way, ")"), function() body(start), ...)
  })
}

# The text of a call with these named arguments.
r_call <- function(name, ...) {
  arguments <- vapply(list(...), deparse1, "")
  paste0(name, "(", paste(names(arguments), "=", arguments, collapse = ", "), ")")
}

# Runs a command that must end by itself: list(status, NA when it did not end; log).
run_to_end <- function(command, seconds = 30, env = NULL) {
  server <- launch(command, env, ready = NULL)
  server$process$wait(patience(seconds) * 1000)
  list(status = if (server$process$is_alive()) NA_integer_ else server$process$get_exit_status(), log = server$log())
}

# The zygotes of a server: its children. There are two while it reloads.
zygotes <- function(server) {
  processes <- family()
  processes$pid[processes$parent == server$pid]
}

# The workers of a server: children of its zygotes, which are copies of them, or its own.
workers <- function(server) {
  if (is_spawned()) return(zygotes(server))
  processes <- family()
  parents <- processes[processes$parent == server$pid, ]
  processes$pid[processes$parent %in% parents$pid & processes$group != parents$group[match(processes$parent,
    parents$pid)]]
}

# Waits until there are `n` workers, none of which is one of `but`, and gives their pids.
wait_for_workers <- function(server, n, but = integer(), seconds = 30) {
  found <- integer()
  within(function() {
    found <<- workers(server)
    length(found) == n && !any(found %in% but)
  }, seconds)
  expect(length(found) == n && !any(found %in% but), "expected ", n, " workers, found ", toString(found),
    if (length(but)) paste(", not", toString(but)))
  found
}

# The server's address for whoever runs it, as a server that ask() takes.
admin_of <- function(server) {
  line <- grep("drover listening on", server$log(), value = TRUE)[[1L]]
  c(server[c("pid", "log")], url = sub(".*admin=([^, )]+).*", "\\1", line))
}

logged <- function(server, pattern, seconds = 30) within(function() any(grepl(pattern, server$log())), seconds)

# TRUE when a server takes no new connections any more, as soon as that is so: it has been told to end, and drains.
drains <- function(server) {
  listening <- sprintf("^ *[0-9]+: [0-9A-F]{8}:%04X 00000000:0000 0A ", server$port)
  within(function() !any(grepl(listening, readLines("/proc/net/tcp"))))
}

# Waits for the end of a server: TRUE when it has ended. wait() may come back early, and of a process that somebody else
# has waited for there is no status.
server_ended <- function(server, seconds = 30) {
  server$process$wait(patience(seconds) * 1000)
  within(function() !server$process$is_alive(), seconds)
}

# Its exit status, or NA when it has not ended.
exit_status <- function(server, seconds = 30) {
  if (server_ended(server, seconds)) server$process$get_exit_status() else NA_integer_
}

# Ends what is still running. What is wrong with that, as text, or NULL.
end_servers <- function() {
  ours <- servers
  servers <<- list()
  for (server in ours) {
    open_all_gates(server)
    if (server$process$is_alive()) send_signal(server$pid, tools::SIGTERM)
  }
  wrong <- NULL
  for (server in ours) {
    if (!server_ended(server)) wrong <- c(wrong, paste("server", server$pid, "does not end on TERM"))
    panics <- grep("panicked at", server$log(), value = TRUE)
    wrong <- c(wrong, panics)
    unlink(server$marks, recursive = TRUE)
  }
  wrong
}

server_logs <- function() {
  unlist(lapply(servers, function(server) {
    c(paste0("--- log of ", server$pid, if (!server$process$is_alive()) " (ended)"), utils::tail(server$log(), 25L))
  }))
}
