test_that("content is made of what can be sent", {
  expect_error(dr_mcp_content(), "must have a piece", class = "drover_error_argument")
  expect_error(dr_mcp_content("a", role = "system"), "\"user\" or \"assistant\"", class = "drover_error_argument")
  expect_error(dr_mcp_content(dr_response("no", 404L)), "responses that are no errors", class = "drover_error_argument")
  content <- dr_from_json(dr_mcp_content("a", "x://y" = list(b = 1))$body, simplify = FALSE)$content
  expect_identical(content[[1L]], list(type = "text", text = "a"))
  expect_identical(content[[2L]]$resource, list(uri = "x://y", mimeType = "application/json", text = "{\"b\":1}"))
})
