# Routers of plumber, served by worker processes and in a session. What they answer in every detail is compared with
# plumber in tests/plumber.

skip_if_not_installed("plumber")

plumber_lines <- c(
  "#* @get /where", "function() basename(getwd())", "#* @get /stop", "function() stop('a secret')",
  "#* @plumber", "function(pr) plumber::pr_hook(pr, 'exit', function() cat(paste('exit', Sys.getpid(), basename(getwd())), '\\n', sep = '', file = Sys.getenv('NOTES'), append = TRUE))"
)

router_in <- function(frame = parent.frame()) {
  folder <- withr::local_tempdir(pattern = "router-", .local_envir = frame)
  writeLines(plumber_lines, file.path(folder, "plumber.R"))
  folder
}

test_that("a router works in its file's folder, is served with its docs, and its exit hooks run once", {
  folder <- router_in()
  notes <- withr::local_tempfile()
  withr::local_envvar(NOTES = notes)
  pr <- plumber::plumb(dir = folder)
  before <- getwd()
  server <- serve_workers(pr)
  expect_identical(jsonlite::fromJSON(fetch(server, "/where")$text), basename(folder))
  expect_identical(fetch(server, "/openapi.json")$status, 200L)
  expect_match(fetch(server, "/__docs__/")$text, "swagger")
  dr_stop()
  expect_identical(readLines(notes), paste("exit", Sys.getpid(), basename(folder)))
  # all is as it was before
  expect_identical(getwd(), before)
  expect_false("/openapi.json" %in% vapply(pr$endpoints[["__no-preempt__"]], function(one) one$path, ""))
  expect_length(pr$mounts, 0L)
})

test_that("in a session the working directory is the folder's while a request is answered, and no longer", {
  pr <- plumber::plumb(dir = router_in())
  pr$setErrorHandler(function(req, res, err) stop("twice"))
  withr::defer(dr_stop())
  log <- withr::local_tempfile()
  suppressMessages(dr_serve(pr, port = 0L, block = FALSE, log = log))
  before <- getwd()
  client <- raw_client(as.integer(sub(".*:", "", dr_url())))
  client_send(client, c(request_bytes("/where"), request_bytes("/stop")))
  expect_true(idle_until(function() isTRUE(client_fill(client, 0)) && grepl("500", printable(client$buffer))))
  answers <- printable(client$buffer)
  expect_match(answers, "router-")
  expect_false(grepl("secret|twice", answers))
  expect_identical(getwd(), before)
})

test_that("a router is mounted below a path, and the same one may be served again", {
  pr <- plumber::pr_get(plumber::pr(), "/ping", function(req) req$PATH_INFO)
  app <- dr_get(dr_mount(dr_app(), "/api", pr), "/", function() "front page")
  server <- serve_workers(app)
  expect_identical(fetch(server, "/api/ping")$text, "[\"/ping\"]")
  expect_identical(fetch(server, "/api/none")$status, 404L)
  expect_identical(fetch(server, "/")$text, "front page")
  plumber::pr_get(pr, "/pong", function() "pong")
  dr_reload()
  expect_identical(fetch(server, "/api/pong")$text, "[\"pong\"]")
  expect_identical(fetch(server, "/api/openapi.json")$status, 200L)
})

test_that("debug = TRUE is plumber's debug mode, unless the router has decided", {
  pr <- plumber::pr_get(plumber::pr(), "/stop", function() stop("a reason"))
  quiet <- plumber::pr_set_debug(plumber::pr_get(plumber::pr(), "/stop", function() stop("a reason")), FALSE)
  server <- serve_workers(dr_mount(dr_mount(dr_app(), "/a", pr), "/b", quiet), debug = TRUE)
  expect_match(fetch(server, "/a/stop")$text, "a reason")
  expect_false(grepl("a reason", fetch(server, "/b/stop")$text))
})

test_that("a graphics device that a promise draws on stays open until the promise has ended", {
  skip_if_not_installed("promises")
  pr <- plumber::pr_get(plumber::pr(), "/", function() {
    promises::promise(function(resolve, reject) later::later(function() resolve(graphics::plot(1:3)), 0.05))
  }, serializer = plumber::serializer_svg())
  server <- serve_workers(pr)
  expect_match(fetch(server, "/")$text, "glyph")
})
