req <- make_request(
  "POST", "/a",
  headers = fields_of(host = "h", accept = "a/b, c/d"), query = fields_of(x = "1", y = "2", x = "3"),
  params = list(id = "7"), cookies = fields_of(sid = "secret"), body = "{}", raw = charToRaw("{}"), json = list(a = 1L),
  form = fields_of(f = "g"), files = list(up = list(field = "up", name = "1.txt"), up = list(field = "up", name = "2.txt"))
)

test_that("named values are found, and NULL is what is not there", {
  expect_identical(dr_header(req, "HOST"), "h")
  expect_identical(dr_header(req, "Accept"), "a/b, c/d")
  expect_null(dr_header(req, "nope"))
  expect_identical(dr_param(req, "id"), "7")
  expect_null(dr_param(req, "nope"))
  expect_identical(dr_query(req, "x"), "3")
  expect_identical(dr_query(req, "x", all = TRUE), c("1", "3"))
  expect_identical(dr_query(req), c(x = "1", y = "2", x = "3"))
  expect_null(dr_query(req, "nope"))
  expect_identical(dr_query(req, "nope", all = TRUE), character())
  expect_identical(dr_cookie(req, "sid"), "secret")
  expect_identical(dr_cookie(req), c(sid = "secret"))
  expect_null(dr_cookie(req, "SID"))
  expect_identical(dr_files(req, "up")$name, "2.txt")
  expect_length(dr_files(req, "up", all = TRUE), 2L)
  expect_length(dr_files(req), 2L)
  expect_null(dr_files(req, "nope"))
})

test_that("typed params keep their type", {
  expect_identical(dr_param(make_request(params = list(n = 3L)), "n"), 3L)
})

test_that("the body is read in four ways", {
  expect_identical(dr_body(req), "{}")
  expect_identical(dr_body(req, "text"), "{}")
  expect_identical(dr_body(req, "raw"), charToRaw("{}"))
  expect_identical(dr_body(req, as = "json"), list(a = 1L))
  expect_identical(dr_body(req, "form"), c(f = "g"))
  for (wrong in list("xml", 1, c("text", "json"), NULL)) {
    expect_argument_error(dr_body(req, wrong), "`as` must be one of")
  }
})

test_that("a body that is no text is the client's error when text is asked for", {
  error <- error_of(dr_body(make_request(body = as.raw(c(0, 255)))))
  expect_s3_class(error, "drover_error_body")
  expect_identical(error$status, 400L)
})

test_that("wrong arguments are named", {
  for (accessor in list(dr_header, dr_param, dr_query, dr_cookie, dr_files)) {
    expect_argument_error(accessor(list(), "x"), "`req` must be a dr_request object")
    expect_argument_error(accessor(req, 1), "`name` must be")
  }
  expect_argument_error(dr_body(list()), "`req` must be a dr_request object")
  expect_argument_error(dr_query(req, "x", all = NA), "`all` must be TRUE or FALSE")
})

test_that("a request is printed without the values of headers and cookies", {
  expect_equal(format(req), c(
    "<dr_request> POST /a HTTP/1.1",
    "  from     127.0.0.1:5000",
    "  route    /a",
    "  params   id = \"7\"",
    "  query    x = \"1\", y = \"2\", x = \"3\"",
    "  headers  host, accept",
    "  cookies  sid",
    "  body     2 bytes"
  ))
  expect_output(print(make_request(url = "/\n")), "GET /\\n", fixed = TRUE)
})
