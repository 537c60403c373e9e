test_that("a password has a hash of its own each time", {
  hashes <- c(dr_password_hash("secret"), dr_password_hash("secret"))
  expect_match(hashes, "^[$]argon2id[$]v=19[$]m=19456,t=2,p=1[$][A-Za-z0-9+/]{22}[$][A-Za-z0-9+/]{43}$")
  expect_false(hashes[[1L]] == hashes[[2L]])
})

test_that("what is no password is refused, and not shown", {
  expect_argument_error(dr_password_hash(""), "`password` cannot be hashed: it must have 1 to 1024 bytes")
  expect_argument_error(dr_password_hash(strrep("x", 1025)), "1 to 1024 bytes")
  for (wrong in list(NULL, NA_character_, 7, c("hunter2", "b"))) {
    error <- expect_argument_error(dr_password_hash(wrong), "`password` must be a single string")
    expect_false(grepl("hunter2", conditionMessage(error)))
  }
})

test_that("a hash is of one password", {
  hash <- dr_password_hash("s\u00e9cret")
  expect_true(dr_password_verify("s\u00e9cret", hash))
  for (wrong in c("secret", "", "S\u00e9cret")) expect_false(dr_password_verify(wrong, hash))
  none <- c("", "secret", "$argon2id$", substr(hash, 1L, 60L))
  for (wrong in none) expect_false(dr_password_verify("s\u00e9cret", wrong))
  expect_argument_error(dr_password_verify(NULL, hash), "`password` must be a single string")
  expect_argument_error(dr_password_verify("x", NA_character_), "`hash` must be a single string")
})
