# What needs no server; the rest is in tests/process/test-websockets.R.

test_that("without a server there is nobody to send to", {
  expect_error(dr_ws_send(1, "x"), "no server runs", class = "drover_error_state")
  expect_error(dr_ws_broadcast("room", "x"), class = "drover_error_state")
  expect_error(dr_ws_members("room"), class = "drover_error_state")
  expect_error(dr_ws_rooms(), class = "drover_error_state")
})

test_that("arguments that are wrong are named, before anything is sent", {
  wrong <- function(call, text) expect_error(call, text, fixed = TRUE, class = "drover_error_argument")
  wrong(dr_ws_send("x", "y"), "`conn` must be a connection, as handlers of dr_ws() get it, or its number, not \"x\"")
  wrong(dr_ws_send(0, "y"), "`conn` must be")
  wrong(dr_ws_send(1.5e16, "y"), "`conn` must be")
  wrong(dr_ws_send(1, c("a", "b")), "`msg` must be a single string in UTF-8, a raw vector or a list")
  wrong(dr_ws_send(1, NA_character_), "`msg` must be")
  wrong(dr_ws_join(1, ""), "`room` must be a single string that is not empty")
  wrong(dr_ws_join(1, "x", 1), "`name` must be a single string")
  wrong(dr_ws_leave(1, NULL), "`room` must be")
  wrong(dr_ws_broadcast("x", 1), "`msg` must be")
  wrong(dr_ws_broadcast("x", "y", except = "me"), "`conn` must be")
  wrong(dr_ws_close(1, 1005), "`code` must be")
  wrong(dr_ws_close(1, 1000, strrep("x", 124)), "`reason` must be a single string of at most 123 bytes")
})

test_that("a state that is too large is refused, and an empty one is none", {
  expect_identical(serialized_state(NULL), raw())
  expect_identical(unserialize(serialized_state(list(a = 1))), list(a = 1))
  expect_error(serialized_state(strrep("x", 1e5)), "conn$state takes", fixed = TRUE)
})
