cache_of <- function(app) drover:::compile_app(app)$policies[[1L]]

test_that("a cache is a policy of the app, with seconds and bytes as numbers", {
  app <- dr_cache(dr_app(), "5m", routes = "/a", key = c("page", "q"), vary = "Accept-Language",
    stale_while_revalidate = "10s", stale_if_error = 60, etag = TRUE, max_bytes = "1MB")
  policy <- cache_of(app)
  expect_identical(policy$routes, list("/a"))
  rule <- policy$rule$cache
  expect_identical(rule$ttl, 300)
  expect_identical(rule$key, list(fields = list("page", "q")))
  expect_identical(rule$vary, list("Accept-Language"))
  expect_identical(rule[c("stale_while_revalidate", "stale_if_error")],
    list(stale_while_revalidate = 10, stale_if_error = 60))
  expect_identical(rule$max_bytes, 1e6)
  plain <- cache_of(dr_cache(dr_app()))$rule$cache
  expect_null(plain$ttl)
  expect_identical(plain$key, "query")
  expect_identical(cache_of(dr_cache(dr_app(), key = character()))$rule$cache$key, list(fields = list()))
})

test_that("arguments that are wrong are named", {
  app <- dr_app()
  for (wrong in list(-1, NA, "x", c(1, 2), 1e9)) {
    expect_argument_error(dr_cache(app, wrong), "`ttl` must be a single number of seconds")
  }
  expect_argument_error(dr_cache(app, 0.5), "`ttl` must be a whole number of seconds")
  expect_argument_error(dr_cache(app, stale_if_error = "500ms"), "`stale_if_error` must be a whole number of seconds")
  expect_argument_error(dr_cache(app, key = 1), "`key` must be NULL or names of fields of the query")
  expect_argument_error(dr_cache(app, key = ""), "`key` must be NULL or names of fields of the query")
  expect_argument_error(dr_cache(app, vary = "a b"), "`vary` must be names of header fields")
  expect_argument_error(dr_cache(app, vary = "*"), "`vary` must be names of header fields, without")
  expect_argument_error(dr_cache(app, credentials = NA), "`credentials` must be TRUE or FALSE")
  expect_argument_error(dr_cache(app, etag = 1), "`etag` must be TRUE or FALSE")
  expect_argument_error(dr_cache(app, max_bytes = "1kB"), "`max_bytes` must be a single integer >= 65536")
  expect_argument_error(dr_cache(app, routes = "api"), "`routes` must be")
  expect_length(drover:::compile_app(app)$policies, 0L)
})

test_that("what is to be purged has to be said", {
  expect_argument_error(dr_cache_purge(), "give one of `path`, `prefix` and `tag`")
  expect_argument_error(dr_cache_purge("/a", tag = "b"), "give one of `path`, `prefix` and `tag`")
  expect_argument_error(dr_cache_purge("a"), "`path` must be a string that starts with")
  expect_argument_error(dr_cache_purge(prefix = 1), "`prefix` must be a single string")
  expect_argument_error(dr_cache_purge(tag = "a b"), "`tag` must be a string without spaces and commas")
})

test_that("without a server there is nothing to purge", {
  expect_error(dr_cache_purge("/a"), class = "drover_error_state")
})
