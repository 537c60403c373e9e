# What can be done with `conn` beside sending to it, on one as src/websockets.c makes it.

conn_of <- function(id) structure(id, fields = new.env(parent = emptyenv()), class = "dr_ws_conn")

test_that("a connection is shown by its number", {
  expect_output(print(conn_of(12)), "<dr_ws_conn> connection 12", fixed = TRUE)
})

test_that("a connection is its number, and so a key", {
  conn <- conn_of(12)
  expect_identical(conn$id, 12)
  expect_identical(conn[["id"]], 12)
  expect_identical(as.character(unclass(conn)), "12")
  expect_identical(paste0("user-", conn), "user-12")
  expect_identical(c(conn, conn_of(13)), c(12, 13))
  expect_true(conn %in% c(11, 12))
  expect_true(conn == conn_of(12))
})

test_that("what is set in a connection is there for whoever has it, but for its number", {
  conn <- conn_of(12)
  set <- function(conn) {
    conn$state <- list(n = 1)
    conn[["params"]] <- list(room = "a")
    conn$state$n <- conn$state$n + 1
  }
  set(conn)
  expect_identical(conn$state, list(n = 2))
  expect_identical(conn[["params"]]$room, "a")
  expect_null(conn$protocol)
  conn$state <- NULL
  expect_null(conn$state)
  expect_error(conn$id <- 13, "cannot be set")
})
