# What an app opens while it is loaded, and forks of the process must not share: connections, children, threads.

# Asks for /echo/N, N from 1 to `n`, 8 at a time: how often the answer was that, a failure, or another's.
ends_of_echoes <- function(server, n = 40) {
  ends <- character()
  for (numbers in split(seq_len(n), (seq_len(n) - 1L) %/% 8L)) {
    asked <- lapply(numbers, function(i) ask_later(server, paste0("/echo/", i)))
    for (i in seq_along(numbers)) {
      answer <- asked[[i]]()
      is_right <- answer$status == "200" && gsub("[^0-9]", "", answer$body) == numbers[[i]]
      ends <- c(ends, if (is_right) "right" else if (answer$status == "200") "another's" else "failed")
    }
  }
  ends
}

expect_ends <- function(server, end, n = 40) {
  ends <- ends_of_echoes(server, n)
  expect(all(ends == end), "of ", n, ": ", toString(paste(table(ends), names(table(ends)))))
}

spawns <- "each worker loads the app by itself, as forks must not share what it has opened: "

# The children of a cluster answer one after the other, over one connection each.
cluster_app <- function() {
  write_app(c(
    "cl <- parallel::makeCluster(2)", "app <- dr_app()",
    "dr_get(app, '/echo/:n', function(req) {",
    "  answer <- parallel::clusterApply(cl[1], req$params$n, function(n) { Sys.sleep(0.01); n })[[1]]",
    "  dr_text(answer)", "})", "app"
  ))
}

test("connections that an app opens while it is loaded are each worker's own, and the log says why", function() {
  server <- serve(cluster_app(), workers = 2)
  expect_ends(server, "right")
  expect(logged(server, paste0(spawns, "app-.*[.]R, line 3: 2 connections \\(127.0.0.1:[0-9]+, ")), "the log")
  # after a reload, and in the place of one that has died
  old <- zygotes(server)
  send_signal(server$pid, 1L)
  expect(within(function() length(zygotes(server)) == 2L && !any(zygotes(server) %in% old)), "no new ones")
  send_signal(zygotes(server)[[1L]], tools::SIGKILL)
  expect(within(function() length(zygotes(server)) == 2L), "none in its place")
  expect_ends(server, "right", 8)
}, ways = 1:2)

test("forks that are asked for by name cannot use them, and nobody gets another's answer", function() {
  server <- serve(cluster_app(), workers = 2, start = "fork")
  # one by itself would be answered over a connection that is shared
  expect(ask(server, "/echo/1")$status == "500", "the connection can be used")
  expect_ends(server, "failed")
  expect(logged(server, "forked workers cannot use what was opened before: .*2 connections"), "the log")
}, ways = 1:2)

test("workers of a session do not have what it has opened, and a line says so", function() {
  server <- serve_session("serve(workers = 2L)", cluster_app())
  expect(ask(server, "/echo/1")$status == "500", "the connection can be used")
  told <- "workers cannot use what this session has opened, as forks must not share it: 2 connections \\(127.0.0.1:"
  expect(logged(server, told), "the log")
  # nor has a zygote that is forked when the server runs
  old <- workers(server)
  send_signal(server$pid, 1L)
  wait_for_workers(server, 2, but = old)
  expect_ends(server, "failed", 8)
})

test("futures in other sessions are answered rightly, however the server is started", function() {
  if (!requireNamespace("future", quietly = TRUE)) skip("the package 'future' is not installed")
  server <- serve(write_app(c(
    "library(promises)", "future::plan(future::multisession, workers = 2)", "app <- dr_app()",
    "dr_get(app, '/echo/:n', function(req) {", "  n <- req$params$n",
    "  future_promise({ Sys.sleep(0.01); n }, globals = list(n = n))", "})", "app"
  )), workers = 2, env = with_usual_packages)
  expect_ends(server, "right")
})

test("a plumber.R with a plan of futures at its top runs unchanged", function() {
  if (!requireNamespace("future", quietly = TRUE)) skip("the package 'future' is not installed")
  if (!requireNamespace("plumber", quietly = TRUE)) skip("the package 'plumber' is not installed")
  file <- file.path(tempfile("futures-"), "plumber.R")
  dir.create(dirname(file))
  writeLines(c(
    "library(promises)", "future::plan(future::multisession, workers = 2)", "",
    "#* @get /echo/<n>", "function(n) {", "  future_promise({", "    Sys.sleep(0.01)", "    n", "  })", "}"
  ), file)
  server <- serve(file, workers = 2, env = with_usual_packages)
  expect_ends(server, "right")
  expect(logged(server, paste0(spawns, "plumber.R, line 2: 2 connections")), "the log")
}, ways = 1:2)

test("children and threads are found, and named", function() {
  server <- serve(write_app(c(
    "dyn.load(Sys.getenv('FAULTS'))", ".C('keep_thread')", "child <- pipe('cat > /dev/null', 'w')",
    "dr_get(dr_app(), '/echo/:n', function(req) dr_text(req$params$n))"
  )), workers = 1)
  expect(logged(server, paste0(
    spawns, "app-.*, line 4: a thread \\(faults-.*[.]so\\); app-.*, line 5: a pipe to another process"
  )), "the log: ", grep("forks must", server$log(), value = TRUE))
  expect_ends(server, "right", 8)
}, ways = 1:2)

test("threads of OpenMP do no harm, wherever they were before", function() {
  library <- made_once("openmp", function(folder) {
    processx::run("cc", c("-O1", "-fopenmp", "-shared", "-fPIC", "-o", file.path(folder, "openmp.so"),
      file.path(here, "openmp.c")))
  })
  server <- serve(write_app(c(
    sprintf("dyn.load('%s')", file.path(library, "openmp.so")),
    "add_up <- function(n) .C('add_up', as.integer(n), sum = 0L, threads = 0L)",
    "stopifnot(add_up(10)$threads == 2L)",
    "dr_get(dr_app(), '/echo/:n', function(req) {", "  added <- add_up(1000)",
    "  stopifnot(added$sum == 500500L, added$threads == 2L)", "  dr_text(req$params$n)", "})"
  )), workers = 2, timeout = 10)
  if (!is_spawned()) expect(length(wait_for_workers(server, 2)) == 2L, "they are not forked")
  expect_ends(server, "right")
  expect(!any(grepl("forks must not share|cannot use", server$log())), "something was found")
}, ways = 1:3)

test("what packages have for themselves, files for writing and locks are shared, and workers are forked", function() {
  packages <- Filter(function(package) requireNamespace(package, quietly = TRUE), c("promises", "curl", "httr", "cli"))
  server <- serve(write_app(c(
    sprintf("library(%s)", packages), "lines <- file(tempfile(), 'w')", "lock <- file(tempfile(), 'w+b')",
    "anonymous <- file()", "dr_get(dr_app(), '/echo/:n', function(req) {", "  writeLines(req$params$n, lines)",
    "  dr_text(req$params$n)", "})"
  )), workers = 2)
  wait_for_workers(server, 2)
  expect_ends(server, "right", 8)
  expect(!any(grepl("forks must not share|cannot use", server$log())), paste(server$log(), collapse = "\n"))
}, ways = 1:3)

test("processes that load an app draw the same keys while they do, and as workers other numbers", function() {
  app <- write_app(c(
    "key <- paste(sample(letters, 32, TRUE), collapse = '')",
    "if (requireNamespace('plumber', quietly = TRUE)) key <- paste(key, plumber::random_cookie_key())",
    "app <- dr_app()", "dr_get(app, '/key', function(req) dr_text(key))",
    "dr_get(app, '/drawn', function(req) dr_text(paste(Sys.getpid(), stats::runif(1))))",
    "dr_get(app, '/environ', function(req) {", "  bytes <- readBin('/proc/self/environ', raw(), 1e5)",
    "  bytes[bytes == 0] <- charToRaw(' ')", "  dr_text(rawToChar(bytes))", "})",
    "dr_get(app, '/held', function(req) { stand_at('held'); dr_text(key) })", "app"
  ))
  keys <- function(server) {
    # two workers are asked: one is held
    held <- ask_until_begun(server, "/held", "held")
    free <- ask(server, "/key")$body
    open_gate(server, "held")
    c(held()$body, free)
  }
  server <- serve(app, workers = 2, start = "spawn")
  first <- keys(server)
  expect(first[[1L]] == first[[2L]] && nchar(first[[1L]]) >= 32L, "other keys: ", toString(first))
  drawn <- vapply(1:10, function(i) ask(server, "/drawn")$body, "")
  expect(!anyDuplicated(sub("^\\S+ ", "", drawn)), "the same numbers: ", toString(drawn))
  # what they are drawn from is nowhere to be read
  environ <- ask(server, "/environ")$body
  expect(grepl("PATH=", environ) && !grepl("DROVER_SECRET= *[^ A-Z]|[\"{]limits", environ), "the environment: ", environ)
  other <- serve(app, workers = 1, start = "spawn")
  expect(ask(other, "/key")$body != first[[1L]], "another server has the same keys")
}, ways = 1:2)

# Each endpoint of such a file needs what a hook has opened.
hooked_file <- function() {
  file <- file.path(tempfile("hooks-"), "plumber.R")
  dir.create(file.path(dirname(file), "marks"), recursive = TRUE)
  writeLines(c(
    "opened <- NULL", "",
    "#* @workerStart", "function() opened <<- c(opened, 'annotated')", "",
    "on_worker_start <- function() opened <<- c(opened, paste('named', Sys.getpid()))", "",
    "#* @workerStop", "on_worker_stop <- function() cat('end', file = file.path('marks', Sys.getpid()), append = TRUE)", "",
    "#* @get /opened", "function() c(opened, Sys.getpid())"
  ), file)
  file
}

for (kind in c("plumber", "annotations")) local({
  kind <- kind
  test(paste("a plumber.R says what each worker does at its start and end:", kind), function() {
    if (kind == "plumber" && !requireNamespace("plumber", quietly = TRUE)) skip("'plumber' is not installed")
    file <- hooked_file()
    server <- serve(file, workers = 1, kind = kind)
    opened <- jsonlite::fromJSON(ask(server, "/opened")$body)
    expect(length(opened) == 3L, "other hooks: ", toString(opened))
    expect(setequal(opened[1:2], c("annotated", paste("named", opened[[3L]]))), "other hooks: ", toString(opened))
    send_signal(server$pid, tools::SIGTERM)
    expect(exit_status(server) == 0L, "another status")
    # that has the tag and the name, and is called once; the zygote calls none
    left <- list.files(file.path(dirname(file), "marks"), full.names = TRUE)
    expect(identical(basename(left), opened[[3L]]), "hooks of the end: ", toString(basename(left)))
    expect(identical(readLines(left, warn = FALSE), "end"), "it is called again")
  }, ways = 1:2)
})
