secret_file <- function() {
  file <- tempfile()
  writeLines(strrep("s", 32), file)
  file
}

oidc_of <- function(app) drover:::compile_app(app)$policies[[1L]]$rule$auth$by$oidc

test_that("what is registered is what the engine is given, below where the app is mounted", {
  file <- secret_file()
  Sys.setenv(DROVER_TEST_SECRET = strrep("e", 32))
  on.exit(Sys.unsetenv("DROVER_TEST_SECRET"))
  app <- dr_auth_oidc(
    dr_app(), "https://id.example", "reports", file, "DROVER_TEST_SECRET", scope = "groups",
    claims = c("email", "name"), userinfo = TRUE, max_age = "1h", after_logout = "/bye?x=1", path = "/in/",
    origin = "https://App.example", algorithms = "ES256", name = "login", secure = FALSE, leeway = "1m", refresh = "5m", ca = file
  )
  expected <- list(
    issuer = "https://id.example", client_id = "reports", secrets = list(strrep("e", 32)), scopes = list("groups"),
    algorithms = list("ES256"), userinfo = TRUE, leeway = 60, name = "login", max_age = 3600, secure = FALSE,
    refresh = 300, ca = normalizePath(file), file = normalizePath(file), claims = list("email", "name"),
    origin = "https://app.example", path = "/in", after_logout = "/bye?x=1"
  )
  expect_identical(oidc_of(app), expected)
  expected[c("path", "after_logout")] <- list("/a/in", "/a/bye?x=1")
  expect_identical(oidc_of(dr_mount(dr_app(), "/a", app)), expected)
  expect_argument_error(oidc_of(dr_mount(dr_app(), "/t/<name>", app)), "cannot be mounted below a placeholder")
  usual <- oidc_of(dr_auth_oidc(dr_app(), "http://127.0.0.1:9000/realm", "reports", file))
  expect_identical(usual[c("path", "after_logout", "name", "secure", "max_age")], list(
    path = "/login", after_logout = "/", name = "__Host-login", secure = TRUE, max_age = 28800
  ))
  expect_identical(usual$scopes, list("profile", "email"))
  expect_identical(usual[["claims"]], NULL)
  expect_identical(oidc_of(dr_auth_oidc(dr_app(), "https://id.example", "r", file, scope = NULL))$scopes, list())
})

test_that("wrong arguments are named, and secrets not shown", {
  app <- dr_app()
  file <- secret_file()
  Sys.setenv(DROVER_TEST_SECRET = "too-short")
  on.exit(Sys.unsetenv("DROVER_TEST_SECRET"))
  oidc <- function(issuer = "https://id.example", client_id = "app", secret = file, ...) {
    dr_auth_oidc(app, issuer, client_id, secret, ...)
  }
  for (wrong in list("http://id.example", "id.example", "https://user@id.example", 7, NA, NULL)) {
    expect_argument_error(oidc(wrong), "`issuer` must be an address that begins with \"https://\"")
  }
  expect_argument_error(oidc(client_id = ""), "`client_id` must be")
  expect_argument_error(oidc(client_id = NA), "`client_id` must be")
  expect_argument_error(oidc(secret = "/no/such/file"), "`file` must be NULL or the path")
  expect_argument_error(oidc(secret = NULL), "one of `file`, `env` must be given")
  short <- expect_argument_error(oidc(env = "DROVER_TEST_SECRET"), "`env` must be NULL or keys of at least 32 bytes")
  expect_false(grepl("too-short", conditionMessage(short)))
  for (wrong in list("/a b", "login", "/", "//a", "/\\a", "/\u00fc", NA, 7)) {
    expect_argument_error(oidc(path = wrong), "`path` must be a path")
  }
  for (wrong in list("https://evil.example", "//evil.example", "", NA)) {
    expect_argument_error(oidc(after_logout = wrong), "`after_logout` must be a path")
  }
  for (wrong in list("app.example", "https://app.example/", "ftp://app.example", NA)) {
    expect_argument_error(oidc(origin = wrong), "`origin` must be NULL or an origin")
  }
  for (wrong in list("HS256", "none", character(), NA)) {
    expect_argument_error(oidc(algorithms = wrong), "`algorithms` must be one or more of \"RS256\"")
  }
  expect_argument_error(oidc(scope = "a b"), "`scope` must be NULL or scopes without")
  expect_argument_error(oidc(claims = character()), "`claims` must be")
  expect_argument_error(oidc(userinfo = NA), "`userinfo` must be")
  expect_argument_error(oidc(max_age = 0), "`max_age` must be")
  expect_argument_error(oidc(secure = FALSE), "`secure` must be TRUE when")
  expect_argument_error(oidc(refresh = 0), "`refresh` must be")
  expect_argument_error(oidc(ca = "/no/such/file"), "`ca` must be")
  expect_argument_error(oidc(routes = "app"), "`routes` must be")
  expect_identical(app$policies, list())
})
