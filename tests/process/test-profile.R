# `drover profile`, as its user runs it, while workers go on serving.

profiled_app <- function(...) {
  write_app(c(
    "spin <- function(seconds) {", "  end <- proc.time()[[1]] + seconds", "  n <- 0",
    "  while (proc.time()[[1]] < end) n <- n + sum(stats::runif(1000))", "  'done'", "}", "app <- dr_app()",
    "dr_get(app, '/spin/<id>', function(req) spin(0.2))", "dr_get(app, '/quick', function(req) 'quick')",
    "dr_get(app, '/frame', function(req) data.frame(a = seq(0.1, 1e5, by = 1)))", ..., "app"
  ))
}

# Runs the command while these paths are asked for in turn. As command(), and the statuses of all answers.
profile_under <- function(server, runtime, ..., paths) {
  out <- tempfile()
  err <- tempfile()
  asked <- processx::process$new(drover_program(), c("profile", ...), stdout = out, stderr = err, wd = tempdir(),
    env = c("current", R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep), runtime))
  statuses <- integer()
  while (asked$is_alive() && length(statuses) < 1e5) {
    for (path in paths) statuses <- c(statuses, ask(server, path)$status)
  }
  asked$wait(patience(60) * 1000)
  list(status = asked$get_exit_status(), out = readLines(out), err = readLines(err), statuses = statuses)
}

test("profile says which route and function takes the time, and no request fails meanwhile", function() {
  runtime <- runtime_folder()
  app <- profiled_app()
  loop <- grep("while (", readLines(app), fixed = TRUE)
  # of its own: other tests, which run beside this one, take profiles as well
  temporary <- tempfile("temporary-")
  dir.create(temporary)
  server <- launch(command_of(app, workers = 2), env = c(runtime, TMPDIR = temporary))
  svg <- tempfile(fileext = ".svg")
  ran <- profile_under(server, runtime, "--all", "--seconds", "3", "--interval", "2ms", "--output", svg,
    paths = c("/spin/1", "/quick", "/frame"))
  shows(ran, 0L, c("^[0-9]+ samples: ", " GET /spin/<id>$", " spin +GET /spin/<id>$", " GET /frame$",
    sprintf("app.*[.]R:%d$", loop)), "the flame graph is in")
  expect(all(ran$statuses == 200L), "a request failed")
  rows <- grep("^ +[0-9.]+ % +[0-9]+ ", ran$out, value = TRUE)
  expect(grepl("GET /spin/<id>$", rows[[1L]]), paste(c("another route takes the most", ran$out), collapse = "\n"))
  requests <- as.numeric(sub("^ +[0-9.]+ % +([0-9]+) .*", "\\1", rows[[1L]]))
  expect(requests > 0 && requests <= length(ran$statuses), paste(requests, "requests"))
  picture <- paste(readLines(svg), collapse = "\n")
  expect(grepl("<title>GET /spin/&lt;id&gt;: ", picture, fixed = TRUE), "the route is not in the picture")
  expect(!grepl("<script|https?://(?!www.w3.org/2000/svg)", picture, perl = TRUE), "it has a script or an address")
  expect(xml2_reads(svg), "it is no XML")
  # nothing is left of it: not the profiler, not its files
  told <- character()
  is_told <- function() {
    again <- profile_under(server, runtime, "--seconds", "1", "--json", "--output", svg, paths = "/spin/2")
    told <<- jsonlite::fromJSON(again$out)$routes$route
    "GET /spin/<id>" %in% told || "GET /frame" %in% told
  }
  # a worker that has no processor for a second has no samples in it
  expect(within(is_told), "it has no samples")
  expect("GET /spin/<id>" %in% told && !"GET /frame" %in% told, "it has what was before: ", toString(told))
  left <- list.files(temporary, "^drover-profile-", recursive = TRUE, include.dirs = TRUE)
  expect(!length(left), paste("left behind:", left))
}, ways = 1)

# Whether a file is well-formed XML, as Python has it.
xml2_reads <- function(file) {
  code <- "import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])"
  processx::run("python3", c("-c", code, file), error_on_status = FALSE)$status == 0L
}

test("names in an app are text in tables and picture", function() {
  runtime <- runtime_folder()
  hostile <- c(
    "`</text><script>alert(1)</script>` <- function() { end <- proc.time()[[1]] + 0.02",
    "  while (proc.time()[[1]] < end) sum(stats::runif(1000)); 'x' }",
    "`a\\033[31m\"b\" <- function` <- function() `</text><script>alert(1)</script>`()",
    "dr_get(app, '/<script>&\"x', function(req) `a\\033[31m\"b\" <- function`())"
  )
  server <- launch(command_of(profiled_app(hostile), workers = 1), env = runtime)
  svg <- tempfile(fileext = ".svg")
  ran <- profile_under(server, runtime, "--seconds", "2", "--interval", "1ms", "--output", svg,
    paths = "/%3Cscript%3E&%22x")
  shows(ran, 0L, "<script>alert[(]1[)]</script>")
  expect(all(ran$statuses == 200L), "a request failed")
  expect(!any(grepl("\033", ran$out, fixed = TRUE)), "a terminal is controlled")
  picture <- paste(readLines(svg), collapse = "\n")
  expect(grepl("&lt;script&gt;alert", picture, fixed = TRUE), "the function is not in the picture")
  expect(!grepl("<script", picture, fixed = TRUE) && xml2_reads(svg), "a name is markup")
}, ways = 1)

test("profile --memory shows the largest objects, and runs no code of the app", function() {
  runtime <- runtime_folder()
  server <- launch(command_of(profiled_app(
    "big_model <- as.numeric(1:1e6) + 0.5", "delayedAssign('lazy', stop('forced'))",
    "makeActiveBinding('active', function() { message('it was asked'); 1 }, globalenv())",
    "hidden <- local({ cache <- as.list(stats::runif(3e4)); function(req) length(cache) })", "dr_get(app, '/hidden', hidden)"
  ), workers = 1), env = runtime)
  expect(ask(server, "/hidden")$body == "30000", "no answer")
  ran <- command("profile", "--memory", env = runtime)
  shows(ran, 0L, c("^worker [0-9]+: .* in [0-9]+ objects", "^ +8[.]0 MB +big_model +numeric +the global environment$",
    " cache +list +.*hidden"))
  expect(!any(grepl("lazy|active", ran$out)), "what has no value has a size")
  expect(!any(grepl("it was asked|forced", server$log())), "code of the app has run")
  told <- jsonlite::fromJSON(command("profile", "--memory", "--json", env = runtime)$out)
  expect(told$whole && told$name[[1L]] == "big_model" && told$total > 8e6, "other figures in JSON")
}, ways = 1)

test("profile says what is wrong", function() {
  runtime <- runtime_folder()
  shows(command("profile", env = runtime), 4L, NULL, "no server (of this user )?runs")
  server <- launch(command_of(profiled_app(), workers = 1), env = runtime)
  pid <- workers(server)
  shows(command("profile", "--worker", "1", env = runtime), 4L, NULL, c("no worker with process id 1", pid))
  shows(command("profile", "--seconds", "1h", env = runtime), 2L, NULL, "must be between 100ms and 10m")
  shows(command("profile", "--interval", "1us", env = runtime), 2L, NULL, "must be between 1ms and 1s")
  shows(command("profile", "--memory", "--output", "x.svg", env = runtime), 2L, NULL, "cannot be used with")
  shows(command("profile", "--seconds", "100ms", "--output", "/nowhere/x.svg", env = runtime), 5L, NULL,
    "cannot write /nowhere/x.svg")
  expect(ask(server, "/quick")$body == "quick", "it does not serve")
}, ways = 1)

test("a worker that ends while it is looked at is told of, and its successor can be", function() {
  runtime <- runtime_folder()
  server <- launch(command_of(profiled_app(), workers = 1), env = runtime)
  pid <- workers(server)
  asked <- processx::process$new(drover_program(), c("profile", "--seconds", "10m", "--output", tempfile()),
    stderr = "|", env = c("current", runtime))
  expect(within(function() {
    other <- command("profile", "--worker", pid, "--seconds", "100ms", "--output", tempfile(), env = runtime)
    any(grepl("is being looked at already", other$err))
  }), "two look at once")
  send_signal(pid, tools::SIGKILL)
  asked$wait(patience(30) * 1000)
  said <- asked$read_all_error_lines()
  expect(identical(asked$get_exit_status(), 1L) && any(grepl("has ended, or is about to", said)),
    paste(said, collapse = "\n"))
  expect(within(function() !identical(tryCatch(workers(server), error = function(e) pid), pid)), "no other worker")
  expect(within(function() {
    command("profile", "--seconds", "100ms", "--output", tempfile(), env = runtime)$status == 0L
  }), "its successor cannot be looked at")
}, ways = 1)
