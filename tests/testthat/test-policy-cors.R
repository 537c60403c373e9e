test_that("what is registered is what the engine is given, with the prefixes of mounts", {
  api <- dr_app()
  dr_cors(api, "https://api.example", methods = c("get", "PUT"), headers = "*", routes = c("/v1/", "/t/<tenant>"))
  dr_cors(api, "null", max_age = "10m")
  app <- dr_mount(dr_cors(dr_app(), "*"), "/api", api)
  policies <- drover:::compile_app(app)$policies
  expect_identical(lapply(policies, `[[`, "routes"), list(list(), list("/api/v1", "/api/t/<tenant>"), list("/api")))
  rules <- lapply(policies, function(policy) policy$rule$cors)
  expect_identical(rules[[1L]], list(
    origins = list("*"), headers = list("Content-Type"), expose = list(), credentials = FALSE, max_age = 600
  ))
  expect_identical(rules[[2L]]$methods, list("GET", "PUT"))
  expect_identical(rules[[3L]][c("origins", "max_age")], list(origins = list("null"), max_age = 600))
  at_the_root <- dr_mount(dr_app(), "/", dr_cors(dr_app(), "*", routes = "/"))
  expect_identical(drover:::compile_app(at_the_root)$policies[[1L]]$routes, list())
  expect_match(format(app), "with policies", all = FALSE)
})

test_that("wrong arguments are named", {
  app <- dr_app()
  for (wrong in list(
    NULL, character(), 1, NA_character_, "example.org", "https://a.example/", "https://*", "https://a.*.org",
    "https://*a.org", "https://a b", "http://a.example:x", "*.example.org", "NULL"
  )) {
    expect_argument_error(dr_cors(app, wrong), "`origins` must be")
  }
  expect_argument_error(dr_cors(app, "*", methods = "BREW"), "`methods` must be NULL or a character vector of methods")
  expect_argument_error(dr_cors(app, "*", methods = "*"), "`methods` must be")
  expect_argument_error(dr_cors(app, "*", headers = "X A"), "`headers` must be names of header fields")
  expect_argument_error(dr_cors(app, "*", expose = NULL), "`expose` must be")
  expect_argument_error(dr_cors(app, "*", credentials = NA), "`credentials` must be TRUE or FALSE")
  expect_argument_error(dr_cors(app, "*", max_age = -1), "`max_age` must be")
  for (wrong in list("api", character(), 1, NA_character_)) {
    expect_argument_error(dr_cors(app, "*", routes = wrong), "`routes` must be NULL or paths")
  }
  expect_argument_error(dr_cors(app, "*", routes = "/<a>/<a>"), "`routes`: duplicate")
  expect_argument_error(dr_cors(app, origin = "*"), "did you mean `origins`")
  rook <- list(call = function(req) NULL)
  expect_argument_error(dr_cors(rook, "*"), "`app` must be a dr_app object: dr_rook\\(\\) makes one")
  expect_argument_error(dr_cors(1, "*"), "`app` must be a dr_app object \\(see dr_app")
  expect_identical(app$policies, list())
})

test_that("nothing is open to all with credentials", {
  app <- dr_app()
  named <- "https://a.example"
  expect_argument_error(dr_cors(app, c(named, "*"), credentials = TRUE), "`origins` must not have \"\\*\"")
  expect_argument_error(dr_cors(app, named, headers = "*", credentials = TRUE), "`headers` must not have \"\\*\"")
  expect_argument_error(dr_cors(app, named, expose = "*", credentials = TRUE), "`expose` must not have \"\\*\"")
  expect_identical(dr_cors(app, c(named, "https://*.b.example:8443", "http://[::1]:80"), credentials = TRUE), app)
})
