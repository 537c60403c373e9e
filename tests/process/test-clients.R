# What clients do to the pool: they go away, and there are too many of them.

test("clients that go away while their request runs or waits: it is cancelled, and nothing is kept", function() {
  server <- serve(workers = 2, threads = 2, express = FALSE)
  wait_for_workers(server, 2)
  ask(server, "/text")
  before <- descriptors(server$pid)
  account <- load(server, "/sleep/100", connections = 32, hang_up = 30, requests = 1500)
  expect(account[["hung_up"]] > 500, attr(account, "line"))
  answer <- ask(server, "/text")
  expect(answer$status == "200", "afterwards status ", answer$status)
  expect(within(function() descriptors(server$pid) <= before + 1L), "descriptors: ", before, ", then ",
    descriptors(server$pid))
})

test("a client that goes away frees the only worker", function() {
  # nothing else ends it
  server <- serve(workers = 1, timeout = 600)
  client <- start_client("curl", c("-s", paste0(server$url, "/loop")))
  expect(marked(server, "begun"), "it does not run")
  client$kill()
  answer <- ask(server, "/text")
  expect(answer$status == "200", "status ", answer$status)
  expect(marked(server, "ended"), "on.exit did not run")
})

test("clients that go away while the answer to an error is made: no worker ends of it", function() {
  server <- serve(workers = 4)
  pids <- wait_for_workers(server, 4)
  account <- load(server, "/fail-slowly", connections = 4, hang_up = 5, requests = 1000)
  expect(account[["hung_up"]] > 300, attr(account, "line"))
  expect(setequal(workers(server), pids), "workers were replaced: ", paste(grep("worker", server$log(), value = TRUE),
    collapse = "\n    "))
  expect_account(load(server, "/n/{n}", echo = TRUE, connections = 8, requests = 1000))
})

test("a request whose client goes away while it waits is never run", function() {
  server <- serve(workers = 1, timeout = 600, metrics = TRUE)
  running <- ask_later(server, "/held/go")
  expect(marked(server, "go"), "it does not run")
  client <- start_client("curl", c("-s", paste0(server$url, "/slow/0")))
  expect_figure(server, 1, "drover_queue_requests")
  client$kill()
  expect_figure(server, 0, "drover_queue_requests")
  open_gate(server, "go")
  expect(running()$status == "200", "another status")
  expect(ask(server, "/text")$status == "200", "another status")
  expect(!file.exists(file.path(server$marks, "begun")), "it was run")
})

test("clients that go away before a long answer is there, or within it: nothing of it stays", function() {
  folder <- tempfile("uploads-")
  dir.create(folder)
  server <- serve(workers = 2, threads = 2, upload_path = folder)
  ask(server, "/text")
  before <- descriptors(server$pid)
  load(server, "/big", connections = 8, hang_up = 15, seconds = 2)
  # some leave in the very moment in which their answer comes
  account <- load(server, "/spooled", connections = 16, hang_up = 10, requests = 600)
  expect(account[["hung_up"]] > 100, attr(account, "line"))
  expect(ask(server, "/text")$status == "200", "another status")
  expect(within(function() descriptors(server$pid) <= before + 1L), "descriptors: ", before, ", then ",
    descriptors(server$pid))
  left <- function() list.files(folder, recursive = TRUE, all.files = TRUE)
  expect(within(function() !length(left())), length(left()), " files are left")
  expect_account(load(server, "/n/{n}", echo = TRUE, connections = 8, requests = 1000))
})

test("more than the queue holds: 503 with Retry-After at once, and the others are served", function() {
  server <- serve(workers = 2, max_queue = 10, timeout = 600, metrics = TRUE, express = FALSE)
  running <- lapply(c("/held/one", "/held/two"), function(path) ask_later(server, path))
  expect(marked(server, "one") && marked(server, "two"), "they do not run")
  waiting <- lapply(1:10, function(i) ask_later(server, "/text"))
  expect_figure(server, 10, "drover_queue_requests")
  refused <- ask(server, "/text")
  expect(refused$status == "503", "it got ", refused$status)
  expect(grepl("^[0-9]+$", field(refused, "retry-after")), "Retry-After is ", field(refused, "retry-after"))
  expect(!any(vapply(c(running, waiting), is_over, NA)), "the others are over")
  open_gate(server, "one")
  open_gate(server, "two")
  statuses <- vapply(c(running, waiting), function(answer) answer()$status, "")
  expect(all(statuses == "200"), "the others got ", toString(statuses))
  account <- load(server, "/busy/20", connections = 64, seconds = 1)
  # at least what two workers and the queue have taken at once
  expect(account[["s200"]] >= 12, attr(account, "line"))
  expect_account(account, s503 = account[["s503"]])
  expect(ask(server, "/text")$status == "200", "afterwards another status")
})

test("queue_timeout: what waits too long gets 503", function() {
  server <- serve(workers = 1, queue_timeout = 0.5)
  running <- ask_until_begun(server, "/held/go", "go")
  answer <- ask(server, "/text")
  expect(answer$status == "503", "status ", answer$status)
  expect(!is_over(running), "the worker was free")
  open_gate(server, "go")
  expect(running()$status == "200", "another status")
})
