# dr_state() in a session without a server; tests/process/test-shared-state.R has what workers see of each other.

fresh_state <- function() {
  state <- dr_state(basename(tempfile("state-")))
  state
}

test_that("values come back as they were", {
  state <- fresh_state()
  values <- list(
    NULL, NA, NaN, NA_real_, NA_integer_, -0, 1L, 1:3, 5 %/% 0, "text", NA_character_, character(), "gr\u00fc\u00dfe",
    as.raw(0:3), list(a = 1, b = list(NULL, "x")), factor(c("a", "b")), Sys.Date(),
    as.POSIXct("2026-01-02", tz = "UTC"), data.frame(x = 1:3, y = letters[1:3]), matrix(1:4, 2), 1i, c(a = 1)
  )
  for (value in values) {
    state$set("key", value)
    expect_identical(state$get("key", "default"), value)
  }
  expect_identical(state$get("none", "default"), "default")
  expect_null(state$get("none"))
  # a missing number stays what it is
  state$set("key", NA_real_)
  expect_false(is.nan(state$get("key")))
})

test_that("states of other names have other values, and keys are told in order", {
  one <- fresh_state()
  other <- fresh_state()
  for (key in c("b", "a", "\u00e9", "a b", strrep("k", 500))) one$set(key, key)
  expect_identical(one$keys(), sort(c("b", "a", "\u00e9", "a b", strrep("k", 500)), method = "radix"))
  expect_identical(other$keys(), character())
  expect_true(one$delete("a"))
  expect_false(one$delete("a"))
  expect_null(one$get("a"))
  expect_output(print(one), "<dr_state> of 4 values", fixed = TRUE)
  # the same key in another encoding
  latin <- iconv("\u00e9", "UTF-8", "latin1")
  expect_identical(one$get(latin), "\u00e9")
})

test_that("numbers are added to, and only numbers", {
  state <- fresh_state()
  expect_identical(state$add("n"), 1)
  expect_identical(state$add("n", 2.5), 3.5)
  state$set("n", 1L)
  expect_identical(state$add("n", 1L), 2)
  state$set("n", NA_integer_)
  expect_identical(state$add("n"), NA_real_)
  state$set("n", "text")
  expect_error(state$add("n"), "not a single number", class = "drover_error_argument")
  expect_error(state$add("n", "1"), "`by` must be a single number", class = "drover_error_argument")
})

test_that("a value is changed only where it is as expected", {
  state <- fresh_state()
  expect_true(state$cas("owner", NULL, "me"))
  expect_false(state$cas("owner", NULL, "you"))
  expect_true(state$cas("owner", "me", list(1L)))
  expect_false(state$cas("owner", list(1), 2))
  expect_identical(state$get("owner"), list(1L))
  expect_identical(state$update("list", function(old) c(old, "x"), default = "first"), c("first", "x"))
  # changed meanwhile: called again
  calls <- 0
  value <- state$update("n", function(old) {
    calls <<- calls + 1
    if (calls < 3) state$add("n", 10)
    old + 1
  }, default = 0)
  expect_identical(c(calls, value), c(3, 21))
  expect_error(state$update("n", function(old) stop("mine")), "mine")
  expect_identical(state$get("n"), 21)
})

test_that("values with a lifetime end, and keep it when they are only changed", {
  state <- fresh_state()
  state$set("short", 1, ttl = 0.01)
  state$add("window", ttl = "1h")
  state$set("list", list(1), ttl = 0.01)
  state$update("list", function(old) c(old, 2))
  expect_true(within(function() is.null(state$get("short")) && is.null(state$get("list"))))
  expect_identical(state$keys(), "window")
  expect_error(state$set("x", 1, ttl = 0), "`ttl` must be", class = "drover_error_argument")
  expect_error(state$set("x", 1, ttl = "soon"), "`ttl` must be", class = "drover_error_argument")
})

test_that("what is no data, and keys that are none, are refused", {
  state <- fresh_state()
  for (value in list(sum, function() 1, globalenv(), y ~ x, quote(x), list(a = list(mean)), structure(1, f = sum))) {
    expect_error(state$set("x", value), "`value` must be data", class = "drover_error_argument")
  }
  expect_error(state$set("x", strrep("x", 1e6)), "max_state_value", class = "drover_error_argument")
  for (key in list("", NA, NULL, 1, c("a", "b"), "\xff", strrep("k", 1100))) {
    expect_error(state$get(key), "`key` must be a single string of UTF-8", class = "drover_error_argument")
    expect_error(state$add(key), "`key`", class = "drover_error_argument")
  }
  for (name in list("", 1, NULL, NA_character_, strrep("n", 257), "\xff")) {
    expect_error(dr_state(name), "`name` must be a string", class = "drover_error_argument")
  }
  expect_identical(state$keys(), character())
})
