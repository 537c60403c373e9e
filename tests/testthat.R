library(testthat)
library(drover)
test_check("drover")
