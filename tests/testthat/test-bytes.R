test_that("bytes outside the table are escaped, in UTF-8", {
  plain <- drover:::byte_set("abc")
  expect_identical(drover:::percent_encode("abcab", plain), "abcab")
  expect_identical(drover:::percent_encode("a d", plain), "a%20%64")
  expect_identical(drover:::percent_encode("\u00e9", plain), "%C3%A9")
  expect_identical(drover:::percent_encode(iconv("\u00e9", "UTF-8", "latin1"), plain), "%C3%A9")
  expect_identical(drover:::percent_encode("", plain), "")
})
