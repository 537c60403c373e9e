jwt_of <- function(app) drover:::compile_app(app)$policies[[1L]]$rule$auth$by$jwt

test_that("what is registered is what the engine is given", {
  file <- tempfile()
  file.create(file)
  Sys.setenv(DROVER_TEST_SECRET = "a secret")
  on.exit(Sys.unsetenv("DROVER_TEST_SECRET"))
  app <- dr_auth_jwt(
    dr_app(), c("RS256", "ES256", "RS256"), "me", c("a", "b"), file, "DROVER_TEST_SECRET",
    required = c("exp", "sub"), scope = "read", leeway = "1m"
  )
  expect_identical(jwt_of(app), list(
    algorithms = list("RS256", "ES256"), files = list(normalizePath(file)), issuers = list("me"),
    audiences = list("a", "b"), required = list("exp", "sub"), leeway = 60,
    secret = "a secret"
  ))
  expect_identical(drover:::compile_app(app)$policies[[1L]]$rule$auth$scope, list("read"))
  app <- dr_auth_jwt(dr_app(), "RS256", NULL, NULL, jwks = "https://example.org/keys", refresh = "5m", ca = file)
  expect_identical(jwt_of(app)$jwks, list(url = "https://example.org/keys", refresh = 300, ca = normalizePath(file)))
  app <- dr_auth_jwt(dr_app(), "HS256", NULL, NULL, file, required = character())
  expect_identical(jwt_of(app)[c("issuers", "audiences", "required", "leeway")], list(
    issuers = list(), audiences = list(), required = list(), leeway = 30
  ))
})

test_that("wrong arguments are named", {
  app <- dr_app()
  file <- tempfile()
  file.create(file)
  jwt <- function(algorithms = "HS256", issuer = "me", audience = "app", ..., keys = file) {
    dr_auth_jwt(app, algorithms, issuer, audience, keys, ...)
  }
  for (wrong in list("none", "hs256", character(), NULL, NA, 7)) {
    expect_argument_error(jwt(wrong), "`algorithms` must be one or more of \"HS256\"")
  }
  for (wrong in list(character(), "", NA, 7)) {
    expect_argument_error(jwt(issuer = wrong), "`issuer` must be NULL or one or more strings")
    expect_argument_error(jwt(audience = wrong), "`audience` must be NULL or one or more strings")
    expect_argument_error(jwt(scope = wrong), "`scope` must be NULL or one or more strings")
  }
  for (wrong in c("a b", "a\"b", "a\\b")) {
    expect_argument_error(jwt(scope = wrong), "`scope` must be NULL or scopes without")
  }
  expect_argument_error(jwt(leeway = -1), "`leeway` must be a single number of seconds")
  expect_argument_error(jwt(required = 7), "`required` must be")
  expect_argument_error(jwt(keys = "/no/such/file"), "`file` must be NULL or the path")
  expect_argument_error(jwt(keys = character()), "`file` must be NULL or paths")
  expect_argument_error(jwt(keys = NULL), "one of `file`, `env`, `jwks` must be given")
  away <- "http://example.org/keys"
  several <- c("https://a", "https://b")
  for (wrong in list(away, "http://localhost.example.org", "https://user@x", "ftp://x", 7, NA, several)) {
    expect_argument_error(jwt("RS256", jwks = wrong), "`jwks` must be NULL or an address")
  }
  expect_argument_error(jwt(jwks = "https://example.org/keys"), "`jwks` must be NULL for HS algorithms")
  expect_argument_error(jwt("RS256", jwks = "https://example.org/keys", refresh = 0), "`refresh` must be")
  expect_argument_error(jwt("RS256", jwks = "https://example.org/keys", ca = "/no/such/file"), "`ca` must be")
  expect_argument_error(jwt(env = 7), "`env` must be")
  expect_argument_error(jwt(env = "DROVER_NO_SUCH_SECRET"), "DROVER_NO_SUCH_SECRET is not set")
  # nothing has a default that is for the app to say
  expect_error(dr_auth_jwt(app, "HS256", file = file), "issuer")
  expect_identical(app$policies, list())
})
