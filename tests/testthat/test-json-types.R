# dr_to_json() of every type of object that R has: either JSON or a clear error, and never the source of a function.

secret <- "the source of a function"

# by what typeof() says; promises, dots and weak references cannot be had as values
refused <- function() {
  list(
    closure = function(x) "the source of a function",
    special = `if`,
    builtin = sum,
    environment = local(environment()),
    symbol = quote(secret),
    language = quote(f("the source of a function")),
    expression = expression("the source of a function"),
    externalptr = C_json_write$address,
    bytecode = .Internal(bodyCode(compiler::cmpfun(function(x) "the source of a function")))
  )
}

written <- list(
  "NULL" = NULL, logical = TRUE, integer = 1L, double = 1, complex = 1i, character = "a", raw = as.raw(1),
  list = list(1), pairlist = pairlist(a = 1)
)

test_that("types that hold data are written", {
  for (type in names(written)) {
    expect_identical(typeof(written[[type]]), type)
    expect_true(jsonlite::validate(dr_to_json(written[[type]])), info = type)
  }
})

test_that("types that hold code or handles are refused, wherever they are", {
  objects <- refused()
  for (type in names(objects)) {
    x <- objects[[type]]
    expect_identical(typeof(x), type)
    hidden <- list(
      x, list(x), list(a = list(b = x)), list(1i, x), structure(list(x), class = "unknown"),
      structure(list(a = I(list(x))), class = "data.frame", row.names = 1L)
    )
    for (value in hidden) {
      for (arguments in list(list(), list(pretty = TRUE), list(force = TRUE), list(auto_unbox = TRUE))) {
        message <- tryCatch(
          do.call(dr_to_json, c(list(value), arguments), quote = TRUE),
          drover_error_json = conditionMessage
        )
        expect_match(message, "which has no JSON", info = type)
        expect_no_match(message, secret, fixed = TRUE)
      }
    }
  }
})

test_that("what hides code in a class, a slot or a pairlist is refused", {
  expect_error(dr_to_json(y ~ x), "a call or formula", class = "drover_error_json")
  expect_error(dr_to_json(stats::lm(dist ~ speed, cars)), class = "drover_error_json")
  expect_error(dr_to_json(simpleError("x", quote(f(secret)))), class = "drover_error_json")
  expect_error(dr_to_json(pairlist(a = quote(x))), class = "drover_error_json")
  expect_error(dr_to_json(globalenv()), "an environment", class = "drover_error_json")
  expect_error(dr_to_json(stdin()), class = "drover_error_json")
  generator <- methods::setClass("drTestHolder", representation(f = "function"), where = environment())
  on.exit(methods::removeClass("drTestHolder", where = environment()))
  holder <- generator(f = function() secret)
  expect_error(dr_to_json(holder), class = "drover_error_json")
  expect_error(dr_to_json(holder, force = TRUE), "a function", class = "drover_error_json")
})

test_that("classes that jsonlite does not know are an error", {
  for (x in list(numeric_version("1.2"), structure(1, class = "unknown"))) {
    expect_error(dr_to_json(x), class = "drover_error_json")
    expect_error(dr_to_json(list(x)), class = "drover_error_json")
  }
})

test_that("objects that are not what their class says are no danger", {
  broken <- list(
    structure(list(a = 1:2, b = 1:3), class = "data.frame", row.names = 1:2),
    structure(list(1, 2), class = "data.frame", row.names = 1L),
    structure(list(a = 1), class = "data.frame"),
    structure(list(a = NULL, b = 1), class = "data.frame", row.names = 1L),
    structure(5L, class = "factor", levels = "a"),
    structure(-1L, class = "factor", levels = "a"),
    structure(1L, class = "factor"),
    structure(1.5, class = "factor", levels = "a"),
    structure("a", class = "Date"),
    structure(list(1), class = "Date"),
    structure(TRUE, class = c("POSIXct", "POSIXt")),
    structure(1:2, class = c("scalar", "integer")),
    structure(list(1), class = c("scalar", "list")),
    structure(1, class = character(0))
  )
  for (x in broken) {
    text <- tryCatch(suppressWarnings(dr_to_json(x)), drover_error_json = function(e) "null")
    expect_true(jsonlite::validate(text))
  }
})
