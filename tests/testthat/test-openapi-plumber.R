test_that("what plumber says is brought to OpenAPI 3.1", {
  spec <- drover:::as_openapi_31(list(
    info = list(title = "x", contact = "me", license = "MIT", description = ""),
    paths = list("/a" = list(get = list(tags = "one", summary = NULL, parameters = list(list(
      name = "n", schema = list(type = "integer", nullable = TRUE, minimum = 1, exclusiveMinimum = TRUE, enum = 1L)
    ))))),
    components = list(schemas = list(A = list(type = "object", required = "x", properties = list(
      x = list(type = "number", maximum = 2, exclusiveMaximum = FALSE, example = list(nullable = TRUE))
    ))))
  ))
  expect_identical(spec$info, list(title = "x", contact = list(name = "me"), license = list(name = "MIT")))
  get <- spec$paths[["/a"]]$get
  expect_identical(get$tags, list("one"))
  expect_identical(
    get$parameters[[1L]]$schema, list(type = c("integer", "null"), exclusiveMinimum = 1, enum = list(1L))
  )
  schema <- spec$components$schemas$A
  expect_identical(schema$required, list("x"))
  # values of users stay as they are
  expect_identical(schema$properties$x, list(type = "number", maximum = 2, example = list(nullable = TRUE)))
})

test_that("a router is described by itself, alone and mounted", {
  skip_if_not_installed("plumber")
  pr <- plumber::pr_get(plumber::pr(), "/one/<id:int>", function(id) id, tags = "t", comments = "One")
  plumber::pr_set_api_spec(pr, function(spec) {
    spec$info$title <- "Mine"
    spec$components$securitySchemes$k <- list(type = "apiKey", `in` = "header", name = "X")
    spec
  })
  spec <- dr_openapi(pr)
  expect_identical(spec$openapi, "3.1.0")
  expect_identical(spec$info$title, "Mine")
  expect_identical(spec$paths[["/one/{id}"]]$get[c("tags", "summary")], list(tags = list("t"), summary = "One"))
  app <- dr_auth_bearer(dr_mount(dr_app(), "/old/<user>", pr), c(ci = "d54f1a8f3c0e4c7b9a0d"))
  spec <- dr_openapi(app)
  expect_identical(spec$info$title, "API")
  said <- spec$paths[["/old/{user}/one/{id}"]]$get
  expect_identical(vapply(said$parameters, `[[`, "", "name"), c("user", "id"))
  expect_identical(said$security, list(list(bearer = list())))
  expect_identical(names(spec$components$securitySchemes), c("k", "bearer"))
})

test_that("names that this package has no placeholders for are others", {
  routes <- drover:::foreign_routes(list(paths = list("/a/{.x}" = list(
    parameters = list(list(name = ".x", `in` = "path")), get = list(operationId = "a")
  ))), "")
  expect_identical(routes[[1L]]$path, "/a/{_x}")
  expect_identical(routes[[1L]]$operation$fields$parameters[[1L]]$name, "_x")
  expect_identical(routes[[1L]]$operation$id, "a")
})
