# Spans of requests as a collector gets them (collector.py), by OTLP over HTTP.

collector <- function() {
  file <- tempfile("spans-")
  process <- processx::process$new("python3", c(file.path(here, "collector.py"), file), stdout = "|")
  port <- character()
  within(function() length(port <<- c(port, process$read_output_lines())) > 0L)
  list(url = paste0("http://127.0.0.1:", port[[1L]]), file = file, process = process)
}

# What has come: a list of requests to it.
taken <- function(collector) {
  if (!file.exists(collector$file)) return(list())
  lapply(readLines(collector$file), jsonlite::fromJSON, simplifyVector = FALSE)
}

spans <- function(collector) {
  groups <- lapply(taken(collector), function(one) one$body$resourceSpans[[1L]]$scopeSpans[[1L]]$spans)
  unlist(groups, recursive = FALSE)
}

# The span of the request for this path, when it has come.
span_for <- function(collector, path) {
  found <- list()
  expect(within(function() {
    found <<- Filter(function(span) identical(attribute(span, "url.path"), path), spans(collector))
    length(found) > 0L
  }), paste("no span for", path))
  found[[1L]]
}

attribute <- function(span, key) {
  found <- Filter(function(one) one$key == key, span$attributes)
  if (length(found)) unlist(found[[1L]]$value, use.names = FALSE)
}

traced_app <- function() {
  write_app(c(
    "app <- dr_app()", "dr_get(app, '/order/<id>', function(req) req$trace$traceparent)",
    "dr_get(app, '/slow', function(req) { Sys.sleep(0.3); 'slow' })", "dr_get(app, '/fails', function(req) stop('no'))",
    "app"
  ))
}

test("a collector gets a span for each request, with its parts, below that of its client", function() {
  collector <- collector()
  server <- serve(traced_app(), metrics = TRUE, otlp_endpoint = collector$url,
    env = c(OTEL_SERVICE_NAME = "shop", OTEL_EXPORTER_OTLP_HEADERS = "api-key=s%3Dx"))
  trace <- "4bf92f3577b34da6a3ce929d0e0e4736"
  said <- ask(server, "/order/7?secret=1", "-H", paste0("traceparent: 00-", trace, "-00f067aa0ba902b7-01"))
  asked <- Sys.time()
  for (path in c("/slow", "/fails", "/nowhere")) ask(server, path)
  span <- span_for(collector, "/order/7")
  expect(span$name == "GET /order/<id>" && span$kind == 2L && span$traceId == trace, "another name, kind or trace")
  expect(span$parentSpanId == "00f067aa0ba902b7", "another parent")
  expect(grepl(paste0("^00-", trace, "-", span$spanId, "-01$"), said$body), "its handler passes on another span")
  expect(attribute(span, "http.route") == "/order/<id>" && attribute(span, "http.response.status_code") == "200", "route")
  expect(attribute(span, "http.request.method") == "GET" && attribute(span, "client.address") == "127.0.0.1", "client")
  expect(!any(grepl("secret", readLines(collector$file))), "the query is told")
  slow <- span_for(collector, "/slow")
  seconds <- function(span) (as.numeric(span$endTimeUnixNano) - as.numeric(span$startTimeUnixNano)) / 1e9
  expect(seconds(slow) > 0.29, paste(seconds(slow), "seconds"))
  # an instant beyond what a double can tell apart
  lies_between <- as.numeric(slow$startTimeUnixNano) / 1e9 > as.numeric(asked) - 0.01 &&
    as.numeric(slow$endTimeUnixNano) / 1e9 < as.numeric(Sys.time()) + 0.01
  expect(lies_between, "another time: ", slow$startTimeUnixNano, " to ", slow$endTimeUnixNano)
  parts <- list()
  within(function() {
    parts <<- Filter(function(one) identical(one$parentSpanId, slow$spanId), spans(collector))
    length(parts) == 3L
  })
  names(parts) <- vapply(parts, function(one) one$name, "")
  expect(identical(sort(names(parts)), c("handler", "queue", "write")), toString(names(parts)))
  expect(seconds(parts$handler) > 0.29 && seconds(parts$queue) < seconds(slow), "times of its parts")
  fails <- span_for(collector, "/fails")
  expect(fails$status$code == 2L && attribute(fails, "error.type") == "500", "a failure is none")
  nowhere <- span_for(collector, "/nowhere")
  expect(nowhere$name == "GET" && is.null(nowhere$status) && is.null(attribute(nowhere, "http.route")), "404")
  one <- taken(collector)[[1L]]
  expect(one$path == "/v1/traces" && one$fields[["api-key"]] == "s=x", "another path or field")
  expect(attribute(one$body$resourceSpans[[1L]]$resource, "service.name") == "shop", "another service")
  expect_figure(server, 4, "drover_spans_total", result = "exported")
})

test("paths and methods that clients make up are text, and the last spans come when the server ends", function() {
  collector <- collector()
  server <- serve(traced_app(), env = c(OTEL_EXPORTER_OTLP_ENDPOINT = collector$url))
  path <- "/order/%22%7D%5D%01%3Cscript%3E"
  ask(server, path)
  curl <- c("-s", "-X", "MADEUP", "-A", "a\"}],\u00e9", paste0(server$url, "/made-up"))
  processx::run("curl", curl)
  send_signal(server$pid, tools::SIGTERM)
  span <- span_for(collector, path)
  expect(span$name == "GET /order/<id>", span$name)
  made_up <- span_for(collector, "/made-up")
  expect(made_up$name == "HTTP" && attribute(made_up, "http.request.method") == "_OTHER", "a method names a span")
  expect(attribute(made_up, "http.request.method_original") == "MADEUP", "the method is not told")
  expect(attribute(made_up, "user_agent.original") == "a\"}],\u00e9", "what the client calls itself is another text")
}, ways = 1)

test("what is not sampled is not sent, and handlers pass that on", function() {
  collector <- collector()
  server <- serve(traced_app(), otlp_endpoint = collector$url, metrics = TRUE,
    env = c(OTEL_TRACES_SAMPLER = "parentbased_always_off"))
  flags <- function(...) sub(".*-", "", ask(server, ...)$body)
  trace <- "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-"
  expect(flags("/order/1") == "00", "a trace that begins here is sampled")
  expect(flags("/order/2", "-H", paste0(trace, "00")) == "00", "what the client does not sample is")
  expect(flags("/order/3", "-H", paste0(trace, "01")) == "01", "what the client samples is not")
  span_for(collector, "/order/3")
  expect(length(Filter(function(span) span$kind == 2L, spans(collector))) == 1L, "others are sent")
})

test("a collector that is away costs spans and no requests, and is sent to again when it is back", function() {
  collector <- collector()
  file.create(paste0(collector$file, ".broken"))
  server <- serve(traced_app(), otlp_endpoint = collector$url, metrics = TRUE)
  ask(server, "/order/1")
  expect(logged(server, "traces cannot be sent, and are dropped: .* status: 503"), "nobody hears of it")
  dropped <- function() figure(scrape(server), "drover_spans_total", result = "dropped")
  expect(within(function() dropped() >= 1), "what was lost is not counted")
  expect(ask(server, "/order/2")$status == "200", "requests fail with it")
  unlink(paste0(collector$file, ".broken"))
  expect(within(function() {
    ask(server, "/order/3")
    length(spans(collector)) > 0L
  }), "it is given up for ever")
  expect(logged(server, "traces are sent again; [0-9]+ spans were dropped"), "nobody hears that it is back")
}, ways = 1)

test("a wrong setting is an error, and wrong variables are told", function() {
  runs <- command("serve", traced_app(), "--otlp-endpoint", "collector:4318", "--port", "0")
  shows(runs, 2L, NULL, "otlp_endpoint: collector:4318/v1/traces: it must be an address such as")
  server <- serve(traced_app(), env = c(OTEL_EXPORTER_OTLP_ENDPOINT = "http://127.0.0.1:1",
    OTEL_EXPORTER_OTLP_PROTOCOL = "grpc", OTEL_TRACES_SAMPLER = "sometimes"))
  expect(logged(server, "traces are not sent: .*http/json would be right"), "no word of the protocol")
  expect(logged(server, "OTEL_TRACES_SAMPLER=sometimes: it must be always_on"), "no word of the sampler")
  expect(ask(server, "/slow")$body == "slow", "it does not serve")
}, ways = 1)
