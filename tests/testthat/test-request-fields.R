# Fields that clients name, as lists: whole names, and the last of several values.

fields <- fields_of(a = "1", admin = "x", b = "2", a = "3")

test_that("$ and [[ give the value of a whole name, or NULL", {
  expect_identical(fields$b, "2")
  expect_identical(fields[["b"]], "2")
  expect_identical(fields$a, "3")
  expect_identical(fields[["a"]], "3")
  expect_null(fields$adm)
  expect_null(fields[["adm"]])
  expect_null(fields_of()$a)
  expect_identical(fields[[1]], "1")
  expect_error(fields[[9]], "subscript out of bounds")
})

test_that("[ gives a named character vector", {
  expect_identical(fields["b"], c(b = "2"))
  expect_identical(fields[c("b", "none")], structure(c("2", NA), names = c("b", NA)))
  expect_identical(fields["a"], c(a = "3"))
  expect_identical(fields[], c(a = "1", admin = "x", b = "2", a = "3"))
  expect_identical(fields_of()[], structure(character(), names = character()))
})

test_that("they are lists", {
  expect_true(is.list(fields))
  expect_identical(names(fields), c("a", "admin", "b", "a"))
  expect_length(fields, 4L)
  expect_identical(as.list(fields), list(a = "1", admin = "x", b = "2", a = "3"))
  expect_identical(unlist(fields), c(a = "1", admin = "x", b = "2", a = "3"))
  expect_identical(vapply(fields, nchar, 1L), c(a = 1L, admin = 1L, b = 1L, a = 1L))
  expect_identical(as.character(fields), c("1", "x", "2", "3"))
  expect_identical(as.character(dr_to_json(fields_of(a = "1"), auto_unbox = TRUE)), "{\"a\":\"1\"}")
})

test_that("a value that is assigned is the only one of its name", {
  changed <- fields
  changed$a <- "9"
  expect_identical(changed[], c(a = "9", admin = "x", b = "2"))
  changed[["new"]] <- "n"
  expect_identical(changed$new, "n")
  changed$b <- NULL
  expect_identical(names(changed), c("a", "admin", "new"))
  expect_s3_class(changed, "dr_fields")
})

test_that("they are printed by name", {
  expect_identical(format(fields_of(a = "1", long = "\n")), c("a    = \"1\"", "long = \"\\n\""))
  expect_output(print(fields_of()), "<no fields>", fixed = TRUE)
  expect_output(str(fields_of(a = "1")), "$ a: chr \"1\"", fixed = TRUE)
})

test_that("a request is a list of its fields to as.list(), names() and str()", {
  req <- make_request(query = fields_of(q = "x"), json = 1L)
  all <- as.list(req)
  expect_identical(all$query$q, "x")
  expect_identical(all$method, "GET")
  expect_setequal(names(all), names(req))
  expect_output(str(req), "$ method", fixed = TRUE)
})

test_that("what a client names reaches a handler through $, in every kind of field", {
  server <- local_server({
    app <- dr_app()
    dr_post(app, "/all/:id/<n:int>", function(req) list(
      id = req$params$id, n = req$params$n, q = req$query$q, none = is.null(req$query$none),
      part = is.null(req$query$lon), host = nzchar(req$headers$host), twice = req$headers[["x-twice"]],
      upper = is.null(req$headers$Host), cookie = req$cookies$sid, form = req$form$title,
      vector = unname(req$query["q"]), all = as.list(req)$form$title, names = "json" %in% names(req),
      shown = any(grepl("title", utils::capture.output(utils::str(req))))
    ))
    dr_post(app, "/broken", function(req) list(fields = length(as.list(req)), json = is.null(as.list(req)$json)))
    dr_get(app, "/query", function(req) req$query)
    dr_use(app, function(req, nxt) {
      if (!is.null(req$query$page)) req$query$page <- "changed"
      nxt()
    })
    dr_get(app, "/page", function(req) req$query$page)
  })
  got <- http_json(
    server, "/all/x/7?q=1&q=2&long=1", "-H", "X-Twice: 1", "-H", "X-Twice: 2", "-b", "sid=abc",
    "-d", "title=A+b"
  )
  expect_identical(got, list(
    id = "x", n = 7L, q = "2", none = TRUE, part = TRUE, host = TRUE, twice = "1, 2", upper = TRUE, cookie = "abc",
    form = "A b", vector = "2", all = "A b", names = TRUE, shown = TRUE
  ))
  broken <- http_json(server, "/broken", "-H", "Content-Type: application/json", "-d", "{")
  expect_identical(broken$json, TRUE)
  expect_gt(broken$fields, 15L)
  expect_identical(http(server, "/query?a=1&b=%C3%A9")$body, "{\"a\":\"1\",\"b\":\"\u00e9\"}")
  expect_identical(http(server, "/page?page=1&page=2")$body, "changed")
})
