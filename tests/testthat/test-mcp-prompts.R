test_that("arguments of prompts are strings that its function has", {
  expect_error(dr_mcp_prompt(function(n) n, "a", "b", list(n = dr_int())), "schemas of strings")
  expect_error(dr_mcp_prompt(function() 1, "a", "b", list(n = dr_chr())), "no argument n")
  expect_error(dr_mcp_prompt(function(n) n, "a", "b"), "needs an argument n")
  expect_error(dr_mcp_prompt(function() 1, "a b", "c"), "at most 64 letters")
  expect_identical(format(dr_mcp_prompt(function() "x", "a", "Says x"))[[1L]], "<dr_mcp_prompt> a")
})
