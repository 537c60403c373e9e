basic_of <- function(app) drover:::compile_app(app)$policies[[1L]]$rule$auth$by$basic

test_that("what is registered is what the engine is given", {
  hash <- dr_password_hash("secret")
  file <- tempfile()
  file.create(file)
  app <- dr_auth_basic(dr_app(), c(ann = hash), file)
  expect_identical(
    basic_of(app), list(users = list(list(name = "ann", value = hash)), file = normalizePath(file))
  )
})

test_that("wrong users are refused, and no password is shown", {
  app <- dr_app()
  hash <- dr_password_hash("secret")
  wrongs <- list(c(ann = "hunter2"), hash, c(hash, ann = hash), c("a:b" = hash), list(ann = hash), character(), 7)
  for (wrong in wrongs) {
    pattern <- "`users` must be NULL or a named character vector: hashes of"
    error <- expect_argument_error(dr_auth_basic(app, wrong), pattern)
    expect_false(grepl("hunter2", conditionMessage(error)))
  }
  expect_argument_error(dr_auth_basic(app), "one of `users`, `file` must be given")
})

test_that("a server asks for names and passwords", {
  server <- local_server({
    app <- dr_app()
    dr_get(app, "/who", function(req) req$auth$user)
    dr_auth_basic(app, c("z\u00f6e" = dr_password_hash("p\u00e4ss")))
  })
  status <- function(userpwd) {
    handle <- curl::new_handle()
    if (nzchar(userpwd)) curl::handle_setopt(handle, userpwd = enc2utf8(userpwd), httpauth = 1)
    answer <- curl::curl_fetch_memory(paste0(server$url, "/who"), handle)
    c(answer$status_code, rawToChar(answer$content))
  }
  expect_identical(status("")[[1L]], "401")
  expect_identical(status("z\u00f6e:pass")[[1L]], "401")
  expect_identical(enc2utf8(status("z\u00f6e:p\u00e4ss")), c("200", "z\u00f6e"))
})
