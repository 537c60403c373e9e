test_that("what is registered is what the engine is given", {
  app <- dr_csrf(dr_app(), c("https://a.example", "https://*.b.example"), routes = "/account")
  expect_identical(drover:::compile_app(app)$policies, list(
    list(routes = list("/account"), rule = list(csrf = list(trusted = list("https://a.example", "https://*.b.example"))))
  ))
  expect_identical(drover:::compile_app(dr_csrf(dr_app()))$policies[[1L]]$rule, list(csrf = list(trusted = list())))
})

test_that("wrong arguments are named", {
  app <- dr_app()
  for (wrong in list("*", "null", "a.example", NA_character_, 1, NULL)) {
    expect_argument_error(dr_csrf(app, wrong), "`trusted` must be origins such as")
  }
  expect_argument_error(dr_csrf(app, routes = 1), "`routes` must be")
  expect_identical(app$policies, list())
})
