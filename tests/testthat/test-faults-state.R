# State that a handler leaves behind: it is put right before the next request, and a line of the log says so.

server <- local_server({
  app <- dr_app()
  folder <- tempfile("state")
  dir.create(folder)
  dr_get(app, "/state", function(req) {
    f <- function(n) if (n == 0) "deep" else f(n - 1)
    list(
      cwd = getwd(), collate = Sys.getlocale("LC_COLLATE"), numeric = Sys.getlocale("LC_NUMERIC"),
      warn = getOption("warn"), expressions = getOption("expressions"), error = is.null(getOption("error")),
      sink = sink.number(), message_sink = sink.number(type = "message"), devices = length(grDevices::dev.list()),
      comma = sprintf("%.1f", 1.5), deep = f(300)
    )
  })
  damages <- list(
    setwd = function() setwd(folder),
    collate = function() Sys.setlocale("LC_COLLATE", if (Sys.getlocale("LC_COLLATE") == "C") "C.UTF-8" else "C"),
    all = function() Sys.setlocale("LC_ALL", if (Sys.getlocale("LC_CTYPE") == "C") "C.UTF-8" else "C"),
    warn = function() options(warn = 2),
    expressions = function() options(expressions = 100),
    error = function() options(error = quote(q("no"))),
    sink = function() sink(file.path(folder, "sink")),
    sinks = function() for (i in 1:5) sink(file.path(folder, paste0("sink", i))),
    message_sink = function() {
      connection <- file(file.path(folder, "messages"), "w")
      sink(connection, type = "message")
    },
    pdf = function() grDevices::pdf(file.path(folder, "plot.pdf")),
    removed_directory = function() {
      gone <- tempfile("gone")
      dir.create(gone)
      setwd(gone)
      unlink(gone, recursive = TRUE)
    }
  )
  dr_get(app, "/damage/<what>", function(req) {
    damages[[req$params[["what"]]]]()
    "done"
  })
  dr_get(app, "/damage-and-stop/<what>", function(req) {
    damages[[req$params[["what"]]]]()
    stop("and then it stops")
  })
  dr_get(app, "/stop/<what>", function(req) stop(req$params$what))
  dr_get(app, "/put-back", function(req) {
    old <- options(warn = 2, expressions = 1000, error = quote(stop()))
    on.exit(options(old))
    directory <- setwd(folder)
    on.exit(setwd(directory), add = TRUE)
    sink(file.path(folder, "sink"))
    sink()
    "put back"
  })
  dr_get(app, "/time-limit", function(req) {
    setTimeLimit(elapsed = 0.05)
    "limited"
  })
  dr_get(app, "/busy", function(req) {
    x <- 0
    until <- proc.time()[["elapsed"]] + 0.2
    while (proc.time()[["elapsed"]] < until) x <- x + 1
    "worked"
  })
}, frame = teardown_env())

state <- function() jsonlite::fromJSON(fetch(server, "/state")$text)
undamaged <- state()

named <- c(
  setwd = "director|getwd|setwd|cwd", removed_directory = "director|getwd|setwd|cwd", collate = "locale", all = "locale",
  warn = "warn", expressions = "expressions", error = "error", sink = "sink", sinks = "sink",
  message_sink = "sink", pdf = "device"
)
for (what in names(named)) local({
  what <- what
  test_that(paste("what a handler leaves behind is repaired and logged:", what), {
    before <- length(server$log())
    expect_identical(fetch(server, paste0("/damage/", what))$text, "done")
    expect_identical(state(), undamaged)
    expect_true(within(function() any(grepl(
      paste0(" WARN .*(", named[[what]], ")"), tail(server$log(), -before), useBytes = TRUE
    ))))
  })
  test_that(paste("what a failing handler leaves behind is repaired too:", what), {
    before <- length(server$log())
    expect_identical(fetch(server, paste0("/damage-and-stop/", what))$status, 500L)
    expect_identical(state(), undamaged)
    expect_true(within(function() any(grepl("and then it stops", tail(server$log(), -before), useBytes = TRUE))))
  })
})

test_that("a request that leaves nothing behind logs nothing", {
  # the log has all that came before these
  fetch(server, "/stop/first")
  server$wait_log("GET /stop/first 500")
  before <- length(server$log())
  expect_identical(fetch_many(server, "/state", 20), rep(200L, 20))
  expect_identical(fetch_many(server, "/put-back", 20), rep(200L, 20))
  fetch(server, "/stop/second")
  server$wait_log("GET /stop/second 500")
  expect_match(tail(server$log(), -before), "GET /stop/second 500")
})

test_that("a time limit that a handler sets costs one later request at most", {
  fetch(server, "/time-limit")
  expect_true(fetch(server, "/busy")$status %in% c(200L, 500L))
  expect_identical(fetch(server, "/busy")$text, "worked")
  expect_identical(fetch(server, "/busy")$text, "worked")
})
