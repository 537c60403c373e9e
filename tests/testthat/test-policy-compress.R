test_that("what is registered is what the engine is given, with the prefixes of mounts", {
  api <- dr_app()
  dr_compress(api, "gzip", types = c("text/*", "*+json"), min_size = "2kB", level = c(gzip = 9), credentials = TRUE,
    routes = "/v1")
  dr_decompress(api, "zstd", max_ratio = 10)
  app <- dr_mount(dr_decompress(dr_compress(dr_app())), "/api", api)
  policies <- drover:::compile_app(app)$policies
  expect_identical(lapply(policies, `[[`, "routes"), list(list(), list(), list("/api/v1"), list("/api")))
  rules <- lapply(policies, `[[`, "rule")
  expect_identical(rules[[1L]]$compress, list(
    encodings = list("br", "zstd", "gzip"), types = list(), min_size = 1024, brotli = 5, zstd = 1, gzip = 2,
    credentials = FALSE
  ))
  expect_identical(rules[[2L]]$decompress, list(encodings = list("gzip", "zstd", "deflate"), max_ratio = 100))
  expect_identical(rules[[3L]]$compress, list(
    encodings = list("gzip"), types = list("text/*", "*+json"), min_size = 2000, brotli = 5, zstd = 1,
    gzip = 9, credentials = TRUE
  ))
  expect_identical(rules[[4L]]$decompress, list(encodings = list("zstd"), max_ratio = 10))
})

test_that("wrong arguments are named", {
  app <- dr_app()
  for (wrong in list(NULL, character(), 1, NA_character_, "GZIP", "lzma", c("gzip", "gzip"))) {
    expect_argument_error(dr_compress(app, wrong), "`encodings` must be out of \"br\", \"zstd\", \"gzip\"")
    expect_argument_error(dr_decompress(app, wrong), "`encodings` must be out of \"gzip\", \"zstd\", \"deflate\"")
  }
  for (wrong in list(character(), 1, NA_character_, "", "text", "*/*", "text/", "/x", "a/b;c=d", "*+", "a/b, c/d")) {
    expect_argument_error(dr_compress(app, types = wrong), "`types` must be NULL or media types")
  }
  for (wrong in list(0, -1, NA, "2 apples", 1.5, NULL, 2^32)) {
    expect_argument_error(dr_compress(app, min_size = wrong), "`min_size` must be")
  }
  for (wrong in list(
    NULL, 3, c(br = 12), c(deflate = 1), c(gzip = 0), c(gzip = 10), c(zstd = 20), c(zstd = 1.5), c(gzip = NA), c(gzip = 1, gzip = 2),
    list(gzip = 1), c(gzip = "1")
  )) {
    expect_argument_error(dr_compress(app, level = wrong), "`level` must be a named numeric vector")
  }
  expect_argument_error(dr_compress(app, credentials = NA), "`credentials` must be TRUE or FALSE")
  expect_argument_error(dr_compress(app, routes = "api"), "`routes` must be NULL or paths")
  for (wrong in list(0, NA, 1.5, "2", 2e6)) {
    expect_argument_error(dr_decompress(app, max_ratio = wrong), "`max_ratio` must be")
  }
  expect_argument_error(dr_compress(1), "`app` must be a dr_app object")
  expect_argument_error(dr_decompress(app, routes = 1), "`routes` must be NULL or paths")
  for (setting in c("compress", "decompress")) {
    arguments <- stats::setNames(list(app, "yes"), c("app", setting))
    expect_argument_error(do.call(dr_serve, arguments), sprintf("`%s` must be TRUE or FALSE", setting))
  }
})
