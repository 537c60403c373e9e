fields_of <- function(app) {
  fields <- drover:::compile_app(app)$policies[[1L]]$rule$security_headers
  stats::setNames(vapply(fields, `[[`, "", "value"), vapply(fields, `[[`, "", "name"))
}

test_that("there are defaults that break no page, and NULL leaves a field out", {
  expect_identical(fields_of(dr_security_headers(dr_app())), c(
    "Referrer-Policy" = "strict-origin-when-cross-origin", "X-Frame-Options" = "SAMEORIGIN",
    "Cross-Origin-Opener-Policy" = "same-origin"
  ))
  expect_identical(
    fields_of(dr_security_headers(dr_app(), "no-referrer, origin", NULL, NULL, "camera=()", "default-src 'self'")),
    c(
      "Referrer-Policy" = "no-referrer, origin", "Permissions-Policy" = "camera=()",
      "Content-Security-Policy" = "default-src 'self'"
    )
  )
})

test_that("wrong arguments are named", {
  app <- dr_app()
  expect_argument_error(dr_security_headers(app, "everything"), "`referrer_policy` must be NULL or one of \"no-referrer\"")
  expect_argument_error(dr_security_headers(app, ""), "`referrer_policy` must be")
  expect_argument_error(dr_security_headers(app, frame_options = "deny"), "`frame_options` must be \"SAMEORIGIN\", \"DENY\"")
  expect_argument_error(dr_security_headers(app, cross_origin_opener_policy = TRUE), "`cross_origin_opener_policy` must be")
  for (wrong in list("", 1, "a\nb", "\u00e9", c("a", "b"), NA_character_)) {
    expect_argument_error(dr_security_headers(app, content_security_policy = wrong), "`content_security_policy` must be")
    expect_argument_error(dr_security_headers(app, permissions_policy = wrong), "`permissions_policy` must be")
  }
  expect_identical(app$policies, list())
})
