test_that("without a server a line is a message", {
  expect_message(dr_log("info", "an order", n = 3L, who = "Ann"), "drover INFO an order n=3 who=Ann", fixed = TRUE)
  expect_message(dr_log("warn", "a\nb\x1ec"), "drover WARN a\\nb c", fixed = TRUE)
  expect_invisible(suppressMessages(dr_log("debug", "x")))
})

test_that("fields become text or literals of JSON", {
  text <- function(value) field_text(value, "x", NULL)
  expect_identical(text("a\x1eb\x1fc"), ":a b c")
  expect_identical(text("12"), ":12")
  expect_identical(vapply(list(12L, 0.1, -1e-20, TRUE, FALSE, NULL, NA, NA_character_, NaN), text, ""),
    c("=12", "=0.1", "=-1e-20", "=true", "=false", "=null", "=null", "=null", "=null"))
  expect_identical(vapply(list(Inf, -Inf), text, ""), c(":Inf", ":-Inf"))
  expect_identical(text(factor("b", c("a", "b"))), ":b")
  expect_identical(text(as.Date("2026-11-24")), ":2026-11-24")
})

test_that("what is no line is an error that says what would be right", {
  expect_argument_error(dr_log("loud", "x"), "`level` must be \"info\", \"warn\", \"error\" or \"debug\"")
  expect_argument_error(dr_log("info", c("a", "b")), "`message` must be a single string")
  expect_argument_error(dr_log("info", "x", 1), "`...` must be fields with names")
  expect_argument_error(dr_log("info", "x", `a b` = 1), "not \"a b\"")
  expect_argument_error(dr_log("info", "x", `_a` = 1), "not \"_a\"")
  expect_argument_error(dr_log("info", "x", a = list(1)), "`a` must be a single string, number or logical, or NULL")
  expect_argument_error(dr_log("info", "x", a = 1:2), "`a` must be")
  expect_argument_error(dr_log("info", "x", a = sum), "`a` must be")
})
