test_that("a URI is one, and its placeholders are the function's arguments", {
  for (uri in c("nothing", "a b://c", "x://{a", "x://{a}{a}", "x://{1}", "x://{a-b}")) {
    expect_error(dr_mcp_resource(uri, function(a) a, "x"), "`uri` must be a URI", class = "drover_error_argument")
  }
  expect_error(dr_mcp_resource("x://{a}", function(b) b, "x"), "no argument a", class = "drover_error_argument")
  expect_error(dr_mcp_resource("x://{a}", "text", "x"), "a function of the placeholders")
  expect_error(dr_mcp_resource("x://a", 7, "x"), "a single string, a raw vector or a function")
  expect_error(dr_mcp_resource("x://{a}", function(a) a, "x", complete = list(b = "c")), "what there is to complete: a")
  expect_identical(format(dr_mcp_resource("x://{a}", function(a, req) a, "car")), "<dr_mcp_resource> car: x://{a}")
})
