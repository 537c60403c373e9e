test_that("what is said of an API is kept, and said again in parts", {
  app <- dr_about(dr_app(), "Orders", "1", contact = c(name = "Shop", url = "https://example.org"), hide = "/in/")
  dr_about(app, version = "2", servers = c(live = "https://example.org/v1", "/v1"), tags = c(a = "A", b = ""))
  expect_identical(app$about[c("title", "version", "hide")], list(title = "Orders", version = "2", hide = "/in"))
  expect_identical(app$about$contact, list(name = "Shop", url = "https://example.org"))
  expect_identical(app$about$servers, list(list(url = "https://example.org/v1", description = "live"), list(url = "/v1")))
  expect_identical(app$about$tags, list(list(name = "a", description = "A"), list(name = "b")))
})

test_that("what is wrong is named", {
  wrong <- function(..., arg) {
    error <- expect_error(dr_about(dr_app(), ...), class = "drover_error_argument")
    expect_identical(error$argument, arg)
    conditionMessage(error)
  }
  expect_match(wrong(title = "", arg = "title"), "a single string that is not empty")
  expect_match(wrong(version = 1, arg = "version"), "a single string")
  expect_match(wrong(contact = c(phone = "1"), arg = "contact"), '"name", "url", "email"')
  expect_match(wrong(license = c(url = "https://example.org"), arg = "license"), '"name" among them')
  expect_match(wrong(license = c(name = "MIT", url = "u", identifier = "MIT"), arg = "license"), "not both")
  expect_match(wrong(servers = "ftp://example.org", arg = "servers"), "https://api.example.org/v1")
  expect_match(wrong(tags = "a", arg = "tags"), "by the names of tags")
  expect_match(wrong(hide = "internal", arg = "hide"), 'paths that start with "/"')
  expect_match(wrong(tilte = "x", arg = "tilte"), "did you mean `title`")
})
