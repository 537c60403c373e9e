key <- strrep("k", 32)

test_that("what is registered is what the engine is given", {
  Sys.setenv(DROVER_TEST_KEY = strrep("e", 32))
  on.exit(Sys.unsetenv("DROVER_TEST_KEY"))
  app <- dr_session(dr_app(), c(key, strrep("l", 40)), env = "DROVER_TEST_KEY", name = "s", max_age = "1h", secure = FALSE)
  expect_identical(drover:::compile_app(app)$policies[[1L]]$rule$session, list(
    name = "s", max_age = 3600, secure = FALSE, same_site = "Lax",
    keys = list(key, strrep("l", 40), strrep("e", 32))
  ))
})

test_that("wrong arguments are named, and keys not shown", {
  app <- dr_app()
  for (wrong in list("short", c(key, "short"), NA, 7, character())) {
    error <- expect_argument_error(dr_session(app, wrong), "`keys` must be NULL or keys of at least 32 bytes")
    expect_false(grepl("short", conditionMessage(error)))
  }
  expect_argument_error(dr_session(app), "one of `keys`, `file`, `env` must be given")
  expect_argument_error(dr_session(app, env = "A KEY"), "`env` must be NULL or names of environment variables")
  expect_argument_error(dr_session(app, env = "DROVER_NO_SUCH_KEY"), "DROVER_NO_SUCH_KEY is not set")
  for (wrong in list("a b", "", strrep("a", 65), NA)) {
    expect_argument_error(dr_session(app, key, name = wrong), "`name` must be a single string of at most 64 letters")
  }
  expect_argument_error(dr_session(app, key, max_age = 0.5), "`max_age` must be at least one second")
  for (wrong in list(0.5, "13h")) {
    expect_argument_error(dr_session(app, key, idle = wrong), "`idle` must be at least one second, and at most")
  }
  expect_argument_error(dr_session(app, key, idle = "soon"), "`idle` must be a single number of seconds")
  expect_argument_error(dr_session(app, key, max_age = "2000d"), "`max_age` must be a single number of seconds")
  expect_argument_error(dr_session(app, key, same_site = "lax"), "`same_site` must be")
  expect_argument_error(dr_session(app, key, secure = FALSE), "`secure` must be TRUE when")
  none <- quote(dr_session(app, key, name = "s", same_site = "None", secure = FALSE))
  expect_argument_error(eval(none), "`secure` must be TRUE when")
  expect_identical(app$policies, list())
})

test_that("a session is set once in a response, and is a list", {
  told <- function(response) response$headers[names(response$headers) == ":session"]
  response <- dr_session_set(dr_session_set("hello", list(n = 1)), list(user = "ann", roles = c("a", "b")))
  expect_identical(told(response), list(":session" = "{\"user\":\"ann\",\"roles\":[\"a\",\"b\"]}"))
  expect_identical(c(response$status, response$body), c("200", "hello"))
  expect_identical(told(dr_session_set("x", list())), list(":session" = "{}"))
  expect_identical(told(dr_session_set("x", NULL)), list(":session" = ""))
  for (wrong in list("text", list(1), c(a = 1), list(a = 1, 2))) {
    expect_argument_error(dr_session_set("x", wrong), "`session` must be a named list, or NULL")
  }
  # no field that a handler passes on is taken for a session
  expect_argument_error(dr_set_header("x", ":session", "{\"n\":1}"), "headers")
  expect_argument_error(dr_response("x", headers = list(":session" = "{\"n\":1}")), "headers")
})

test_that("what is too long is told where it is set", {
  fits <- strrep("x", 2900 - nchar("{\"t\":\"\"}"))
  expect_s3_class(dr_session_set("x", list(t = fits)), "dr_response")
  expect_argument_error(
    dr_session_set("x", list(t = paste0(fits, "x"))), "`session` must not be longer than 2900 bytes as JSON, not 2901"
  )
})

test_that("the longest session and name are a cookie that browsers take", {
  server <- local_server({
    app <- dr_app()
    dr_get(app, "/set", function(req) dr_session_set("x", list(t = strrep("x", 2900 - nchar("{\"t\":\"\"}")))))
    dr_session(app, strrep("k", 32), name = strrep("n", 64), max_age = "365d", same_site = "Strict")
  })
  answer <- curl::curl_fetch_memory(paste0(server$url, "/set"))
  expect_identical(answer$status_code, 200L)
  cookie <- grep("^set-cookie: ", curl::parse_headers(answer$headers), value = TRUE)
  length <- nchar(sub("^set-cookie: ", "", cookie))
  expect_true(length > 4000 && length <= 4096, info = length)
})
