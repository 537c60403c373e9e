test_that("a mount is kept without the slash at its end, and replaced when given again", {
  app <- dr_static(dr_app(), "/files/", "www")
  expect_identical(app$static_mounts, list(list(mount = "/files", dir = "www")))
  dr_static(app, "/other", "other")
  dr_static(app, "/files", "new")
  expect_identical(vapply(app$static_mounts, `[[`, "", "dir"), c("other", "new"))
})

test_that("wrong arguments are named", {
  app <- dr_app()
  for (wrong in list("files", "/", "//", 1, NA_character_, "/:a", "/a/*", "/a/../b", "/a?b")) {
    expect_argument_error(dr_static(app, wrong, "www"), "`mount` must be")
  }
  expect_argument_error(dr_static(app, "/files", NULL), "`dir` must be a single string, not NULL")
  expect_argument_error(dr_static(app, "/files", ""), "`dir` must be")
})

test_that("the folder must exist when the app is compiled, and becomes absolute", {
  app <- dr_static(dr_app(), "/files", tempfile())
  expect_argument_error(drover:::compile_app(app), "`dir` of the static mount /files must be an existing folder")
  folder <- withr::local_tempdir()
  withr::local_dir(dirname(folder))
  app <- dr_static(dr_app(), "/files", basename(folder))
  expect_identical(drover:::compile_app(app)$static, list(list(mount = "/files", dir = normalizePath(folder))))
})
