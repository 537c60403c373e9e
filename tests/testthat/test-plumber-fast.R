# Endpoints of plumber that are answered without its steps. That the answers are plumber's is for tests/plumber to show.

skip_if_not_installed("plumber")

reasons <- function(pr) {
  entries <- drover:::plan_router(pr)
  stats::setNames(
    vapply(entries, function(entry) if (is.null(entry$reason)) "fast" else entry$reason, ""),
    vapply(entries, function(entry) entry$path, "")
  )
}

test_that("why an endpoint goes the whole way is told", {
  pr <- plumber::pr()
  pr <- plumber::pr_get(pr, "/fast", function() 1)
  pr <- plumber::pr_get(pr, "/first", function() 1, preempt = "__first__")
  pr <- plumber::pr_get(pr, "/x+", function() 1)
  pr <- plumber::pr_get(pr, "/xx", function() 1)
  pr <- plumber::pr_get(pr, "/forwards", function() plumber::forward())
  pr <- plumber::pr_get(pr, "/plot", function() 1, serializer = plumber::serializer_png())
  pr <- plumber::pr_mount(pr, "/mounted", plumber::pr_get(plumber::pr(), "/<id:int>", function(id) id))
  expect_identical(reasons(pr), c(
    "/first" = "it is tried before all filters", "/fast" = "fast", "/x+" = "its path is a regular expression",
    "/xx" = "another one answers this path before it", "/forwards" = "it calls forward()",
    "/plot" = "hooks, or a serializer with a graphics device", "/mounted/<id:int>" = "fast"
  ))
  expect_identical(unname(reasons(plumber::pr_filter(pr, "mine", identity)))[[2L]], "filters: mine")
  hooked <- plumber::pr_hook(plumber::pr_get(plumber::pr(), "/", function() 1), "preroute", function(req) 1)
  expect_identical(unname(reasons(hooked)), "the router has hooks: preroute")
  ends <- plumber::pr_hook(plumber::pr_get(plumber::pr(), "/", function() 1), "exit", function() 1)
  expect_identical(unname(reasons(ends)), "fast")
})

test_that("routes, static folders and middleware of drover stand beside a router, which may be below any path", {
  folder <- withr::local_tempdir()
  writeLines("a file", file.path(folder, "file.txt"))
  pr <- plumber::pr_get(plumber::pr(), "/ping", function(req) list(path = req$PATH_INFO, script = req$SCRIPT_NAME))
  pr <- plumber::pr_get(pr, "/n/<n:int>", function(n) n, serializer = plumber::serializer_unboxed_json())
  app <- dr_get(dr_rook(pr), "/new", function(req) "new")
  dr_static(app, "/static", folder)
  dr_use(app, function(req, nxt) dr_set_header(nxt(), "X-Outer", "yes"))
  server <- serve_workers(dr_mount(app, "/t/:tenant", pr))
  for (path in c("/ping", "/t/one/ping")) {
    answer <- fetch(server, path)
    script <- sub("/ping", "", path)
    expect_identical(answer$text, sprintf("{\"path\":[\"/ping\"],\"script\":[\"%s\"]}", script))
    expect_identical(answer$headers[["x-outer"]], "yes")
  }
  expect_identical(fetch(server, "/n/7")$text, "7")
  expect_identical(fetch(server, "/t/one/n/-7")$text, "-7")
  expect_identical(fetch(server, "/t/one/n/x")$status, 404L)
  expect_identical(fetch(server, "/new")$text, "new")
  expect_identical(fetch(server, "/static/file.txt")$text, "a file\n")
  expect_identical(fetch(server, "/static/none")$status, 404L)
  expect_identical(fetch(server, "/none")$text, "{\"error\":\"404 - Resource Not Found\"}")
})

test_that("with plumber = \"verify\" the log says where the answers differ, and clients get plumber's", {
  called <- 0
  pr <- plumber::pr_get(plumber::pr(), "/count", function() {
    called <<- called + 1
    called
  })
  pr <- plumber::pr_get(pr, "/same", function() "same")
  withr::defer(dr_stop())
  log <- withr::local_tempfile()
  suppressMessages(dr_serve(pr, port = 0L, block = FALSE, log = log, plumber = "verify"))
  client <- raw_client(as.integer(sub(".*:", "", dr_url())))
  client_send(client, c(request_bytes("/same"), request_bytes("/count")))
  expect_true(idle_until(function() {
    isTRUE(client_fill(client, 0)) && grepl("[2]", printable(client$buffer), fixed = TRUE)
  }))
  # a thread of its own writes the log
  lines <- function() grep("fast path", readLines(log), value = TRUE)
  expect_true(within(function() length(lines()) > 0L))
  lines <- lines()
  expect_length(lines, 1L)
  expect_match(lines, "GET /count on the fast path differs in body", fixed = TRUE)
})

test_that("an error of an endpoint is printed once, as plumber does, and its status and header fields count", {
  pr <- plumber::pr_get(plumber::pr(), "/stop", function(res) {
    res$status <- 400L
    res$setHeader("X-Why", "because")
    stop("a secret")
  })
  server <- serve_workers(pr)
  answer <- fetch(server, "/stop")
  expect_identical(answer$status, 400L)
  expect_identical(answer$text, "{\"error\":\"Internal error\"}")
  expect_identical(answer$headers[["x-why"]], "because")
  expect_false(any(grepl("secret", server$log())))
})

test_that("JSON that would keep jsonlite busy is refused, on the fast path and by the whole way", {
  server <- local_server({
    answer <- function(req) length(req$body)
    app <- plumber::pr_post(plumber::pr(), "/fast", answer)
    app <- plumber::pr_post(app, "/whole", answer, preempt = "__first__")
  })
  records <- sprintf("{\"k%d\":1}", 1:9000)
  json <- function(...) paste0("[", paste(c(...), collapse = ","), "]")
  file <- withr::local_tempfile()
  for (path in c("/fast", "/whole")) {
    ask <- function(text, type = "application/json") {
      writeLines(text, file, sep = "")
      http(server, path, "-H", paste0("Content-Type:", type), "--data-binary", paste0("@", file))$status
    }
    for (type in c(" application/json", " text/json", "")) expect_identical(ask(json(records), type), 400L, info = type)
    # what only jsonlite reads leads nobody there
    expect_identical(ask(json("1e999", records)), 400L)
    expect_identical(ask(json(sprintf("{\"k\":%d}", 1:9000))), 200L)
    expect_identical(ask(json("1e999", records[1:3])), 200L)
  }
})

test_that("a NUL in a query or a cookie is an error, and not the end of the value", {
  server <- local_server({
    app <- plumber::pr_get(plumber::pr(), "/", function(req, x = "") paste0(x, req$cookies$c))
  })
  expect_identical(http(server, "/?x=a%20", "-H", "Cookie: c=b%20")$status, 200L)
  for (x in c("a%00", "%00", "a%00b")) expect_identical(http(server, paste0("/?x=", x))$status, 500L, info = x)
  expect_identical(http(server, "/", "-H", "Cookie: c=b%00")$status, 500L)
})
