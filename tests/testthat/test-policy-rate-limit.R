limits_of <- function(app) lapply(drover:::compile_app(app)$policies, function(policy) policy$rule$rate_limit)

test_that("what is registered is what the engine is given", {
  app <- dr_rate_limit(dr_app(), 10)
  dr_rate_limit(app, 5L, "2m", "token_bucket", "global", "/a", dr_key_header("X-Api-Key"), cost = 2)
  limits <- limits_of(app)
  expect_identical(limits[[1L]], list(
    capacity = 10, window = 60, type = "sliding_window", scope = "per_route", key = "none", cost = 1
  ))
  expect_identical(limits[[2L]], list(
    capacity = 5L, window = 120, type = "token_bucket", scope = "global", key = list(header = "x-api-key"), cost = 2
  ))
  keys <- list("address", dr_key_cookie("Session"), dr_key_param("user"))
  app <- dr_app()
  for (key in keys) dr_rate_limit(app, 1, key = key)
  expect_identical(lapply(limits_of(app), `[[`, "key"), list("address", list(cookie = "Session"), list(param = "user")))
  expect_output(print(dr_key_param("user")), "<dr_key> param \"user\"", fixed = TRUE)
})

test_that("wrong arguments are named", {
  app <- dr_app()
  for (wrong in list(0, 1.5, -1, NA, "10", 1e9, c(1, 2))) {
    expect_argument_error(dr_rate_limit(app, wrong), "`capacity` must be a single integer in 1..100000000")
  }
  for (wrong in list(0, -1, NA, "a while", Inf)) {
    expect_argument_error(dr_rate_limit(app, 1, wrong), "`window` must be a single number of seconds")
  }
  expect_argument_error(dr_rate_limit(app, 1, 0.0001), "`window` must be at least 0.001 seconds")
  expect_argument_error(dr_rate_limit(app, 1, type = "leaky"), "`type` must be \"sliding_window\", \"fixed_window\" or")
  expect_argument_error(dr_rate_limit(app, 1, scope = "all"), "`scope` must be \"per_route\" or \"global\"")
  for (wrong in list("ip", 1, list(header = "x"), dr_key_header)) {
    expect_argument_error(dr_rate_limit(app, 1, key = wrong), "`key` must be NULL, \"address\", or a value of dr_key_header")
  }
  expect_argument_error(dr_rate_limit(app, 2, cost = 3), "`cost` must be a single integer in 1..2")
  expect_argument_error(dr_rate_limit(app, 2, routes = "api"), "`routes` must be")
  expect_argument_error(dr_key_header("X Key"), "`name` must be the name of a header field")
  expect_argument_error(dr_key_cookie("a;b"), "`name` must be the name of a cookie")
  expect_argument_error(dr_key_param("<user>"), "`name` must be the name of a placeholder")
  expect_argument_error(dr_key_param(NA_character_), "`name` must be a single string")
  expect_identical(app$policies, list())
})

test_that("a limit of a served app refuses, and keeps its count over dr_reload()", {
  server <- local_server({
    app <- dr_app()
    dr_get(app, "/", function(req) "passed")
    dr_get(app, "/reload", function(req) {
      later::later(dr_reload)
      "soon"
    })
    dr_rate_limit(app, 1, 3600, "token_bucket", routes = "/", scope = "global", key = dr_key_header("X-Key"))
  })
  status <- function(path, key) {
    handle <- curl::new_handle()
    curl::handle_setheaders(handle, "X-Key" = key)
    curl::curl_fetch_memory(paste0(server$url, path), handle)$status_code
  }
  expect_identical(c(status("/", "a"), status("/", "a")), c(200L, 429L))
  expect_identical(status("/reload", "b"), 200L)
  server$wait_log("reloaded")
  expect_identical(c(status("/", "a"), status("/", "b"), status("/", "c")), c(429L, 429L, 200L))
})
