# The values that a handler got of a request: a list by the names of its arguments, or the response where it got none.
values_of <- function(handler, request, ..., path = "/<id>") {
  app <- dr_app()
  seen <- NULL
  look <- handler
  body(look) <- quote({
    seen <<- mget(ls(environment()), envir = environment())
    NULL
  })
  environment(look) <- environment()
  dr_post(app, path, look, ...)
  client <- dr_test(app)
  on.exit(client$stop())
  response <- request(client)
  if (is.null(seen)) response else seen
}

test_that("handlers take values of the path, the query, header fields, cookies and the body by name", {
  seen <- values_of(
    function(id, n, tag, x_flag, session, body, other = 5) NULL,
    function(client) client$post("/7?n=3&tag=a&tag=b", headers = list("X-Flag" = "T", Cookie = "session=2026-01-02"),
      json = list(a = 1.5)),
    params = list(id = dr_int(), n = dr_dbl(), tag = dr_array(dr_chr()), x_flag = dr_lgl(where = "header"),
      session = dr_date(where = "cookie")),
    body = dr_schema(a = dr_dbl())
  )
  expect_identical(seen, list(
    body = list(a = 1.5), id = 7L, n = 3, other = 5, session = as.Date("2026-01-02"), tag = c("a", "b"), x_flag = TRUE
  ))
  # placeholders that are not declared, and the request
  seen <- values_of(function(req, id) NULL, function(client) client$post("/7"), path = "/<id:int>")
  expect_identical(seen$id, 7L)
  expect_true(inherits(seen$req, "dr_request"))
})

test_that("a placeholder of the path is an argument by itself, too", {
  seen <- values_of(function(id) NULL, function(client) client$post("/7"), path = "/<id:int>")
  expect_identical(seen, list(id = 7L))
  seen <- values_of(function(id, ...) NULL, function(client) client$post("/a%20b"))
  expect_identical(seen$id, "a b")
  # what is not declared is the handler's own, whatever the query says
  seen <- values_of(function(id, limit = 10) NULL, function(client) client$post("/7?limit=5"))
  expect_identical(seen, list(id = "7", limit = 10))
})

test_that("what a handler cannot be given is named when it is registered, with what to write", {
  wrong <- function(handler, problem, ...) {
    expect_error(dr_get(dr_app(), "/users/:id", handler, ...), problem, fixed = TRUE, class = "drover_error_argument")
  }
  wrong(function(id, q) 1, "`handler` takes `q`, which the route does not declare: it may take `id`, `req`; a value")
  wrong(function(q, n) 1, "a function of the request, not function(q, n): the route has no `q`; a value of the query is")
  wrong(function(req, n) 1, "the route has no `n`; a value of the query is dr_query(req, \"n\"), in function(req), or an")
  wrong(function(id, body) 1, "the body is `req$json`, in function(req), or an argument with `body = ` a schema")
  wrong(function(req, res) 1, "what it returns is the response")
  said <- function(handler) {
    warned <- NULL
    withCallingHandlers(dr_get(dr_app(), "/users/:id", handler), drover_warning_handler = function(warning) {
      warned <<- conditionMessage(warning)
      tryInvokeRestart("muffleWarning")
    })
    warned
  }
  expect_match(said(function(name) 1), "`handler` takes `name`, and gets the request as that, since the path has no such")
  expect_match(said(function(limit = 5) 1), "call it `req`; a value of the query is dr_query\\(req, \"limit\"\\)")
  for (fine in list(function(req) 1, function(request) 1, function(r) 1, identity, function(...) 1, function() 1,
    function(.x) 1, function(env) 1, function(my_request) 1, function(id) 1, function(req, pool = 1) 1)) {
    expect_null(said(fine))
  }
})

test_that("handlers of the request work as without types", {
  types <- list(n = dr_int(default = 5))
  seen <- values_of(function(req) NULL, function(client) client$post("/x?n=7"), params = types)
  expect_identical(names(seen), "req")
  expect_warning(
    seen <- values_of(function(anything) NULL, function(client) client$post("/x"), params = types),
    "`handler` takes `anything`", class = "drover_warning_handler"
  )
  expect_true(inherits(seen$anything, "dr_request"))
  seen <- values_of(function(n) NULL, function(client) client$post("/x"), params = types)
  expect_identical(seen$n, 5L)
})

test_that("what is missing is its default, NULL or NA by the rule", {
  types <- list(a = dr_int(required = FALSE), b = dr_factor(c("u", "v"), default = "v"), c = dr_int(nullable = TRUE))
  seen <- values_of(function(a, b, c) NULL, function(client) client$post("/x?c="), params = types)
  expect_identical(seen, list(a = NULL, b = factor("v", c("u", "v")), c = NA_integer_))
  body <- dr_schema(a = dr_int(required = FALSE), b = dr_date(default = as.Date("2026-01-01")),
    c = dr_chr(nullable = TRUE), d = dr_array(dr_int(), nullable = TRUE))
  seen <- values_of(function(body) NULL, function(client) {
    client$request("POST", "/x", body = '{"c": null, "d": null, "extra": 1}',
      headers = list("Content-Type" = "application/json"))
  }, body = body)
  expect_identical(seen$body, list(b = as.Date("2026-01-01"), c = NA_character_, d = NULL))
  optional <- dr_object(a = dr_int(), .required = FALSE)
  expect_null(values_of(function(body, id) NULL, function(client) client$post("/x"), body = optional)$body)
})

test_that("a form is no part of the query that has been judged", {
  seen <- values_of(function(n, id) NULL, function(client) client$post("/x", form = list(n = "evil")),
    params = list(n = dr_int(default = 1)))
  expect_identical(seen$n, 1L)
  seen <- values_of(function(n, id) NULL, function(client) client$post("/x?n=2", form = list(n = "evil")),
    params = list(n = dr_int(default = 1)))
  expect_identical(seen$n, 2L)
})

test_that("forms have types", {
  types <- dr_form(a = dr_int(), b = dr_array(dr_dbl(), default = 0.5), c = dr_lgl(required = FALSE))
  seen <- values_of(function(body) NULL, function(client) client$post("/x", form = list(a = 1, z = 2)), body = types)
  expect_identical(seen$body, list(a = 1L, b = 0.5))
  seen <- values_of(function(body) NULL, function(client) {
    client$post("/x", form = list(c = "f", b = 1, b = 2, a = 3))
  }, body = types)
  expect_identical(seen$body, list(a = 3L, b = c(1, 2), c = FALSE))
  refused <- values_of(function(body) NULL, function(client) client$post("/x", form = list(a = "x", c = 1, c = 0)),
    body = types)
  expect_identical(refused$status, 422L)
  expect_setequal(refused$json$errors$field, c("/a", "/c"))
})

test_that("a mounted app has types, and middleware around them", {
  inner <- dr_app()
  dr_get(inner, "/<n>", function(n) list(n = n), params = list(n = dr_int(min = 1)))
  app <- dr_app()
  dr_use(app, function(req, forward) dr_set_header(forward(), "X-Seen", "yes"))
  dr_mount(app, "/in", inner)
  client <- dr_test(app)
  on.exit(client$stop())
  expect_identical(client$get("/in/3")$json, list(n = 3L))
  expect_identical(client$get("/in/3")$headers$`x-seen`, "yes")
  refused <- client$get("/in/0")
  expect_identical(refused$status, 422L)
  expect_identical(refused$headers$`content-type`, "application/problem+json")
  expect_identical(refused$json$errors, data.frame(
    `in` = "path", field = "path.n", value = 0L, rule = "must be at least 1", check.names = FALSE
  ))
  expect_null(refused$headers$`x-seen`)
})
