test_that("parts have names, and columns single values", {
  expect_wrong <- function(code, says) expect_error(code, says, class = "drover_error_argument")
  expect_wrong(dr_object(dr_int()), "`...` must be named types")
  expect_wrong(dr_object(a = dr_int(), a = dr_int()), "each name once")
  expect_wrong(dr_object(a = mean), "`a` must be a schema")
  expect_wrong(dr_data_frame(a = dr_array(dr_int())), "`a` must have a type of single values")
  expect_wrong(dr_form(a = dr_object(b = dr_int())), "`a` must have a type of single values, or be an array")
  expect_wrong(dr_array(mean), "`items` must be a schema")
  expect_wrong(dr_array(dr_int(), unique = 1), "`unique` must be TRUE or FALSE")
  expect_wrong(dr_data_frame(a = dr_int(), .min_rows = 2, .max_rows = 1), "`.min_rows` must not be above `.max_rows`")
  expect_wrong(dr_object(a = dr_int(), .extra = "keep"), "`.extra` must be \"ignore\" or \"refuse\"")
})

test_that("defaults of parts are JSON of the same", {
  tags <- dr_array(dr_date(), default = as.Date(c("2026-01-01", "2026-01-02")))
  expect_identical(tags$json$default, list("2026-01-01", "2026-01-02"))
  frame <- dr_data_frame(t = dr_datetime(), .default = data.frame(t = .POSIXct(0, "UTC")))
  expect_identical(
    as.character(dr_to_json(frame$json$default, auto_unbox = TRUE)), "[{\"t\":\"1970-01-01T00:00:00Z\"}]"
  )
})
