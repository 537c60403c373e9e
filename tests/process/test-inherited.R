# A socket that `drover serve` is started with, as systemd does it (sd_listen_fds(3)): here a program in Python does.

# Listens, and starts a command with the socket as descriptor 3, as often as it is told. The port, and the process id of
# the command, come to stand in files.
activator <- c(
  "import os, socket, sys",
  "def tell(file, number):",
  "    with open(file + '.new', 'w') as f: f.write('%d\\n' % number)",
  "    os.rename(file + '.new', file)",
  "folder, times, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]",
  "s = socket.socket()",
  "s.bind(('127.0.0.1', 0))",
  "s.listen(64)",
  "tell(folder + '/port', s.getsockname()[1])",
  "for n in range(times):",
  "    pid = os.fork()",
  "    if pid == 0:",
  "        if s.fileno() == 3: os.set_inheritable(3, True)",
  "        else: os.dup2(s.fileno(), 3)",
  "        os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1')",
  "        os.execvp(command[0], command)",
  "    tell(folder + '/pid', pid)",
  "    status = os.waitpid(pid, 0)[1]",
  "sys.exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 99)"
)

# list(server, pid(): of the drover that runs now, folder).
activated <- function(app, times = 1L) {
  if (!nzchar(Sys.which("python3"))) skip("there is no python3")
  folder <- tempfile("activator-")
  dir.create(folder)
  script <- file.path(folder, "activator.py")
  writeLines(activator, script)
  # another address, which must not count
  command <- c(drover_program(), "serve", app, "--host", "127.0.0.2", "--workers", "1")
  server <- launch(c("python3", script, folder, times, command), ready = NULL)
  number <- function(name) {
    file <- file.path(folder, name)
    expect(within(function() file.exists(file)), paste("there is no", name))
    as.integer(readLines(file))
  }
  server$port <- number("port")
  server$url <- paste0("http://127.0.0.1:", server$port)
  list(server = server, pid = function() number("pid"), folder = folder)
}

pid_app <- function() write_app("dr_get(dr_app(), '/', function(req) as.character(Sys.getpid()))")

test("connections wait while the server starts, and while it is started again", function() {
  app <- pid_app()
  started <- activated(app, times = 2L)
  server <- started$server
  # nothing is there yet that accepts
  early <- lapply(1:5, function(i) ask_later(server, "/"))
  answers <- vapply(early, function(answer) answer()$body, "")
  expect(length(unique(answers)) == 1L && nzchar(answers[[1L]]), toString(answers))
  expect(logged(server, "it listens on the socket that it was started with"), server$log())
  first <- started$pid()
  send_signal(first, tools::SIGHUP)
  expect(logged(server, "generation 2 serves"), server$log())
  reloaded <- ask(server, "/")
  expect(reloaded$status == 200L && reloaded$body != answers[[1L]], "it has not been loaded anew")
  send_signal(first, tools::SIGTERM)
  # at any moment of the change
  during <- vapply(1:60, function(i) ask(server, "/")$status, "")
  expect(all(during == "200"), paste("answers during the change:", toString(during)))
  expect(started$pid() != first, "it was not started again")
  send_signal(started$pid(), tools::SIGTERM)
  expect(exit_status(server) == 0L, "it did not end in peace")
}, ways = 1)

test("workers do not have the socket", function() {
  started <- activated(write_app(
    "dr_get(dr_app(), '/', function(req) Sys.readlink(list.files('/proc/self/fd', full.names = TRUE)))"
  ))
  theirs <- ask(started$server, "/")$body
  socket <- Sys.readlink(file.path("/proc", started$server$pid, "fd", "3"))
  expect(grepl("^socket:", socket), socket)
  expect(!grepl(socket, theirs, fixed = TRUE), theirs)
}, ways = 1)

test("what is no socket, is not there, or is for another process", function() {
  # as the program's parent leaves them: `open` is what the shell does with descriptor 3
  started_with <- function(open, sockets = "1", own = TRUE) {
    set <- sprintf("export LISTEN_FDS=%s LISTEN_PID=%s; exec \"$@\" %s", sockets, if (own) "$$" else "1", open)
    c("/bin/sh", "-c", set, "sh", command_of(pid_app()))
  }
  fails <- function(why, ...) {
    ended <- run_to_end(started_with(...))
    expect(ended$status == 3L, paste("its exit status is", ended$status))
    expect(any(grepl(why, ended$log, fixed = TRUE)), paste(c(why, ended$log), collapse = "\n"))
  }
  fails("it is no socket", "3</dev/null")
  fails("LISTEN_FDS is 1, but there is no descriptor 3", "3<&-")
  fails("LISTEN_FDS is 2, but there is no descriptor 4", "3</dev/null", "2")
  server <- launch(started_with("3</dev/null", own = FALSE))
  expect(ask(server, "/")$status == 200L, "the variables are another process's")
}, ways = 1)

test("several sockets are all taken", function() {
  if (!nzchar(Sys.which("python3"))) skip("there is no python3")
  path <- tempfile("second-", fileext = ".sock")
  script <- tempfile("two-", fileext = ".py")
  writeLines(c(
    "import os, socket, sys",
    "one, two = socket.socket(), socket.socket(socket.AF_UNIX)",
    "one.bind(('127.0.0.1', 0))",
    "two.bind(sys.argv[1])",
    "kept = [os.dup(one.fileno()), os.dup(two.fileno())]",
    "spare = [os.dup(fd) for fd in kept]",
    "for at, fd in enumerate(spare): os.dup2(fd, 3 + at)",
    "os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='2')",
    "os.execvp(sys.argv[2], sys.argv[2:])"
  ), script)
  server <- launch(c("python3", script, path, command_of(pid_app())))
  expect(logged(server, "it listens on the 2 sockets that it was started with"), server$log())
  expect(grepl(" and unix:", grep("listening on", server$log(), value = TRUE)), server$log())
  answers <- c(ask(server, "/")$status, ask(list(url = "http://x"), "/", "--unix-socket", path)$status)
  expect(identical(answers, c("200", "200")), toString(answers))
  unlink(path)
}, ways = 1)

test("a server that systemd-socket-activate starts", function() {
  if (!nzchar(Sys.which("systemd-socket-activate"))) skip("there is no systemd-socket-activate")
  path <- tempfile("activated-", fileext = ".sock")
  # it gives no more of the environment on than it is told to
  gates <- paste0("GATES=", Sys.getenv("GATES"))
  server <- launch(c("systemd-socket-activate", "-E", gates, "-l", path, command_of(pid_app())), ready = NULL)
  expect(within(function() file.exists(path)), "nobody listens")
  # the connection is what starts it
  answer <- processx::run("curl", c("-s", "--max-time", "120", "--unix-socket", path, "http://localhost/"))
  expect(grepl("^[0-9]+$", answer$stdout), answer$stdout)
  send_signal(server$pid, tools::SIGTERM)
  expect(exit_status(server) == 0L, "it did not end in peace")
  expect(file.exists(path), "the file is not the server's to remove")
  unlink(path)
}, ways = 1)
