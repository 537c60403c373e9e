# Links that a handler has its client told of while it runs, however it is run.

hints_app <- function() write_app(c(
  "app <- dr_app()",
  "link <- function(...) sprintf('</%s.css>; rel=preload; as=style', c(...))",
  "dr_get(app, '/page', function(req) {",
  "  told <- c(dr_early_hints(req, link('a')), dr_early_hints(req, link('b', 'c')))",
  "  stand_at('page')",
  "  later::later(function() note('late', dr_early_hints(req, link('late'))))",
  "  paste(told)",
  "})",
  "dr_get(app, '/promise', function(req) {",
  "  once_open('asked', function() {",
  "    dr_early_hints(req, link('p'))",
  "    once_open('answered')",
  "  })",
  "})",
  "dr_get(app, '/fork', function(req) {",
  "  job <- parallel::mcparallel(dr_early_hints(req, link('f')))",
  "  paste(parallel::mccollect(job)[[1]])",
  "})",
  "dr_get(app, '/stream', function(req) {",
  "  dr_stream(function(state, cancelled) list(chunk = paste(dr_early_hints(req, link('s'))), done = TRUE))",
  "})",
  "dr_get(app, '/many', function(req) {",
  "  for (i in 1:20) dr_early_hints(req, link(i))",
  "  'many'",
  "})",
  "dr_get(app, '/error', function(req) {",
  "  dr_early_hints(req, link('e'))",
  "  stop('no')",
  "})",
  "dr_get(app, '/slow', function(req) {",
  "  mark('slow')",
  "  while (!is_open('slow')) dr_early_hints(req, link('slow'))",
  "  'slow'",
  "}, on_client_gone = 'finish')",
  "dr_get(app, '/plain', function(req) 'plain')",
  "app"
))

h2 <- "--http2-prior-knowledge"
statuses_in <- function(head) sub("^HTTP/[0-9.]+ ([0-9]{3}).*", "\\1", grep("^HTTP/", head, value = TRUE))
links_in <- function(head) sub("^link: </(.*)[.]css>.*", "\\1", grep("^link: ", head, value = TRUE))

test("hints of a handler come before its answer, several of them, and none after it", function() {
  server <- serve(hints_app(), workers = 1)
  request <- ask_later(server, "/page", h2)
  expect(within(function() length(links_in(so_far(request, "head"))) == 3L), "not told while the handler runs")
  expect(!is_over(request) && marked(server, "page"), "its answer is there")
  open_gate(server, "page")
  answer <- request()
  expect(identical(statuses_in(answer$head), c("103", "103", "200")), paste(answer$head, collapse = "\n"))
  expect(identical(links_in(answer$head), c("a", "b", "c")), paste(answer$head, collapse = "\n"))
  expect(answer$body == "[\"TRUE\",\"TRUE\"]", answer$body)
  # too late
  expect(within(function() identical(note_lines(server, "late"), "FALSE")), note_lines(server, "late"))
  # who may not know of them gets the answer alone
  answer <- ask(server, "/page")
  expect(identical(statuses_in(answer$head), "200"), paste(answer$head, collapse = "\n"))
})

test("hints of a promise come before its answer", function() {
  server <- serve(hints_app(), workers = 1)
  request <- ask_later(server, "/promise", h2)
  expect(marked(server, "asked") && !length(so_far(request, "head")), "told before")
  open_gate(server, "asked")
  expect(within(function() identical(links_in(so_far(request, "head")), "p")), "not told")
  expect(marked(server, "answered") && !is_over(request), "its answer is there")
  open_gate(server, "answered")
  expect(identical(statuses_in(request()$head), c("103", "200")), "other responses")
})

test("hints of forks and streams, and hints before errors, harm nothing", function() {
  server <- serve(hints_app(), workers = 1)
  for (path in c("/fork", "/stream")) {
    answer <- ask(server, path, h2)
    expect(identical(statuses_in(answer$head), "200") && answer$body == "FALSE", path, ": ", answer$body)
  }
  answer <- ask(server, "/error", h2)
  expect(identical(statuses_in(answer$head), c("103", "500")), paste(answer$head, collapse = "\n"))
  answer <- ask(server, "/many", h2)
  expect(identical(statuses_in(answer$head), c(rep("103", 16), "200")), paste(answer$head, collapse = "\n"))
})

test("hints for a client that has gone harm nothing", function() {
  server <- serve(hints_app(), workers = 1)
  request <- ask_later(server, "/slow", h2)
  expect(marked(server, "slow") && within(function() length(so_far(request, "head")) > 0L), "not told")
  environment(request)$client$kill()
  open_gate(server, "slow")
  expect(ask(server, "/plain", h2)$body == "plain", "the next one is not answered")
})

test("hints reach clients of every I/O thread", function() {
  server <- serve(hints_app(), workers = 2, threads = 2)
  requests <- lapply(1:12, function(i) ask_later(server, "/many", h2))
  for (request in requests) {
    answer <- request()
    expect(identical(statuses_in(answer$head), c(rep("103", 16), "200")), paste(answer$head, collapse = "\n"))
  }
})
