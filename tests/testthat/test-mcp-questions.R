test_that("questions are checked where they are written", {
  wrong <- "single values, or of arrays"
  for (fields in list(list(a = dr_object(b = dr_int())), dr_int(), list(a = dr_array(dr_int())))) {
    expect_error(dr_mcp_form("?", fields), wrong, class = "drover_error_argument")
  }
  form <- dr_mcp_form("?", list(a = dr_array(dr_factor(c("x", "y"))), b = dr_date()))
  expect_identical(format(form), "<dr_mcp_question> elicitation/create")
  for (url in c("javascript:alert(1)", "https://a b", "")) {
    expect_error(dr_mcp_url(url, "Go"), "https:// or http://", class = "drover_error_argument")
  }
  for (most in list(0, 1.5, "x", c(1, 2), NA)) {
    expect_error(dr_mcp_sampling("a", most), "whole number of at least 1", class = "drover_error_argument")
  }
})

test_that("questions need names and a call", {
  name <- dr_mcp_form("?", list(a = dr_chr()))
  expect_error(dr_mcp_ask(), "each with a name of its own", class = "drover_error_argument")
  expect_error(dr_mcp_ask(name), "each with a name of its own", class = "drover_error_argument")
  expect_error(dr_mcp_ask(a = name, a = name), "each with a name of its own", class = "drover_error_argument")
  expect_error(dr_mcp_ask(a = "b"), "each with a name of its own", class = "drover_error_argument")
  expect_error(dr_mcp_ask(a = name), "while a client of dr_mcp\\(\\) calls", class = "drover_error_state")
  expect_false(dr_mcp_can("form"))
  expect_error(dr_mcp_can("fly"), "\"url\"", class = "drover_error_argument")
})

test_that("log messages have a level", {
  expect_error(dr_mcp_log("loud", "a"), "\"debug\"", class = "drover_error_argument")
  expect_false(dr_mcp_log("info", "a"))
})
