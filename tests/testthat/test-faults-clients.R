# Clients that leave at every point of an exchange: nothing of theirs stays behind, and their places in the queue are
# free again.

test_that("clients that leave in the middle cost neither descriptors, memory nor places in the queue", {
  skip_without_proc()
  server <- local_server({
    app <- dr_app()
    dr_get(app, "/", function(req) "ok")
    dr_get(app, "/big", function(req) raw(1e6))
    # some milliseconds
    dr_get(app, "/slow", function(req) length(sort(stats::runif(2e4))))
    dr_post(app, "/body", function(req) as.character(length(req$raw)))
    dr_get(app, "/promise", function(req) {
      promises::promise(function(resolve, reject) later::later(function() resolve("kept"), 0.05))
    })
    dr_get(app, "/heap", function(req) {
      gc()
      sprintf("%.0f", sum(gc()[, 1] * c(56, 8)))
    })
  }, max_queue = 40L, max_connections = 300L, spool_above = 1000, max_body = 1e7)
  ways <- list(
    connect = raw(), head = charToRaw("GET / HTTP/1.1\r\nHo"), request = request_bytes("/slow"), response = request_bytes("/big"),
    pipeline = rep(request_bytes("/slow"), 10), promise = request_bytes("/promise"),
    body = c(charToRaw("POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n"), raw(500)),
    spooled = c(charToRaw("POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n"), raw(5000)),
    chunk = charToRaw("POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nabc")
  )
  leave <- function(rounds) for (i in seq_len(rounds)) for (bytes in ways) {
    client <- raw_client(server$port)
    if (length(bytes)) client_send(client, bytes)
    client_close(client)
  }
  settled <- function() within(function() identical(fetch(server, "/")$text, "ok"))
  # R compiles what it has called before, and has what that takes in memory from then on: not only when one of these
  # clients happens to stay for long enough
  for (i in 1:10) {
    for (path in c("/slow", "/big", "/promise", "/heap")) fetch(server, path)
    fetch(server, "/body", "POST", body = strrep("a", 5000))
  }
  leave(20)
  expect_true(settled())
  heap <- as.numeric(fetch(server, "/heap")$text)
  expect_true(within(function() length(list.files(file.path("/proc", server$pid, "fd"))) < 100))
  before <- process_measure(server$pid)
  leave(100)
  expect_true(settled())
  expect_true(within(function() process_measure(server$pid)$fds <= before$fds), label = "descriptors are closed")
  # besides the megabyte of /big that R may hold as the value returned last: of a hundred of them no second one stays,
  # once promises have ended whose clients have gone
  taken <- function() as.numeric(fetch(server, "/heap")$text) - heap
  expect_true(within(function() taken() < 1e6 + 1e6), label = paste("bytes of R's memory more:", taken()))
  # on a busy machine the last responses are still on their way
  grown <- function() process_measure(server$pid)$rss_kb - before$rss_kb
  expect_true(within(function() grown() < 10000), label = paste("kB of memory more:", grown()))
  # every place in the queue is free: as many as it holds at once are served
  clients <- raw_clients(30, server$port)
  for (client in clients) client_send(client, request_bytes("/slow"))
  expect_identical(vapply(clients, function(client) client_response(client)$status, 0L), rep(200L, 30))
})

test_that("of malformed requests some lines a second are logged, and the others counted", {
  server <- local_server({
    app <- dr_app()
    dr_get(app, "/", function(req) "ok")
  })
  # refused before there is a request, and after
  for (i in 1:200) {
    client <- raw_client(server$port)
    client_send(client, "BAD\r\n\r\n")
    client_close(client)
  }
  expect_identical(fetch_many(server, "/%zz", 800), rep(400L, 800))
  counts <- function() {
    lines <- server$log()
    left_out <- " drover WARN ([0-9]+) more lines about clients left out: 10 a second are written$"
    c(written = sum(grepl(" drover WARN id=[0-9a-f]+ 127.0.0.1 .* 400 ", lines)),
      left_out = sum(as.numeric(sub(paste0(".*", left_out), "\\1", grep(left_out, lines, value = TRUE)))))
  }
  expect_true(within(function() sum(counts()) >= 1000), label = toString(counts()))
  expect_identical(sum(counts()), 1000)
  expect_gte(counts()[["written"]], 100)
  expect_gt(counts()[["left_out"]], 0)
  # who does nothing wrong is served as ever
  expect_identical(fetch(server, "/")$text, "ok")
})
