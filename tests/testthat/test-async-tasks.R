# What of dr_async() needs no server; tests/process/test-tasks.R has the rest.

test_that("dr_async() says what is wrong with its arguments, and where it is not for", {
  skip_if_not_installed("promises")
  expect_error(dr_async("f"), "`f` must be a function, not \"f\"", class = "drover_error_argument")
  expect_error(dr_async(identity, timeout = "1"), "`timeout`", class = "drover_error_argument")
  expect_error(dr_async(identity, timeout = 0), "`timeout`", class = "drover_error_argument")
  expect_error(dr_async(identity, stop("no value")), "no value")
  expect_error(dr_async(identity, 1), "no worker runs here", class = "drover_error_state")
})

test_that("a task's call has its arguments by name, and not their values", {
  seen <- function(...) sys.call()
  call <- drover:::call_task(seen, list(1:1e6, x = 2, f = 3, 4))
  expect_identical(call, quote(f(arg1, x = x, f = arg3, arg4)))
  expect_identical(drover:::call_task(function(a, b = 5) a * b, list(3)), 15)
  expect_identical(drover:::call_task(function() "none", list()), "none")
  # names that would hide one another
  expect_identical(drover:::call_task(function(arg2, b) c(arg2, b), list(arg2 = 1, 2)), c(1, 2))
})

test_that("what a task comes to is read as it was written", {
  skip_if_not_installed("promises")
  ends <- c("ran", "late", "lost", "refused", "over", "failed")
  told <- function(value, number, end) {
    outcome <- if (end == "ran") serialize(value, NULL, xdr = FALSE)
    words <- as.integer(c(number %% 2^31, number %/% 2^32, match(end, ends) - 1L))
    list(raw = c(outcome, writeBin(words, raw())))
  }
  settled <- list()
  wait <- function(number) {
    name <- drover:::task_name(number)
    assign(name, envir = drover:::waiting, list(
      resolve = function(value) settled[[name]] <<- list(value = value),
      reject = function(error) settled[[name]] <<- list(error = error)
    ))
  }
  for (number in c(1, 2, 3, 2^32 + 5)) wait(number)
  drover:::receive_task_result(told(list(value = NULL), 1, "ran"))
  drover:::receive_task_result(told(list(error = simpleError("its own")), 2, "ran"))
  drover:::receive_task_result(told(NULL, 3, "late"))
  drover:::receive_task_result(told(list(value = 1:3), 2^32 + 5, "ran"))
  # one that nobody waits for
  expect_identical(drover:::receive_task_result(told(NULL, 77, "ran")), "")
  expect_identical(settled[["1"]], list(value = NULL))
  expect_identical(conditionMessage(settled[["2"]]$error), "its own")
  expect_s3_class(settled[["3"]]$error, "drover_error_async")
  expect_identical(settled[["3"]]$error$status, 504L)
  expect_identical(settled[["4294967301"]], list(value = 1:3))
  # the server ends
  wait(9)
  drover:::give_up_tasks()
  expect_identical(settled[["9"]]$error$why, "over")
  expect_length(ls(drover:::waiting), 0L)
})

test_that("an error with much in it keeps its class and its text", {
  large <- structure(
    class = c("mine", "error", "condition"), list(message = "too much", call = NULL, data = runif(1e6))
  )
  failure <- drover:::task_failure(large, NULL)
  expect_s3_class(failure$error, "mine")
  expect_identical(conditionMessage(failure$error), "too much")
  expect_lt(length(serialize(failure, NULL)), 1e4)
})
