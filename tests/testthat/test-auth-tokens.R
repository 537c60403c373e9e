by_of <- function(app) drover:::compile_app(app)$policies[[1L]]$rule$auth$by

test_that("apps keep hashes of secrets, and names of files", {
  file <- tempfile()
  file.create(file)
  # sha256sum
  hash <- "sha256:9f9f5111f7b27a781f1f1ddde5ebc2dd2b796bfc7365c9c28b548e564176929f"
  Sys.setenv(DROVER_TEST_TOKEN = "0123456789abcdef")
  on.exit(Sys.unsetenv("DROVER_TEST_TOKEN"))
  app <- dr_auth_bearer(dr_app(), c(a = "0123456789abcdef", b = hash), file, c(c = "DROVER_TEST_TOKEN"))
  expect_identical(by_of(app)$bearer, list(
    tokens = lapply(c("a", "b", "c"), function(name) list(name = name, value = hash)), file = normalizePath(file)
  ))
  expect_false(any(grepl("0123456789abcdef", deparse(app$policies))))
  app <- dr_auth_key(dr_app(), c(a = hash), header = "X-Key")
  keys <- list(tokens = list(list(name = "a", value = hash)))
  expect_identical(by_of(app)$key, list(header = "x-key", keys = keys))
})

test_that("scopes are those of names, and a path asks for some", {
  scopes <- list(a = c("read", "write"), b = "read")
  key <- c(a = strrep("a", 16), b = strrep("b", 16))
  expect_scopes <- function(app, of) {
    auth <- drover:::compile_app(app)$policies[[1L]]$rule$auth
    expect_identical(auth$scope, list("write"))
    expect_identical(of(auth$by), list(a = list("read", "write"), b = list("read")))
  }
  expect_scopes(dr_auth_bearer(dr_app(), key, scopes = scopes, scope = "write"), function(by) by$bearer$scopes)
  expect_scopes(dr_auth_key(dr_app(), key, scopes = scopes, scope = "write"), function(by) by$key$keys$scopes)
  users <- c(a = dr_password_hash("secret"))
  expect_scopes(dr_auth_basic(dr_app(), users, scopes = scopes, scope = "write"), function(by) by$basic$scopes)
  for (wrong in list(list("read"), list(), "read", 7, list(a = "x", a = "y"), list(a = "x", "y"))) {
    expect_argument_error(dr_auth_key(dr_app(), key, scopes = wrong), "`scopes` must be NULL or a named list")
  }
  for (wrong in list(list(a = "two words"), list(a = ""), list(a = 7))) {
    expect_argument_error(dr_auth_key(dr_app(), key, scopes = wrong), "`scopes` must be NULL or ")
  }
  expect_argument_error(dr_auth_key(dr_app(), key, scope = "two words"), "`scope` must be NULL or scopes without")
})

test_that("wrong secrets are refused, and not shown", {
  app <- dr_app()
  for (wrong in list("0123456789abcdef", c(a = "hunter2"), c(a = "sha256:123"), c(a = NA), list(a = strrep("x", 16)))) {
    for (refused in list(quote(dr_auth_bearer(app, wrong)), quote(dr_auth_key(app, wrong)))) {
      pattern <- "must be NULL or a named character vector: secrets of at least 16 bytes"
      error <- expect_argument_error(eval(refused), pattern)
      expect_false(grepl("hunter2", conditionMessage(error)))
    }
  }
  key <- c(a = strrep("k", 16))
  for (wrong in list("X Key", "Authorization", "COOKIE", "", NA, c("a", "b"))) {
    expect_argument_error(dr_auth_key(app, key, header = wrong), "`header` must be the name of a header field of")
  }
})

test_that("secrets come from the server's environment", {
  Sys.setenv(DROVER_TEST_TOKEN = "token-in-the-environment")
  on.exit(Sys.unsetenv("DROVER_TEST_TOKEN"))
  server <- local_server({
    app <- dr_app()
    dr_get(app, "/who", function(req) req$auth)
    dr_auth_bearer(app, env = c(ci = "DROVER_TEST_TOKEN"))
  })
  handle <- curl::new_handle()
  curl::handle_setheaders(handle, Authorization = "Bearer token-in-the-environment")
  answer <- curl::curl_fetch_memory(paste0(server$url, "/who"), handle)
  expect_identical(rawToChar(answer$content), "{\"scheme\":\"bearer\",\"user\":\"ci\"}")
})

test_that("variables that are not set, or have no secret, are named", {
  Sys.setenv(DROVER_TEST_TOKEN = "hunter2")
  on.exit(Sys.unsetenv("DROVER_TEST_TOKEN"))
  error <- expect_argument_error(dr_auth_bearer(dr_app(), env = c(ci = "DROVER_TEST_TOKEN")), "`env` must be")
  expect_false(grepl("hunter2", conditionMessage(error)))
  expect_argument_error(
    dr_auth_bearer(dr_app(), env = c(ci = "DROVER_NO_SUCH_TOKEN")),
    "`env`: the environment variable DROVER_NO_SUCH_TOKEN is not set, or empty"
  )
})
