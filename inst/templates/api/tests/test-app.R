# The app, asked as a client would: no port is needed for that.

library(drover)

client <- dr_test("../app.R")

test_that("it says hello", {
  client$get("/") |> expect_status(200) |> expect_text("Hello from {{name}}\n")
})

test_that("numbers are squared, and nothing else", {
  client$get("/square/7") |> expect_status(200) |> expect_json(list(n = 7, square = 49))
  client$get("/square/seven") |> expect_status(404)
})

test_that("numbers have a mean, and other bodies are refused", {
  client$post("/mean", json = list(numbers = c(1, 2, 6))) |> expect_status(200) |> expect_json(list(mean = 3))
  client$post("/mean", json = list(numbers = I("many"))) |> expect_status(422)
})

client$stop()
