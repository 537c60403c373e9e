shop <- function() {
  app <- dr_app()
  dr_use(app, function(req, forward) dr_set_header(forward(), "X-Seen", req$method))
  dr_get(app, "/users/<id:int>", function(req) list(id = req$params$id, q = req$query$q))
  dr_post(app, "/sum", function(req) list(sum = sum(req$json$numbers)))
  dr_post(app, "/form", function(req) paste(req$form$a, req$form$b))
  dr_post(app, "/bytes", function(req) req$raw)
  dr_get(app, "/fails", function(req) stop("a secret"))
  dr_get(app, "/login", function(req) dr_set_cookie(dr_text("in"), "session", "me"))
  dr_get(app, "/logout", function(req) dr_set_cookie(dr_text("out"), "session", "", max_age = 0))
  dr_get(app, "/who", function(req) dr_cookie(req, "session") %||% "nobody")
  dr_get(app, "/agent", function(req) paste(dr_header(req, "user-agent"), dr_header(req, "host")))
  dr_get(app, "/stream", function(req) {
    dr_stream(function(state, cancelled) list(chunk = paste0("n", state, " "), state = state + 1, done = state == 3), 1,
      content_type = "text/plain")
  })
  dr_get(app, "/endless", function(req) dr_stream_sse(function(state, cancelled) list(data = "x"), min_interval = 0.05))
  dr_get(app, "/later", function(req) {
    promises::promise(function(resolve, reject) later::later(function() resolve("then"), 0.05))
  })
  app
}

test_that("an app is asked in this session, through all that a server does", {
  client <- dr_test(shop())
  on.exit(client$stop())
  user <- client$get("/users/7", query = list(q = "a b&c"))
  expect_identical(user$status, 200L)
  expect_identical(user$json, list(id = 7L, q = "a b&c"))
  expect_identical(user$headers$`x-seen`, "GET")
  expect_identical(client$post("/sum", json = list(numbers = 1:3))$json, list(sum = 6L))
  expect_identical(client$post("/form", form = list(a = "1 & 2", b = "\u00e4"))$text, "1 & 2 \u00e4")
  expect_identical(client$post("/bytes", body = as.raw(0:255))$raw, as.raw(0:255))
  expect_identical(client$get("/users/x")$status, 404L)
  expect_identical(client$put("/sum")$status, 405L)
  expect_identical(client$request("OPTIONS", "/sum")$status, 204L)
  expect_identical(client$head("/users/7")$raw, raw())
  expect_identical(client$get("/agent", headers = c("User-Agent" = "me", Host = "there"))$text, "me there")
  # handlers run here, where they can be mocked and looked into
  seen <- NULL
  dr_get(client$app, "/here", function(req) seen <<- Sys.getpid())
  client$stop()
  client$get("/here")
  expect_identical(seen, Sys.getpid())
})

test_that("an error is a response, and its text is in the log and not in the body", {
  client <- dr_test(shop())
  on.exit(client$stop())
  failed <- client$get("/fails")
  expect_identical(failed$status, 500L)
  expect_no_match(failed$text, "secret")
  expect_match(failed$log, "a secret", all = FALSE)
  expect_length(client$get("/who")$log, 0L)
  shown <- dr_test(shop(), debug = TRUE)
  expect_match(shown$get("/fails")$text, "a secret")
  shown$stop()
})

test_that("streams, promises and cookies are as for a client", {
  client <- dr_test(shop())
  on.exit(client$stop())
  expect_identical(client$get("/stream")$text, "n1 n2 n3 ")
  skip_if_not_installed("promises")
  expect_identical(client$get("/later")$text, "then")
  expect_identical(client$get("/who")$text, "nobody")
  client$get("/login")
  expect_identical(client$cookies, c(session = "me"))
  expect_identical(client$get("/who")$text, "me")
  client$get("/logout")
  expect_identical(client$get("/who")$text, "nobody")
  client$cookies <- c(session = "you")
  expect_identical(client$get("/who")$text, "you")
})

test_that("what does not end is cut after the timeout, and what does not begin is an error", {
  client <- dr_test(shop(), timeout = 1)
  on.exit(client$stop())
  # on a machine with much to do a second may be too short for any answer
  endless <- NULL
  expect_true(within(function() {
    endless <<- tryCatch(client$get("/endless"), drover_error_timeout = function(error) NULL)
    !is.null(endless)
  }))
  expect_identical(endless$status, 200L)
  expect_match(endless$text, "^data: x\n\n")
  never <- dr_app()
  dr_get(never, "/", function(req) promises::promise(function(resolve, reject) NULL))
  silent <- dr_test(never, timeout = 0.3)
  skip_if_not_installed("promises")
  expect_error(silent$get("/"), "no response came within 0.3 seconds", class = "drover_error_timeout")
  silent$stop()
})

test_that("one client after the other has the session, and a server of dr_serve() goes before", {
  first <- dr_test(shop())
  second <- dr_test(dr_get(dr_app(), "/", function(req) "second"), limits = dr_limits(max_body = 10))
  expect_identical(first$get("/who")$status, 200L)
  expect_identical(second$get("/")$text, "second")
  expect_identical(second$post("/", body = strrep("x", 100))$status, 405L)
  expect_identical(first$get("/who")$status, 200L)
  suppressMessages(dr_serve(shop(), port = 0L, block = FALSE, log = "none"))
  expect_error(first$get("/who"), class = "drover_error_running")
  dr_stop()
  expect_identical(first$get("/who")$status, 200L)
  first$stop()
  # nothing is left
  expect_false(drover:::engine_running())
})

test_that("files of plumber and others are asked the same way", {
  skip_if_not_installed("plumber")
  file <- withr::local_tempfile(lines = c("#* @get /echo", "function(msg = '') list(msg = msg)"), fileext = ".R")
  client <- dr_test(file)
  on.exit(client$stop())
  expect_identical(client$get("/echo?msg=hi")$json, list(msg = "hi"))
  router <- plumber::pr_get(plumber::pr(), "/a", function() "b")
  routed <- dr_test(router)
  expect_identical(routed$get("/a")$json, "b")
  routed$stop()
})

test_that("arguments that are wrong are named", {
  expect_argument_error(dr_test(1), "`app` must be an app")
  expect_argument_error(dr_test("no-such-file.R"), "or the path of a file with one")
  expect_argument_error(dr_test(dr_app(), port = 1), "`port` is not for tests")
  expect_argument_error(dr_test(dr_app(), timeout = -1), "`timeout` must be")
  client <- dr_test(shop())
  expect_argument_error(client$get("users"), "`path` must be a string that starts with")
  expect_argument_error(client$get("/a b"), "`path` must be a string that starts with")
  expect_argument_error(client$post("/", body = "a", json = 1), "give one of `body` and `json`")
  expect_argument_error(client$get("/", query = list(1)), "`query` must be a named list")
  expect_argument_error(client$get("/", headers = list(A = "a\r\nb")), "`headers` must be a named list")
  expect_argument_error(client$request("GET /", "/"), "`method` must be")
})

test_that("expectations say what is wrong, and show the response", {
  client <- dr_test(shop())
  on.exit(client$stop())
  user <- client$get("/users/7?q=x")
  expect_identical(
    user |> expect_status(200) |> expect_header("Content-Type", "application/json") |> expect_header("x-seen") |>
      expect_header("x-other", NA) |> expect_header("x-seen", pattern = "^G") |> expect_json(list(id = 7L, q = "x")),
    user
  )
  expect_failure(expect_status(user, c(201, 404)), "the status is 200, not 201 or 404")
  expect_failure(expect_header(user, "x-seen", "POST"), "`x-seen` is \"GET\", not \"POST\"")
  expect_failure(expect_header(user, "x-none"), "`x-none` is not there")
  expect_failure(expect_header(user, "x-seen", NA), "`x-seen` is \"GET\"")
  expect_failure(expect_json(user, list(id = 8L)))
  expect_failure(expect_text(user, "^no"), "the body does not match")
  expect_failure(expect_status(client$get("/fails"), 200), "a secret")
  expect_argument_error(expect_status(1, 200), "`response` must be a response of a client")
  expect_argument_error(expect_status(user, 99), "`status` must be")
})
