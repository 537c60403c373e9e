# Many cycles of starting, stopping, reloading and killing: memory, descriptors and processes stay what they are.

test("workers replaced over and over, by kills, wear and reloads: the server stays as large as it was", function() {
  file <- write_app(c(readLines(file.path(here, "app.R"))))
  server <- serve(file, workers = 2, max_requests = 300, express = FALSE)
  # each round replaces some 10 workers that are worn out, and all by a reload; each third one also a worker that is
  # killed: more of these would be taken for a crash loop
  cycle <- function(round) {
    pids <- wait_for_workers(server, 2)
    if (round %% 3 == 0) {
      send_signal(pids[1], tools::SIGKILL)
      wait_for_workers(server, 2, but = pids[1])
    }
    expect_account(load(server, "/n/{n}", echo = TRUE, connections = 16, requests = 3000))
    pids <- wait_for_workers(server, 2)
    send_signal(server$pid, tools::SIGHUP)
    wait_for_workers(server, 2, but = pids)
    # what has ended is gone: its server has waited for it. Beside it there are a zygote, unless workers are spawned,
    # and two workers
    expect(within(function() nrow(family()) == 4L - is_spawned()), "processes: ", nrow(family()))
  }
  for (round in 1:3) cycle(round)
  size <- function() c(descriptors = descriptors(server$pid), mappings = length(read_proc(server$pid, "maps")))
  before <- size()
  memory <- resident(server$pid)
  for (round in 1:10) cycle(round)
  expect(within(function() all(size() <= before + c(1, 8))), "descriptors and mappings were ", toString(before),
    ", and are ", toString(size()))
  # 130 links of half a megabyte have come and gone, and 10 generations
  grown <- resident(server$pid) - memory
  expect(grown < 8e6, "the server grew by ", grown, " bytes")
  zombies <- vapply(list.files("/proc", "^[0-9]+$"), function(pid) {
    stat <- process_stat(pid)
    !is.null(stat) && stat$state == "Z" && stat$parent %in% c(server$pid, zygotes(server))
  }, NA)
  expect(!any(zombies), "processes that nobody has waited for")
}, only_all = 4L)

test("starts and stops over and over in one session: nothing is left of any", function() {
  server <- launch(c(file.path(R.home("bin"), "Rscript"), "--vanilla", write_app(c(
    sprintf("app <- source(%s)$value", deparse(file.path(here, "app.R"))),
    "count <- function(what) length(list.files(file.path('/proc/self', what)))",
    "rss <- function() as.numeric(strsplit(readLines('/proc/self/statm'), ' ')[[1]][2]) * 4096",
    "size <- function() { gc(); c(count('fd'), count('task'), rss()) }",
    "cycle <- function() {",
    "  dr_serve(app, port = 0L, block = FALSE, workers = 2L, log = 'none')",
    "  answer <- system2('curl', c('-s', paste0(dr_url(), '/text')), stdout = TRUE)",
    "  stopifnot(identical(answer, 'text'))",
    "  dr_stop()",
    "}",
    "for (i in 1:3) suppressMessages(cycle())",
    "before <- size()",
    "for (i in 1:12) suppressMessages(cycle())",
    "after <- size()",
    "cat('before', before, '\\nafter', after, '\\n')"
  ))), ready = NULL)
  status <- exit_status(server, 60)
  expect(identical(status, 0L), "exit status ", status)
  figures <- function(word) {
    line <- grep(paste0("^", word, " "), server$log(), value = TRUE)
    as.numeric(strsplit(line, " ", fixed = TRUE)[[1]][2:4])
  }
  before <- figures("before")
  after <- figures("after")
  expect(after[1] <= before[1], "descriptors were ", before[1], ", and are ", after[1])
  expect(after[2] <= before[2], "threads were ", before[2], ", and are ", after[2])
  expect(after[3] - before[3] < 8e6, "the session grew by ", after[3] - before[3], " bytes")
})
