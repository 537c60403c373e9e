# The app, talked to by WebSocket as clients would, on a free port.

library(drover)

dr_run("../app.R", port = 0, workers = 1, block = FALSE)

# Somebody in a room, and what has come there.
join <- function(room) {
  member <- new.env()
  member$heard <- character()
  member$client <- dr_ws_connect(
    sub("^http", "ws", paste0(dr_url(), "/rooms/", room)),
    on_open = function() member$is_there <- TRUE,
    on_message = function(msg) member$heard <- c(member$heard, msg)
  )
  wait_for(function() isTRUE(member$is_there))
  member
}

# What happens on WebSockets is heard of when R has nothing else to do.
wait_for <- function(condition) {
  end <- Sys.time() + 30
  while (!condition() && Sys.time() < end) later::run_now(0.1)
}

test_that("what one says is heard by all in the room, and nowhere else", {
  ada <- join("one")
  ben <- join("one")
  eve <- join("two")
  dr_ws_client_send(ada$client, "hello")
  wait_for(function() length(ada$heard) && length(ben$heard))
  expect_identical(ada$heard, "hello")
  expect_identical(ben$heard, "hello")
  expect_identical(eve$heard, character())
})

test_that("rooms say how many are there, and there is a page", {
  read <- function(path) paste(readLines(paste0(dr_url(), path), warn = FALSE), collapse = "\n")
  expect_identical(read("/rooms/one/members"), "{\"members\":2}")
  expect_match(read("/"), "<h1>{{name}}</h1>", fixed = TRUE)
})

dr_stop()
