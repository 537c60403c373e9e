# /metrics, however a server was started: every request is counted once, whatever came of it, and no figure goes down
# while the server lives. metrics-lint.py says whether the page is one.

metrics_app <- function() {
  folder <- tempfile("files-")
  dir.create(folder)
  writeLines("a file", file.path(folder, "a.txt"))
  write_app(c(
    "app <- eval(parse(Sys.getenv('R_APP')))",
    sprintf("dr_static(app, '/files', %s)", deparse(folder)),
    "dr_get(app, '/rare', function(req) 'rare')",
    "dr_rate_limit(app, 1, window = 3600, routes = '/rare')",
    "dr_get(app, '/stream', function(req) {",
    "  dr_stream(function(state, cancelled) list(chunk = 'x', state = state + 1L, done = state == 3L), state = 1L)",
    "})",
    "dr_ws(app, '/talk', function(conn, msg) dr_ws_send(conn, msg))",
    "app"
  ))
}

open_metrics <- "application/openmetrics-text; version=1.0.0"

# What a server exposes, by the text before the value.
scrape <- function(server) {
  answer <- ask(server, "/metrics", "-H", paste("Accept:", open_metrics))
  expect(answer$status == "200", "/metrics: ", answer$status)
  lines <- grep("^#", strsplit(answer$body, "\n", fixed = TRUE)[[1L]], value = TRUE, invert = TRUE)
  stats::setNames(as.numeric(sub(".* ", "", lines)), sub(" [^ ]*$", "", lines))
}

# The sum over the series of a metric that have all these labels.
figure <- function(figures, name, ...) {
  labels <- c(...)
  chosen <- startsWith(names(figures), paste0(name, "{")) | names(figures) == name
  for (label in names(labels)) {
    chosen <- chosen & grepl(sprintf("%s=\"%s\"", label, labels[[label]]), names(figures), fixed = TRUE)
  }
  sum(figures[chosen])
}

# Waits until a figure of a server is so: requests are counted when they have ended, which clients do not see.
expect_figure <- function(server, wanted, name, ...) {
  got <- NULL
  within(function() {
    got <<- figure(scrape(server), name, ...)
    got == wanted
  })
  expect(got == wanted, name, " ", toString(c(...)), ": ", got, " and not ", wanted)
}

lint_metrics <- function(page, content_type) {
  file <- tempfile("page-")
  writeLines(page, file)
  result <- processx::run(python_parser(), c(file.path(here, "metrics-lint.py"), content_type), stdin = file,
    error_on_status = FALSE)
  unlink(file)
  c(if (result$status != 0) result$stderr, strsplit(result$stdout, "\n", fixed = TRUE)[[1L]])
}

# A Python that has Prometheus' client: Debian's, or the one on the path. NULL when there is none.
python_parser <- function() {
  has_it <- function(python) {
    nzchar(Sys.which(python)) &&
      processx::run(python, c("-c", "import prometheus_client"), error_on_status = FALSE)$status == 0
  }
  Find(has_it, c("/usr/bin/python3", "python3"))
}

test_every_worker("every request is counted once, whatever came of it", function(start) {
  server <- start(metrics_app(), metrics = TRUE, max_queue = 1L, max_body = 1000L, timeout = 600)
  sent <- 0L
  expect_answer <- function(status, path, ...) {
    answer <- ask(server, path, ...)
    sent <<- sent + 1L
    expect(answer$status == status, path, ": ", answer$status, " and not ", status)
  }
  for (i in 1:3) expect_answer("200", paste0("/n/", i))
  for (i in 4:5) expect_answer("200", paste0("/n/", i), "--http2-prior-knowledge")
  expect_answer("200", "/n/6", "-I")
  expect_answer("404", "/nowhere")
  expect_answer("405", "/text", "-X", "DELETE")
  expect_answer("413", "/upload", "-d", strrep("x", 2000))
  # curl may see the end of the stream before the answer, and tell no status then
  ask(server, "/upload", "--http2-prior-knowledge", "-d", strrep("x", 2000))
  sent <- sent + 1L
  expect_answer("200", "/rare")
  expect_answer("429", "/rare")
  expect_answer("429", "/rare", "--http2-prior-knowledge")
  expect_answer("200", "/files/a.txt")
  expect_answer("404", "/files/b.txt")
  expect_answer("200", "/stream")
  expect_answer("500", "/fail")
  # bytes that are no request
  expect_answer("400", "/text", "-H", "Host:")
  # clients that leave
  for (gate in c("left-1", "left-2")) {
    left <- ask_later(server, paste0("/held/", gate))
    expect(marked(server, gate), "it does not begin")
    environment(left)$client$kill()
    sent <- sent + 1L
  }
  expect_figure(server, 2, "drover_requests_total", route = "/held/<name>", status = "gone")
  # a full queue
  begun <- Sys.time()
  running <- ask_later(server, "/random?at=full")
  expect(marked(server, "full"), "it does not begin")
  waiting <- ask_later(server, "/text")
  expect(within(function() figure(scrape(server), "drover_queue_requests") == 1), "nothing waits")
  expect(figure(scrape(server), "drover_workers", state = "busy") == 1, "no worker is busy")
  expect_answer("503", "/text")
  let_pass(1.1)
  open_gate(server, "full")
  expect(running()$status == "200" && waiting()$status == "200", "a request was lost")
  took <- as.numeric(Sys.time() - begun, units = "secs")
  sent <- sent + 2L
  socket <- ws(server, "/talk")
  sent <- sent + 1L
  expect_figure(server, 1, "drover_websockets_open")
  expect(ws_ask(socket, "hello") == "hello", "another message")
  ws_leave(socket, 1000, "bye")
  expect_figure(server, 0, "drover_websockets_open")

  # each look is a request, too, which the page knows by its route
  by_clients <- function() {
    figures <- scrape(server)
    figure(figures, "drover_requests_total") - figure(figures, "drover_requests_total", route = "(server)")
  }
  got <- NULL
  expect(within(function() (got <<- by_clients()) == sent), got, " requests are counted, of ", sent)
  wanted <- list(
    list(5, route = "/n/<n>", method = "GET", status = "2xx"), list(1, route = "/n/<n>", method = "HEAD"),
    list(1, route = "(none)", method = "GET", status = "4xx"), list(1, method = "DELETE", status = "4xx"),
    list(2, route = "/upload", method = "POST", status = "4xx"), list(2, route = "/rare", status = "4xx"),
    list(1, route = "(files)", status = "2xx"), list(1, route = "/fail", status = "5xx"),
    list(1, route = "(invalid)"), list(2, route = "/held/<name>", status = "gone"),
    list(1, route = "/text", status = "5xx"), list(1, route = "/talk", status = "1xx")
  )
  figures <- scrape(server)
  for (row in wanted) {
    got <- do.call(figure, c(list(figures, "drover_requests_total"), row[-1]))
    expect(got == row[[1]], toString(unlist(row[-1])), ": ", got, " and not ", row[[1]])
  }
  refused <- function(cause) figure(figures, "drover_refusals_total", cause = cause)
  expect(refused("rate_limit") == 2 && refused("queue_full") == 1 && refused("body_too_large") == 2, "other refusals")
  expect(refused("method_not_allowed") == 1 && refused("bad_request") == 1 && refused("other") == 0, "other refusals")
  expect(figure(figures, "drover_streams_total") == 1 && figure(figures, "drover_streams_open") == 0, "streams")
  # the handler that was held for more than a second, and the request that waited for it
  time_of <- function(what, ...) figure(figures, paste0("drover_request_", what), ...)
  expect(time_of("handler_seconds_bucket", route = "/random", le = "1.0") == 0, "the time of the handler")
  expect(time_of("handler_seconds_count", route = "/random") == 1, "how often it has run")
  for (what in list(c("handler", "/random"), c("queue", "/text"))) {
    seconds <- time_of(paste0(what[[1L]], "_seconds_sum"), route = what[[2L]])
    expect(seconds > 1 && seconds < took, what[[1L]], ": ", seconds, " s, where clients have waited ", took)
  }
  expect(figure(figures, "drover_connections_total") > 20, "connections")
  expect(figure(figures, "drover_connections_open") >= 1, "open connections")
  expect(figure(figures, "drover_received_bytes_total") > 2000, "bytes received")
  expect(figure(figures, "drover_sent_bytes_total") > 4000, "bytes sent")
  expect(figure(figures, "drover_worker_memory_bytes") > 1e7, "memory of workers")
})

test("C handlers are counted like others", function() {
  server <- serve(c_app(), metrics = TRUE)
  for (i in 1:3) for (path in c("/c/text", "/c/inline")) ask(server, path)
  expect(ask(server, "/c/stream?n=3")$status == "200", "no stream")
  for (path in c("/c/text", "/c/inline")) {
    expect_figure(server, 3, "drover_requests_total", route = path, status = "2xx")
  }
  expect_figure(server, 3, "drover_request_handler_seconds_count", route = "/c/text")
  expect_figure(server, 0, "drover_streams_open")
})

test("figures outlive reloads, and a worker that dies is counted with its reason", function() {
  server <- serve(metrics = TRUE, workers = "2", timeout = 600, kill_after = 600)
  pids <- wait_for_workers(server, 2)
  for (i in 1:4) ask(server, "/n/1")
  expect_figure(server, 4, "drover_requests_total", route = "/n/<n>")
  before <- scrape(server)
  expect(ask(server, "/kill")$status == "502", "another status")
  expect_figure(server, 1, "drover_worker_restarts_total", reason = "signal")
  expect(figure(scrape(server), "drover_refusals_total", cause = "worker_died") == 1, "no refusal is counted")
  wait_for_workers(server, 2)
  send_signal(workers(server)[1L], tools::SIGTERM)
  expect_figure(server, 1, "drover_worker_restarts_total", reason = "exit")
  now <- wait_for_workers(server, 2)
  late <- ask_until_begun(server, "/late/loop")
  expect(late()$status == "504", "another status")
  expect_figure(server, 1, "drover_worker_restarts_total", reason = "late")
  now <- wait_for_workers(server, 2)
  if (style != "dr_serve(start = 'fork')" && style != "dr_serve(start = 'spawn')") {
    send_signal(server$pid, 1L)
    expect(logged(server, "reloaded: generation"), "it does not reload")
  }
  ask(server, "/n/2")
  expect_figure(server, 5, "drover_requests_total", route = "/n/<n>")
  after <- scrape(server)
  counters <- grep("_total[{]|_total$|_bucket|_count", names(before), value = TRUE)
  fell <- counters[!counters %in% names(after) | after[counters] < before[counters]]
  expect(!length(fell), "went down: ", toString(fell))
  expect_figure(server, 2, "drover_workers")
})

test("a worker that does not heed its interrupt is counted as hung", function() {
  server <- serve(metrics = TRUE, workers = "1", timeout = 600, kill_after = 0.5)
  late <- ask_until_begun(server, "/late/deaf")
  expect(late()$status == "504", "another status")
  expect_figure(server, 1, "drover_worker_restarts_total", reason = "hung")
})

test("the page is what scrapers expect, in both formats", function() {
  if (is.null(python_parser())) skip("there is no prometheus_client for Python")
  server <- serve(metrics_app(), metrics = TRUE, threads = 2L)
  for (path in c("/n/1", "/nowhere", "/files/a.txt", "/stream", "/fail", "/rare", "/rare", "/%22%0A")) ask(server, path)
  expect_figure(server, 1, "drover_requests_total", route = "/fail")
  for (accept in c(open_metrics, "text/plain", "*/*")) {
    answer <- ask(server, "/metrics", "-H", paste("Accept:", accept))
    type <- field(answer, "content-type")
    wanted <- if (accept == open_metrics) "application/openmetrics-text; version=1.0.0" else "text/plain; version=0.0.4"
    expect(startsWith(type, wanted), accept, ": ", type)
    expect(field(answer, "cache-control") == "no-store", "it may be stored")
    wrong <- lint_metrics(answer$body, type)
    expect(!length(wrong), paste(wrong, collapse = "\n"))
  }
  broken <- sub("drover_workers{state=\"idle\"} ", "drover_workers{state=\"idle\" ", answer$body, fixed = TRUE)
  expect(length(lint_metrics(broken, type)) > 0, "the lint finds nothing wrong with a page that is broken")
  post <- ask(server, "/metrics", "-d", "x")
  expect(post$status == "405" && field(post, "allow") == "GET, HEAD", "POST: ", post$status)
})

test("the table of docs/metrics.md, the rules and the dashboard name what a server exposes", function() {
  server <- serve(metrics = TRUE)
  ask(server, "/text")
  expect_figure(server, 1, "drover_requests_total", route = "/text")
  page <- ask(server, "/metrics")$body
  types <- regmatches(page, gregexpr("(?m)^# TYPE \\S+ \\S+", page, perl = TRUE))[[1L]]
  exposed <- sub("# TYPE (\\S+) (\\S+)", "\\1 \\2", types)
  rows <- grep("^\\| `drover_", readLines(file.path(root, "docs/metrics.md")), value = TRUE)
  told <- sub("^\\| `(drover_[a-z_]+)` \\| ([a-z]+) \\|.*", "\\1 \\2", rows)
  expect(setequal(told, exposed), "only in the docs: ", toString(setdiff(told, exposed)), "; only on the page: ",
    toString(setdiff(exposed, told)))
  names <- sub(" .*", "", exposed)
  histograms <- sub(" histogram", "", grep(" histogram$", exposed, value = TRUE))
  known <- c(setdiff(names, histograms), outer(histograms, c("_bucket", "_sum", "_count"), paste0))
  for (name in c("alerts.yml", "dashboard.json")) {
    text <- paste(readLines(system.file("monitoring", name, package = "drover")), collapse = "\n")
    used <- unique(regmatches(text, gregexpr("drover_[a-z_]+", text))[[1L]])
    expect(length(used) > 5 && all(used %in% known), name, " names what there is not: ",
      toString(setdiff(used, known)))
  }
})

test("the path is the app's unless the setting says otherwise, and the variable of the environment does", function() {
  server <- serve()
  expect(ask(server, "/metrics")$status == "404", "/metrics is answered")
  server <- serve(env = c(DROVER_METRICS = "true"))
  expect(ask(server, "/metrics")$status == "200", "/metrics is not answered")
}, ways = 1L)

test("of very many routes the first are told apart, and all are counted", function() {
  server <- serve(write_app(c(
    "app <- dr_app()",
    "for (i in 1:300) dr_get(app, sprintf('/r%d', i), function(req) 'x')",
    "app"
  )), metrics = TRUE)
  for (i in c(1, 200, 201, 300)) ask(server, paste0("/r", i))
  expect_figure(server, 2, "drover_requests_total", route = "(other)")
  expect_figure(server, 1, "drover_requests_total", route = "/r200")
})

test("garbage collections of workers are counted, with their time, and outlive a worker", function() {
  server <- serve(write_app(c(
    "app <- dr_app()", "dr_get(app, '/collect', function(req) { for (i in 1:20) gc(); 'done' })",
    "dr_get(app, '/die', function(req) tools::pskill(Sys.getpid(), 9))", "app"
  )), metrics = TRUE, workers = "1")
  expect(ask(server, "/collect")$body == "done", "no answer")
  collections <- function() figure(scrape(server), "drover_gc_collections_total")
  # told once in a second, though nothing is asked meanwhile
  expect(within(function() collections() >= 20), paste(collections(), "collections are counted"))
  figures <- scrape(server)
  expect(figure(figures, "drover_gc_seconds_total") > 0, "they take no time")
  heap <- figure(figures, "drover_worker_heap_bytes", worker = "1")
  expect(heap > 5e6 && heap < figure(figures, "drover_worker_memory_bytes") * 2, paste("a heap of", heap))
  before <- collections()
  ask(server, "/die")
  wait_for_workers(server, 1)
  expect(collections() >= before, "the end of a worker has reset it")
  ask(server, "/collect")
  expect(within(function() collections() >= before + 20), "those of the next worker are not counted")
})
