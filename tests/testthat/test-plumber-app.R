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

test_that("dr_abort() in endpoints and filters of a router is answered as anywhere, by the app around it", {
  inner <- plumber::pr_get(plumber::pr(), "/deep", function() dr_abort(410, "gone"))
  pr <- plumber::pr() |>
    plumber::pr_get("/plain", function() dr_abort(403, "not you")) |>
    plumber::pr_get("/req", function(req) dr_abort(403, "not you", headers = list("X-Why" = "none"))) |>
    plumber::pr_get("/later", function() promises::promise_resolve(1)$then(function(v) dr_abort(409, "later"))) |>
    plumber::pr_get("/caught", function() tryCatch(dr_abort(403), drover_error_http = function(e) e$status)) |>
    plumber::pr_get("/fails", function() stop("a secret")) |>
    plumber::pr_filter("stops", function(req) {
      if (!is.null(req$HTTP_X_STOP)) dr_abort(429, "filtered")
      plumber::forward()
    }) |>
    plumber::pr_mount("/inner", inner) |>
    plumber::pr_set_error(function(req, res, err) "plumber's")
  app <- dr_mount(dr_app(), "/api", pr)
  dr_on_error(app, function(req, err) dr_text(paste("ours:", conditionMessage(err)), status = err$status, headers = err$headers))
  for (how in c("fast", "full")) {
    server <- serve_workers(app, plumber = how)
    answer <- function(path, ...) with(fetch(server, path, ...), paste(status, text))
    expect_identical(answer("/api/plain"), "403 ours: not you")
    expect_identical(answer("/api/req"), "403 ours: not you")
    expect_identical(answer("/api/later"), "409 ours: later")
    expect_identical(answer("/api/inner/deep"), "410 ours: gone")
    expect_identical(answer("/api/caught"), "200 [403]")
    expect_match(answer("/api/fails"), "plumber's", fixed = TRUE)
    expect_identical(answer("/api/plain", headers = c("X-Stop" = "1")), "429 ours: filtered")
    expect_identical(fetch(server, "/api/req")$headers[["x-why"]], "none")
    dr_stop()
  }
  # as it was before
  expect_identical(pr$.__enclos_env__$private$errorHandler(NULL, NULL, NULL), "plumber's")
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
