# What tests share with those of other runners, in tests/lib.

for (file in c("wait.R", "gates.R", "marks.R", "start.R", "curl.R")) {
  source(testthat::test_path("..", "lib", file), local = TRUE, encoding = "UTF-8")
}
offer_gates(testthat::test_path("..", "lib"))
