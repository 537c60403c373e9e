test_that("a handler has a job run, with a body, a query and a form, and asks for it", {
  app <- dr_app()
  dr_job(app, "/echo/<name>", function(req) {
    list(name = req$params$name, query = req$query$a, type = req$headers[["content-type"]], body = req$body)
  })
  asks <- list()
  dr_post(app, "/ask", function(req) do.call(dr_enqueue, asks))
  client <- dr_test(app)
  on.exit(client$stop())
  echo <- function(...) {
    asks <<- list(...)
    id <- client$post("/ask")$text
    expect_match(id, "^[0-9a-f]{32}$")
    place <- paste0(sub("[?].*", "", asks[[1L]]), "/", id)
    expect_identical(client$get(place, headers = c(prefer = "wait=30"))$json$state, "done")
    client$get(paste0(place, "/result"))$json
  }
  said <- echo("/echo/a%20b")
  expect_identical(said[c("name", "body")], list(name = "a b", body = ""))
  expect_length(c(said$query, said$type), 0L)
  said <- echo("/echo/x", query = list(a = "\u00e9 &"), json = list(n = 1:2))
  expect_identical(said, list(name = "x", query = "\u00e9 &", type = "application/json", body = "{\"n\":[1,2]}"))
  expect_identical(echo("/echo/x?a=1", form = c(b = "2 3"))[-1L], list(
    query = "1", type = "application/x-www-form-urlencoded", body = "b=2%203"
  ))
  expect_identical(echo("/echo/x", body = "text")$type, "text/plain; charset=utf-8")
  # longer than what is kept with the request
  expect_identical(nchar(echo("/echo/x", body = strrep("x", 1e6))$body), 1000000L)
})

test_that("a job of the app has one name, its time and its types, and no policies", {
  inner <- dr_app()
  dr_job(inner, "/typed", function(n) n, params = list(n = dr_int(min = 1)))
  dr_job(inner, "/body", function(rows) nrow(rows), body = dr_schema(a = dr_dbl()))
  dr_auth_bearer(inner, c(ann = "a-token-that-is-long-enough"))
  app <- dr_app()
  dr_mount(app, "/in", inner)
  dr_get(app, "/not-a-job", function(req) 1)
  asks <- NULL
  dr_post(app, "/ask", function(req) {
    tryCatch(do.call(dr_enqueue, asks), error = function(error) paste(class(error)[[1L]], conditionMessage(error)))
  })
  client <- dr_test(app)
  on.exit(client$stop())
  ask <- function(...) {
    asks <<- list(...)
    client$post("/ask")$text
  }
  expect_identical(client$post("/in/typed?n=1")$status, 401L)
  first <- ask("/in/typed?n=1", key = "one", at = "1h", priority = 5)
  expect_match(first, "^[0-9a-f]{32}$")
  expect_identical(ask("/in/typed?n=2", key = "one"), first)
  expect_false(identical(ask("/in/typed?n=1"), first))
  token <- c(authorization = "Bearer a-token-that-is-long-enough")
  state <- client$get(paste0("/in/typed/", first), headers = token)$json
  expect_identical(state$state, "scheduled")
  due <- as.POSIXct(state$due, format = "%Y-%m-%dT%H:%M:%OSZ", tz = "UTC")
  expect_lt(abs(as.numeric(due) - as.numeric(Sys.time()) - 3600), 60)
  expect_match(ask("/in/typed?n=1", at = Sys.time() - 5), "^[0-9a-f]{32}$")
  expect_identical(ask("/in/typed?n=0"), "drover_error_jobs query.n must be at least 1")
  expect_match(ask("/in/body", json = list(b = 1)), "drover_error_jobs /a is missing")
  # which is looked at by another thread
  expect_match(ask("/in/body", json = list(b = rep(1, 1e5))), "drover_error_jobs /a is missing")
  expect_match(ask("/in/typed/"), "drover_error_jobs no jobs are accepted at /in/typed/: dr_job\\(\\) has them be")
  expect_match(ask("/not-a-job"), "drover_error_jobs no jobs are accepted at /not-a-job")
  expect_match(ask(paste0("/in/typed/", first)), "drover_error_jobs no jobs are accepted at")
  expect_match(ask("/in/ty ped"), "drover_error_jobs .*is no path, with its query if it has one, as clients send it")
})

test_that("the session that serves has jobs run, and a client's key is no key of the app", {
  for (workers in 1:2) {
    ran <- run_script(c(
      fetch_here_lines, "app <- dr_job(dr_app(), '/fits', function(req) paste('of', req$json$x))",
      sprintf("dr_serve(app, port = 0L, workers = %d, block = FALSE, log = 'none')", workers),
      "id <- dr_enqueue('/fits', json = list(x = 'the session'), key = 'k')",
      "stopifnot(identical(dr_enqueue('/fits', key = 'k'), id))",
      "of_client <- dr_from_json(fetch_here(paste0(dr_url(), '/fits'), '-X', 'POST', '-H', 'Idempotency-Key: k'))",
      "stopifnot(of_client$id != id)",
      "invisible(fetch_here(paste0(dr_url(), '/fits/', id), '-H', 'Prefer: wait=30'))",
      "cat(fetch_here(paste0(dr_url(), '/fits/', id, '/result')))",
      "stopifnot(inherits(tryCatch(dr_enqueue('/other'), error = identity), 'drover_error_jobs'))", "dr_stop()"
    ))
    expect_identical(ran$stdout, "of the session", info = paste(ran$stderr, collapse = "\n"))
  }
})

test_that("arguments are checked, and without a server there is none", {
  is_argument <- "drover_error_argument"
  expect_error(dr_enqueue("fits"), "`path` must be a single string that starts with \"/\"", class = is_argument)
  expect_error(dr_enqueue("/fits", key = ""), "`key` must be a single string of 1 to 255 bytes", class = is_argument)
  expect_error(dr_enqueue("/fits", key = strrep("x", 256)), "`key` must be")
  expect_error(dr_enqueue("/fits", at = "soon"), "`at` must be a POSIXct, or how long from now", class = is_argument)
  expect_error(dr_enqueue("/fits", at = -1), "`at` must be")
  expect_error(dr_enqueue("/fits", at = Sys.time()[0L]), "`at` must be")
  expect_error(dr_enqueue("/fits", at = as.POSIXct(NA)), "`at` must be")
  expect_error(dr_enqueue("/fits", priority = 0.5), "`priority` must be a whole number, or NULL, not 0.5")
  expect_error(dr_enqueue("/fits", json = 1, body = "1"), "give one of `body` and `json`")
  expect_error(dr_enqueue("/fits"), "no server runs in this session", class = "drover_error_state")
})
