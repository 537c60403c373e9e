auths_of <- function(app) lapply(drover:::compile_app(app)$policies, function(policy) policy$rule$auth)

test_that("what is wrong with the arguments that all have is named", {
  app <- dr_app()
  keys <- c(a = strrep("k", 16))
  for (wrong in list(1, NA_character_, "", "a\nb", "\u00fc", c("a", "b"))) {
    expect_argument_error(dr_auth_key(app, keys, realm = wrong), "`realm` must be a single string of ASCII characters")
  }
  expect_argument_error(dr_auth_key(app, keys, optional = NA), "`optional` must be TRUE or FALSE")
  expect_argument_error(dr_auth_key(app, keys, routes = "api"), "`routes` must be")
  for (wrong in list("/no/such/file", tempdir(), 7, c("a", "b"))) {
    expect_argument_error(dr_auth_key(app, file = wrong), "`file` must be NULL or the path of an existing file")
  }
  for (wrong in list("CI_TOKEN", c(ci = "CI TOKEN"), c(ci = NA), character(), list(ci = "A"))) {
    expect_argument_error(dr_auth_key(app, env = wrong), "`env` must be NULL or names, and which environment variable")
  }
  expect_argument_error(dr_auth_key(app), "one of `keys`, `file`, `env` must be given")
  expect_identical(app$policies, list())
})

test_that("each app has its own, below its mount", {
  inner <- dr_auth_key(dr_app(), c(a = strrep("k", 16)), routes = "/x")
  app <- dr_auth_key(dr_app(), c(b = strrep("l", 16)), optional = TRUE, realm = "all")
  dr_mount(app, "/in", inner)
  policies <- drover:::compile_app(app)$policies
  expect_identical(lapply(policies, `[[`, "routes"), list(list(), list("/in/x")))
  expect_identical(policies[[1L]]$rule$auth[c("realm", "optional")], list(realm = "all", optional = TRUE))
})
