# A server at a socket in the file system: the same server as at a port, and a file that is there as long as it is.

# Starts one in each way. Gives what launch() does, and `path`.
serve_at <- function(way, path, mode = "") {
  app <- write_app("dr_app() |> dr_get('/', function(req) paste0(req$remote_addr, strrep('x', 3e5)))")
  host <- paste0("unix:", path, mode)
  session <- function(call) {
    file <- tempfile("session-", fileext = ".R")
    writeLines(c(sprintf("app <- source(%s)$value", deparse(app)), deparse1(substitute(call))), file)
    c(file.path(R.home("bin"), "Rscript"), "--vanilla", "-e", sprintf("host <- '%s'; file <- '%s'", host, app),
      "-e", sprintf("source('%s')", file))
  }
  server <- launch(switch(way,
    "drover serve" = command_of(app, host = host),
    "dr_run()" = session(dr_run(file, host = host, workers = 1, block = TRUE)),
    "the session" = session(dr_serve(app, host = host, block = TRUE)),
    "forks of the session" = session(dr_serve(app, host = host, workers = 2, block = TRUE))
  ), ready = function(lines) any(grepl(paste0("drover listening on unix:", path), lines, fixed = TRUE)))
  expect(server$process$is_alive(), "it does not listen:\n    ", paste(server$log(), collapse = "\n    "))
  server
}

ask_at <- function(path, ...) {
  answer <- processx::run("curl", c("-s", "--max-time", "120", "--unix-socket", path, ..., "http://x/"),
    error_on_status = FALSE)
  list(status = answer$status, body = answer$stdout)
}

for (way in c("drover serve", "dr_run()", "the session", "forks of the session")) local({
  way <- way
  test(paste0("a socket is served like a port, and is gone with its server (", way, ")"), function() {
    path <- tempfile("socket-")
    server <- serve_at(way, path, "?mode=0600")
    expect(format(file.mode(path)) == "600", "its mode is ", format(file.mode(path)))
    for (flags in list(NULL, "--http2-prior-knowledge")) {
      answer <- ask_at(path, flags)
      expect(answer$status == 0 && answer$body == paste0("unix:", strrep("x", 3e5)), "not the answer: ", substr(answer$body, 1, 80))
    }
    send_signal(server$pid, tools::SIGTERM)
    expect(within(function() !server$process$is_alive()), "TERM does not end it")
    expect(server$process$get_exit_status() == 0L, "status ", server$process$get_exit_status())
    expect(!file.exists(path), "the file of its socket stays")
  })
})

test("the socket of a server that was killed is taken, that of one that lives is not", function() {
  path <- tempfile("socket-")
  first <- serve_at("drover serve", path)
  second <- run_to_end(command_of(file.path(here, "app.R"), host = paste0("unix:", path)))
  expect(identical(second$status, 3L) && any(grepl("another process listens on it", second$log)), "status ", second$status)
  expect(ask_at(path)$status == 0, "the first one is disturbed")
  send_signal(first$pid, tools::SIGKILL)
  expect(within(function() !first$process$is_alive()), "it lives")
  expect(file.exists(path), "nobody can have removed it")
  serve_at("drover serve", path)
  expect(ask_at(path)$status == 0, "the third one does not answer")
  expect(format(file.mode(path)) == "660", "its mode is ", format(file.mode(path)))
})

test("what stands in the way of a socket is told", function() {
  file <- tempfile("file-")
  writeLines("precious", file)
  told <- function(host) {
    ended <- run_to_end(command_of(file.path(here, "app.R"), host = host))
    if (identical(ended$status, 3L)) paste(ended$log, collapse = "\n") else paste("status", ended$status)
  }
  expect(grepl("no socket", told(paste0("unix:", file))), "a file is no reason")
  expect(identical(readLines(file), "precious"), "the file is another")
  expect(grepl("octal number such as 0660", told("unix:/tmp/x?mode=rw")), "no reason for a wrong mode")
  expect(grepl("at most 107 bytes", told(paste0("unix:/", strrep("x", 120)))), "no reason for a long path")
})
