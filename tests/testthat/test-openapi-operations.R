operations <- function(app) dr_openapi(app)$paths

test_that("placeholders are params of their types", {
  app <- dr_app()
  for (path in c("/i/<x:int>", "/d/<x:dbl>", "/b/<x:bool>", "/u/<x:uuid>", "/s/:x", "/r/*x", "/bare/*", "/m/a-{x}.csv")) {
    dr_get(app, path, identity)
  }
  paths <- operations(app)
  expect_identical(
    names(paths), c("/i/{x}", "/d/{x}", "/b/{x}", "/u/{x}", "/s/{x}", "/r/{x}", "/bare/{rest}", "/m/a-{x}.csv")
  )
  types <- vapply(paths, function(path) path$get$parameters[[1L]]$schema$type, "", USE.NAMES = FALSE)
  expect_identical(types, c("integer", "number", "boolean", "string", "string", "string", "string", "string"))
  expect_identical(paths[["/bare/{rest}"]]$get$parameters[[1L]]$name, "rest")
  expect_true(all(vapply(paths, function(path) path$get$parameters[[1L]]$required, NA)))
})

test_that("literals are as clients send them", {
  app <- dr_get(dr_get(dr_app(), "/a b/\u00e9", identity), "/x%y/<z>", identity)
  expect_identical(names(operations(app)), c("/a%20b/%C3%A9", "/x%25y/{z}"))
})

test_that("paths that clients cannot tell apart are one, with the names of the first", {
  app <- dr_get(dr_get(dr_post(dr_get(dr_app(), "/a/<x:int>", identity), "/a/:y", identity), "/a/:z", identity), "/a", identity)
  paths <- operations(app)
  expect_identical(names(paths), c("/a/{x}", "/a"))
  expect_identical(names(paths[[1L]]), c("get", "post"))
  expect_identical(paths[[1L]]$get$parameters[[1L]]$schema$type, "integer")
  expect_identical(paths[[1L]]$post$parameters[[1L]]$name, "x")
})

test_that("names of operations differ, and those that were given stay", {
  app <- dr_app()
  dr_get(app, "/a-b", identity)
  dr_get(app, "/a/b", identity)
  dr_get(app, "/c", identity, operation_id = "get_a_b")
  dr_any(app, "/", identity)
  paths <- operations(app)
  ids <- unlist(lapply(paths, function(path) lapply(path, `[[`, "operationId")))
  expect_false(anyDuplicated(ids) > 0L)
  expect_identical(paths[["/c"]]$get$operationId, "get_a_b")
  expect_identical(names(paths[["/"]]), c("get", "put", "post", "delete", "patch"))
})

test_that("types, texts and examples of a route are its operation's", {
  app <- dr_post(dr_app(), "/people/<id:int>", function(id, n, x_token, body) 1,
    params = list(
      id = dr_int(min = 1, description = "Which"), n = dr_int(default = 2L), x_token = dr_chr(where = "header"),
      tags = dr_array(dr_chr(), required = FALSE)
    ),
    body = dr_schema(name = dr_chr(), born = dr_date(required = FALSE)),
    response = list("201" = dr_schema(id = dr_int(), .description = "The person"), "404" = dr_schema(why = dr_chr())),
    summary = "Say who", description = "*All* of it", tags = c("a", "b"), deprecated = TRUE, operation_id = "say",
    examples = list(ada = list(name = "Ada", born = as.Date("1815-12-10")))
  )
  said <- operations(app)[[1L]]$post
  expect_identical(said$tags, list("a", "b"))
  expect_identical(said[c("summary", "description", "operationId", "deprecated")], list(
    summary = "Say who", description = "*All* of it", operationId = "say", deprecated = TRUE
  ))
  params <- said$parameters
  expect_identical(vapply(params, `[[`, "", "in"), c("path", "query", "header", "query"))
  expect_identical(vapply(params, `[[`, "", "name"), c("id", "n", "x-token", "tags"))
  expect_identical(vapply(params, `[[`, NA, "required"), c(TRUE, FALSE, TRUE, FALSE))
  expect_identical(params[[1L]][c("description")], list(description = "Which"))
  expect_null(params[[1L]]$schema$description)
  expect_identical(params[[2L]]$schema$default, 2L)
  body <- said$requestBody
  expect_true(body$required)
  expect_identical(body$content[["application/json"]]$schema$required, list("name"))
  text <- dr_to_json(body$content[["application/json"]]$examples, auto_unbox = TRUE)
  expect_identical(as.character(text), '{"ada":{"value":{"name":"Ada","born":"1815-12-10"}}}')
  expect_identical(names(said$responses), c("201", "400", "404", "415", "422", "default"))
  expect_identical(said$responses[["201"]]$description, "The person")
  expect_identical(said$responses[["404"]]$description, "Not Found")
  expect_identical(said$responses$default, list("$ref" = "#/components/responses/Error"))
})

test_that("of a route without types nothing is claimed", {
  said <- operations(dr_post(dr_app(), "/a", identity))[[1L]]$post
  expect_identical(names(said$requestBody$content), c("application/json", "*/*"))
  expect_identical(said$responses[["200"]], list(description = "OK"))
  expect_identical(said$responses$default, list("$ref" = "#/components/responses/Other"))
})

test_that("routes of which nothing is said are the same however many there are", {
  app <- dr_app()
  for (i in 1:3) dr_get(app, paste0("/", i, "/<a:int>/<b>"), identity)
  dr_get(app, "/4/<b:int>/<a>", identity)
  dr_get(app, "/5/<a:int>/*b", identity)
  paths <- operations(app)
  expect_identical(paths[[1L]]$get$parameters, paths[[3L]]$get$parameters)
  expect_identical(vapply(paths[[4L]]$get$parameters, `[[`, "", "name"), c("b", "a"))
  expect_match(paths[[5L]]$get$parameters[[2L]]$description, "with its slashes")
})
