test_that("a route has what it declares, and nothing else", {
  app <- dr_app()
  dr_post(app, "/things/<id:int>", function(id, n, body) NULL,
    params = list(n = dr_int(default = 2), x_version = dr_chr(where = "header"), id = dr_int(max = 9)),
    body = dr_schema(a = dr_int()), response = dr_schema(b = dr_int()), summary = "Things", tags = "a"
  )
  route <- app$routes[["POST /things/<id:int>"]]
  expect_named(route$params, c("n", "x-version", "id"))
  expect_identical(vapply(route$params, `[[`, "", "in"), c(n = "query", "x-version" = "header", id = "path"))
  expect_identical(route$params$n$default, 2)
  expect_identical(route$params$n$required, FALSE)
  expect_identical(route$params$`x-version`$argument, "x_version")
  expect_identical(route$body[c("required", "content_type")], list(required = TRUE, content_type = "application/json"))
  expect_named(route$response, "200")
  expect_identical(route$about, list(summary = "Things", tags = "a"))
  dr_get(app, "/plain", function() 1)
  expect_named(app$routes[["GET /plain"]], c("method", "path", "param_names", "handler"))
  dr_route(app, c("PUT", "PATCH"), "/both", function(n) n, params = list(n = dr_int()), deprecated = TRUE)
  expect_true(app$routes[["PUT /both"]]$about$deprecated && !is.null(app$routes[["PATCH /both"]]$params$n))
})

test_that("what cannot be declared is refused", {
  expect_wrong <- function(says, ..., handler = function() NULL, path = "/<id>") {
    expect_error(dr_post(dr_app(), path, handler, ...), says, class = "drover_error_argument")
  }
  expect_wrong("`params` must be a named list", params = dr_int())
  expect_wrong("`params` must be a named list", params = list(dr_int()))
  expect_wrong("`params[$]n` must be a schema", params = list(n = mean))
  expect_wrong("`params` must not have `body`", params = list(body = dr_int()))
  expect_wrong("`n` must have a type of single values", params = list(n = dr_object(a = dr_int())))
  expect_wrong("`params[$]id` is part of the path", params = list(id = dr_int(default = 1)))
  expect_wrong("`params[$]id` is part of the path", params = list(id = dr_array(dr_int())))
  expect_wrong("`params[$]a b` must be named", params = list("a b" = dr_int(where = "header")))
  expect_wrong("`params` has a header field twice", params = list(
    a_b = dr_int(where = "header"), "A-B" = dr_int(where = "header")
  ))
  expect_wrong("single value: it is a cookie", params = list(a = dr_array(dr_int(), where = "cookie")))
  expect_wrong("`body` must be a schema", body = mean)
  expect_wrong("`response` has a status twice", response = list("200" = dr_int(), "200" = dr_int()))
  expect_wrong("`tags` must be", tags = 1)
  expect_wrong("`summary` must be", summary = 1)
  expect_wrong("`examples` must be NULL or a named list", examples = list(1))
  expect_wrong("`deprecated` must be TRUE or FALSE", deprecated = NA)
  expect_wrong("takes `other`, which the route does not declare: it may take `n`, `id`, `req`",
    params = list(n = dr_int()), handler = function(n, other) 1)
})
