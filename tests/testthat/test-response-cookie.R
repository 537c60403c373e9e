cookies <- function(response) unname(unlist(response$headers[names(response$headers) == "Set-Cookie"]))

test_that("the defaults are the safe ones", {
  expect_identical(cookies(dr_set_cookie("x", "id", "7")), "id=7; Path=/; HttpOnly; SameSite=Lax")
})

test_that("every attribute can be set", {
  expect_identical(
    cookies(dr_set_cookie("x", "id", "7", 86400, "/a", "example.org", TRUE, FALSE, "None")),
    "id=7; Max-Age=86400; Path=/a; Domain=example.org; Secure; SameSite=None"
  )
})

test_that("values are encoded, NULL deletes, and the same name replaces", {
  expect_match(cookies(dr_set_cookie("x", "id", "a;b c\u00e9%")), "^id=a%3Bb%20c%C3%A9%25; ")
  expect_match(cookies(dr_set_cookie("x", "id", NULL)), "^id=; Max-Age=0; ")
  response <- dr_set_cookie(dr_set_cookie(dr_set_cookie("x", "a", "1"), "b", "2"), "a", "3")
  expect_identical(substr(cookies(response), 1, 3), c("b=2", "a=3"))
})

test_that("wrong arguments are named", {
  for (bad in list("", "a=b", "a;b", "a b", 1, "a\r\n")) {
    expect_argument_error(dr_set_cookie("x", bad, "1"), "`name` must be a single string of letters")
  }
  expect_argument_error(dr_set_cookie("x", "a", 1), "`value` must be NULL or a single string")
  expect_argument_error(dr_set_cookie("x", "a", "1", max_age = -1), "`max_age` must be a single integer >= 0")
  expect_argument_error(dr_set_cookie("x", "a", "1", path = "/;a"), "`path` must be")
  expect_argument_error(dr_set_cookie("x", "a", "1", domain = "a\nb"), "`domain` must be")
  expect_argument_error(dr_set_cookie("x", "a", "1", same_site = "lax"), "`same_site` must be one of")
  expect_argument_error(dr_set_cookie("x", "a", "1", same_site = "None"), "`secure` must be TRUE")
  expect_argument_error(dr_set_cookie("x", "a", strrep("x", 5000)), "4096 bytes")
})
