# What has been large is small again: processes keep little of what one answer, or one message, has needed.

# Bytes of a process in memory that are its own.
own_memory <- function(pid) memory_field(pid, "RssAnon")

# Less of it than this is what R keeps for itself.
noise <- 40e6

large_app <- function() {
  write_app(c(
    "app <- dr_app()",
    "dr_get(app, '/pid', function(req) as.character(Sys.getpid()))",
    "dr_get(app, '/text', function(req) strrep('x', 2e8))",
    "dr_get(app, '/json', function(req) rep(strrep('x', 97), 2e6))",
    "dr_get(app, '/megabyte', function(req) strrep('x', 1e6))",
    "dr_post(app, '/body', function(req) as.character(length(req$raw)))",
    "dr_ws(app, '/ws', on_message = function(conn, msg) dr_ws_send(conn, msg), max_message = '30MB')",
    "app"
  ))
}

# How many bytes came, of a request by curl that keeps none of them.
bytes_of <- function(server, path, ...) {
  ran <- processx::run("curl", c("-s", "-o", "/dev/null", "-w", "%{size_download}", ..., paste0(server$url, path)))
  as.numeric(ran$stdout)
}

# Has `use()` done, and waits until its process, and that of the server, are as small as before.
expect_small_again <- function(server, use) {
  pid <- as.integer(ask(server, "/pid")$body)
  pids <- unique(c(pid, server$pid))
  before <- vapply(pids, own_memory, 0)
  use()
  now <- NULL
  is_small <- within(function() {
    now <<- vapply(pids, own_memory, 0)
    all(now < before + noise)
  })
  expect(is_small, "processes have ", toString(now), " bytes, and had ", toString(before))
  expect(identical(as.integer(ask(server, "/pid")$body), pid), "another process has taken its place")
}

test_every_worker("a worker that has answered 200 MB is soon as small as before", function(start) {
  server <- start(large_app(), timeout = 600)
  expect_small_again(server, function() {
    expect(identical(bytes_of(server, "/text"), 2e8), "the text is not whole")
    expect(identical(bytes_of(server, "/json"), 200000001), "the JSON is not whole")
  })
})

test("a worker that has read 100 MB is soon as small as before", function() {
  server <- serve(large_app(), workers = 1, max_body = 2e8, timeout = 600)
  file <- tempfile()
  con <- file(file, "wb")
  seek(con, 1e8 - 1)
  writeBin(raw(1L), con)
  close(con)
  expect_small_again(server, function() {
    answer <- ask(server, "/body", "-X", "POST", "-T", file, "-H", "Expect:")
    expect(identical(answer$body, "100000000"), "the body is not whole: ", answer$body)
  })
})

test("a session that nobody blocks is soon as small as before, too", function() {
  server <- launch(c(file.path(R.home("bin"), "Rscript"), "--vanilla", write_app(c(
    sprintf("app <- source(%s)$value", deparse(large_app())),
    "dr_serve(app, port = 0L, block = FALSE, workers = 1L, timeout = 600)",
    "repeat later::run_now(3600)"
  ))))
  expect_small_again(server, function() expect(identical(bytes_of(server, "/text"), 2e8), "the text is not whole"))
})

test("connections that have had an answer do not keep it", function() {
  server <- serve(large_app(), workers = 1)
  connections <- list()
  on.exit(for (connection in connections) close(connection))
  expect_small_again(server, function() {
    for (i in 1:100) {
      connection <- socketConnection("127.0.0.1", server$port, blocking = TRUE, open = "r+b")
      connections[[i]] <<- connection
      writeBin(charToRaw("GET /megabyte HTTP/1.1\r\nHost: h\r\n\r\n"), connection)
      line <- "?"
      while (nzchar(line)) line <- sub("\r$", "", readLines(connection, 1L))
      expect(length(readBin(connection, raw(), 1e6)) == 1e6, "the answer is not whole")
    }
  })
})
