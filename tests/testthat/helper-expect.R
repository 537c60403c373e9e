# The expectations that most tests have, quick where they hold: testthat compares two values in all their parts, and
# sets the session up to print the differences, before it knows that there are none. The tests of random values expect
# some ten thousand things. What does not hold is testthat's, for the same values.

expect_identical <- function(object, expected, info = NULL, label = NULL, expected.label = NULL, ...) {
  if (!...length() && identical(object, expected)) return(it_holds(object))
  testthat::expect_identical(
    object, expected, info = info, label = label %||% deparse1(substitute(object)),
    expected.label = expected.label %||% deparse1(substitute(expected)), ...
  )
}

expect_true <- function(object, info = NULL, label = NULL) {
  if (isTRUE(object)) return(it_holds(object))
  testthat::expect_true(object, info = info, label = label %||% deparse1(substitute(object)))
}

expect_false <- function(object, info = NULL, label = NULL) {
  if (isFALSE(object)) return(it_holds(object))
  testthat::expect_false(object, info = info, label = label %||% deparse1(substitute(object)))
}

it_holds <- function(value) {
  testthat::succeed()
  invisible(value)
}
