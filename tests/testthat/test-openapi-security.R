token <- c(ci = "d54f1a8f3c0e4c7b9a0d")

test_that("who may ask is said of the paths that a policy covers, and alternatives are", {
  app <- dr_app()
  for (path in c("/open", "/a", "/a/x", "/ab", "/A/<id>", "/both")) dr_get(app, path, identity)
  dr_auth_bearer(app, token, routes = "/a")
  dr_auth_bearer(app, token, routes = "/both")
  dr_auth_key(app, token, header = "X-Key", routes = "/both", optional = TRUE)
  spec <- dr_openapi(app)
  security <- lapply(spec$paths, function(path) path$get$security)
  bearer <- list(list(bearer = list()))
  expect_identical(security[c("/a", "/a/x", "/A/{id}")], list("/a" = bearer, "/a/x" = bearer, "/A/{id}" = bearer))
  expect_null(security[["/open"]])
  expect_null(security[["/ab"]])
  expect_identical(security[["/both"]], list(list(bearer = list()), list(key = list()), drover:::no_members))
  expect_identical(spec$components$securitySchemes$key[c("type", "in", "name")], list(type = "apiKey", "in" = "header", name = "x-key"))
  expect_identical(spec$paths[["/a"]]$get$responses[["401"]], list("$ref" = "#/components/responses/Unauthorized"))
  expect_null(spec$paths[["/open"]]$get$responses[["401"]])
})

test_that("the closest policy takes the place of the others", {
  inner <- dr_auth_basic(dr_get(dr_app(), "/x", identity), c(ada = "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$aGFzaA"))
  app <- dr_mount(dr_auth_bearer(dr_get(dr_app(), "/y", identity), token), "/in", inner)
  spec <- dr_openapi(app)
  expect_identical(spec$paths[["/in/x"]]$get$security, list(list(basic = list())))
  expect_identical(spec$paths[["/y"]]$get$security, list(list(bearer = list())))
})

test_that("scopes, limits and guards have their errors", {
  app <- dr_post(dr_get(dr_app(), "/a", identity), "/a", identity)
  key <- withr::local_tempfile()
  writeLines(strrep("0123456789abcdef", 4), key)
  dr_auth_jwt(app, "HS256", NULL, NULL, file = key, scope = c("read", "all"))
  dr_rate_limit(app, 10, "1m")
  dr_csrf(app)
  spec <- dr_openapi(app)
  expect_identical(spec$paths[[1L]]$get$security, list(list(jwt = list("read", "all"))))
  expect_identical(names(spec$paths[[1L]]$get$responses), c("200", "401", "403", "429", "default"))
  expect_identical(spec$components$securitySchemes$jwt$bearerFormat, "JWT")
  app <- dr_csrf(dr_post(dr_get(dr_app(), "/a", identity), "/a", identity))
  paths <- dr_openapi(app)$paths[[1L]]
  expect_null(paths$get$responses[["403"]])
  expect_false(is.null(paths$post$responses[["403"]]))
})

test_that("where passwords are guessed, clients are told that they may have to wait", {
  responses <- function(...) {
    app <- dr_auth_basic(dr_get(dr_app(), "/a", identity), c(ada = dr_password_hash("secret")), ...)
    names(dr_openapi(app)$paths[[1L]]$get$responses)
  }
  expect_identical(responses(), c("200", "401", "429", "default"))
  expect_identical(responses(max_failures = Inf), c("200", "401", "default"))
})

test_that("schemes of the same kind that differ have names of their own", {
  app <- dr_get(dr_get(dr_app(), "/a", identity), "/b", identity)
  dr_auth_bearer(app, token, realm = "one", routes = "/a")
  dr_auth_bearer(app, token, realm = "two", routes = "/b")
  spec <- dr_openapi(app)
  expect_identical(names(spec$components$securitySchemes), c("bearer", "bearer_1"))
  expect_identical(spec$paths[["/b"]]$get$security, list(list(bearer_1 = list())))
})

test_that("an app with a form of its own for errors has no other one", {
  app <- dr_rate_limit(dr_get(dr_app(), "/a", identity), 10, "1m")
  with <- dr_openapi(app)$components
  expect_identical(names(with$responses$TooManyRequests$content), c("application/problem+json", "text/plain"))
  dr_on_error(app, function(req, error) list(error = "x"))
  without <- dr_openapi(app)$components
  expect_null(without$schemas)
  expect_null(without$responses$TooManyRequests$content)
})
