test_that("policies of mounted apps hold below their prefix, and come after those of the app around them", {
  inner <- dr_csrf(dr_csrf(dr_app(), routes = c("/a", "/<b>/c/")))
  middle <- dr_mount(dr_csrf(dr_app()), "/in/<x>", inner)
  app <- dr_mount(dr_mount(dr_app(), "/one", middle), "/two", inner)
  expect_identical(lapply(drover:::app_policies(app), `[[`, "routes"), list(
    list("/one"), list("/one/in/<x>/a", "/one/in/<x>/<b>/c"), list("/one/in/<x>"), list("/two/a", "/two/<b>/c"), list("/two")
  ))
})

test_that("an app without policies has none, also one that was saved before there were any", {
  app <- dr_app()
  expect_identical(drover:::app_policies(app), list())
  rm("policies", envir = app)
  expect_identical(drover:::app_policies(app), list())
  expect_no_match(format(app), "policies")
})

test_that("a slash covers all, alone or among others", {
  for (routes in list("/", c("/a", "/"))) {
    expect_identical(drover:::app_policies(dr_csrf(dr_app(), routes = routes))[[1L]]$routes, list())
  }
})
