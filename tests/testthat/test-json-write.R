# dr_to_json(): the text of jsonlite, but for numbers. 15 significant digits are the most that jsonlite has.

theirs <- function(x, ...) as.character(jsonlite::toJSON(x, ...))

test_that("random values are written as jsonlite writes them, with all arguments", {
  skip_on_cran()
  set.seed(20261121)
  native <- 0L
  for (i in seq_len(2000L)) {
    x <- random_value()
    arguments <- random_arguments()
    expected <- tryCatch(
      suppressWarnings(do.call(theirs, c(list(x), arguments, digits = I(15)), quote = TRUE)),
      error = function(e) NULL
    )
    info <- paste("value", i)
    if (is.null(expected)) {
      expect_error(suppressWarnings(do.call(dr_to_json, c(list(x), arguments), quote = TRUE)), class = "drover_error_json")
      next
    }
    expect_same_json(suppressWarnings(do.call(dr_to_json, c(list(x), arguments), quote = TRUE)), expected, info)
    native <- native + is.character(.Call(C_json_write, x, arguments, list(list(), integer(), list())))
  }
  # were most of them left to jsonlite, this would compare it with itself
  expect_gt(native, 1200L)
})

test_that("with `digits`, numbers are jsonlite's", {
  set.seed(1)
  x <- list(a = random_double(50), b = 1:3, c = pi)
  for (digits in list(0, 2, 4, NA, I(3))) expect_identical(dr_to_json(x, digits = digits), theirs(x, digits = digits))
  # of all sizes, with halves and what is just beside them
  halves <- (sample(2e5, 2000) + 0.5) / 10^sample(0:9, 2000, TRUE)
  x <- c(random_double(2000), halves, -halves, halves * (1 + .Machine$double.eps), 10^(-320:308), 2^31 - 0:3, NA, NaN, Inf)
  for (digits in 0:9) expect_identical(dr_to_json(x, digits = digits), theirs(x, digits = digits), info = digits)
  frame <- data.frame(a = x, b = seq_along(x))
  expect_identical(dr_to_json(frame, digits = 4L), theirs(frame, digits = 4L))
  # by the native writer, or this would compare jsonlite with itself
  expect_type(.Call(C_json_write, frame, list(digits = 4L), list(list(), integer(), list())), "character")
})

test_that("numbers are written in the fewest digits that give them back", {
  numbers <- c(
    "0" = 0, "1" = 1, "-1" = -1, "100000" = 1e5, "0.1" = 0.1, "0.30000000000000004" = 0.1 + 0.2,
    "0.3333333333333333" = 1 / 3, "1000000000000000" = 1e15, "100000000000000000000" = 1e20, "1e+21" = 1e21,
    "1.5e-7" = 1.5e-7, "0.000001" = 1e-6, "5e-324" = 5e-324, "1.7976931348623157e+308" = .Machine$double.xmax,
    "123456789.123" = 123456789.123, "0" = -0
  )
  for (i in seq_along(numbers)) expect_identical(dr_to_json(unname(numbers[i]), auto_unbox = TRUE), names(numbers)[i])
  expect_identical(dr_to_json(.Machine$integer.max, auto_unbox = TRUE), "2147483647")

  set.seed(2)
  x <- c(stats::rnorm(1e4), stats::runif(1e4) * 10^sample(-300:300, 1e4, TRUE), sample.int(1e9, 1e4) / 100)
  expect_identical(dr_from_json(dr_to_json(x)), x)
})

test_that("edge cases", {
  same <- function(x, ...) expect_identical(dr_to_json(x, ...), theirs(x, ..., digits = I(15)))
  for (auto_unbox in c(TRUE, FALSE)) {
    same(NULL, auto_unbox = auto_unbox)
    same(list(), auto_unbox = auto_unbox)
    same(structure(list(), names = character()), auto_unbox = auto_unbox)
    for (x in list(NA, NA_integer_, NA_real_, NA_character_, NaN, Inf, -Inf, TRUE, 1L, 1.5, "a", "")) {
      same(x, auto_unbox = auto_unbox)
      same(x, auto_unbox = auto_unbox, na = "null")
      same(x, auto_unbox = auto_unbox, na = "string")
      same(list(a = x, list(x)), auto_unbox = auto_unbox)
    }
    for (x in list(logical(), integer(), double(), character(), raw(), factor(character()))) same(x, auto_unbox = auto_unbox)
    same(I(1), auto_unbox = auto_unbox)
    same(list(I("a"), I(list(1)), jsonlite::unbox(1L)), auto_unbox = auto_unbox)
    same(jsonlite::unbox(data.frame(a = 1, b = NA)), auto_unbox = auto_unbox)
    same(c(a = 1, b = 2), auto_unbox = auto_unbox)
    same(array(1L, 1L), auto_unbox = auto_unbox)
    same(matrix(1), auto_unbox = auto_unbox)
    same(data.frame(), auto_unbox = auto_unbox)
    same(data.frame(a = integer()), auto_unbox = auto_unbox)
    same(data.frame(row.names = 1:3), auto_unbox = auto_unbox)
    same(data.frame(a = 1, row.names = "x"), auto_unbox = auto_unbox)
  }
  same(list(NULL, NULL), null = "null")
  same(list(1, a = 2, a = 3, `1` = 4, 5))
  same(stats::setNames(as.list(1:40), rep(c("a", "b"), 20)))
  same(stats::setNames(as.list(1:40), paste0("a", 1:40)))
  same(list("\u00e9" = 1, "a\"b" = 2, "</x>" = 3))
  same("</script> / < \" \\ \n \r \t \b \f \001 \037 \177")
  for (n in c(0:3, 53:55, 107:109, 500)) same(as.raw(rep_len(0:255, n)))
  same(array(1:24, c(2, 3, 4)))
  same(array(1:24, c(2, 3, 4)), matrix = "columnmajor")
  same(matrix(list(1, "a", NULL, TRUE), 2))
  same(structure(1:3, class = c("factor"), levels = c("a", NA, "c")))
  same(factor(c("b", NA), levels = c("a", "b"), ordered = TRUE))
})

test_that("dates and times", {
  same <- function(x, ...) expect_identical(dr_to_json(x, ...), theirs(x, ..., digits = I(15)))
  days <- as.Date(c("1970-01-01", "1969-12-31", "2000-02-29", "1900-03-01", "1000-01-01", "9999-12-31", NA))
  times <- .POSIXct(c(0, 86400, -1, 951782400, 1e9 + 0.5, NA), "UTC")
  for (x in list(
    days, as.Date(c("0900-01-01", "12000-01-01")), structure(c(1L, NA), class = "Date"), structure(1.9, class = "Date"),
    structure(Inf, class = "Date"), times, times[1:2], times[c(1, 6)], .POSIXct(c(0, 0.25), "UTC"), .POSIXct(5L, "GMT"),
    .POSIXct(-1e12, "UTC"), .POSIXct(1e9), .POSIXct(1e9, "Asia/Tokyo"), .POSIXct(c(1L, NA), "UTC"),
    as.POSIXlt(times), structure(days, class = c("AsIs", "Date"))
  )) {
    same(x)
    arguments <- list(x, Date = "epoch", POSIXt = "epoch")
    expect_same_json(do.call(dr_to_json, arguments), do.call(theirs, c(arguments, digits = I(15))))
    same(x, POSIXt = "ISO8601", na = "string")
    same(data.frame(x = seq_along(x), y = I(x)))
  }
  withr::with_options(list(digits.secs = 3), same(.POSIXct(1.25, "UTC")))
})

test_that("text in any encoding becomes UTF-8", {
  latin1 <- "caf\xe9"
  Encoding(latin1) <- "latin1"
  expect_identical(dr_to_json(latin1, auto_unbox = TRUE), "\"caf\u00e9\"")
  expect_identical(Encoding(dr_to_json(latin1)), "UTF-8")
  expect_identical(dr_to_json(stats::setNames(list(1), latin1), auto_unbox = TRUE), "{\"caf\u00e9\":1}")

  invalid <- "a\xffb"
  Encoding(invalid) <- "UTF-8"
  expect_identical(dr_to_json(invalid, auto_unbox = TRUE), "\"a\uFFFDb\"")
  Encoding(invalid) <- "bytes"
  expect_identical(dr_to_json(invalid, auto_unbox = TRUE), "\"a\uFFFDb\"")
  expect_identical(dr_to_json(list(invalid, 1i), auto_unbox = TRUE), "[\"a\uFFFDb\",\"0+1i\"]")
  # and where jsonlite does the work, an error instead of text that is not valid
  expect_error(dr_to_json(list(invalid), digits = NA), class = "drover_error_json")
})

test_that("ALTREP vectors are written", {
  expect_identical(dr_to_json(1:5), "[1,2,3,4,5]")
  expect_identical(dr_to_json(rev(1:3)), "[3,2,1]")
  expect_identical(dr_to_json(as.character(1:3)), "[\"1\",\"2\",\"3\"]")
  expect_identical(dr_to_json(as.character(c(1.5, NA))), theirs(as.character(c(1.5, NA))))
  wrapped <- stats::runif(1000)
  attr(wrapped, "note") <- "a wrapper from R 3.5 on"
  expect_identical(dr_from_json(dr_to_json(wrapped)), as.numeric(wrapped))
  names <- as.character(1:3)
  expect_identical(dr_to_json(stats::setNames(list(1, 2, 3), names), auto_unbox = TRUE), "{\"1\":1,\"2\":2,\"3\":3}")
})

test_that("a million elements are written", {
  x <- seq_len(1e6)
  expect_identical(dr_to_json(x), paste0("[", paste(x, collapse = ","), "]"))
  y <- rep(c("a", NA), 5e5)
  expect_identical(dr_to_json(y), paste0("[", paste(rep("\"a\",null", 5e5), collapse = ","), "]"))
  frame <- data.frame(a = x, b = x / 2)
  expect_identical(dr_from_json(dr_to_json(frame)), frame)
  expect_identical(dr_from_json(dr_to_json(as.list(x), auto_unbox = TRUE)), x)
})

test_that("nesting is limited", {
  nest <- function(n, x = 1) {
    for (i in seq_len(n)) x <- list(x)
    x
  }
  expect_identical(dr_to_json(nest(500), auto_unbox = TRUE), paste0(strrep("[", 500), 1, strrep("]", 500)))
  expect_error(dr_to_json(nest(513)), "nested too deep", class = "drover_error_json")
  expect_error(dr_to_json(nest(1e5)), "nested too deep", class = "drover_error_json")
  # on the way to jsonlite as well
  expect_error(dr_to_json(nest(1e5, 1i)), "nested too deep", class = "drover_error_json")
  expect_error(dr_to_json(nest(1e5), pretty = TRUE), "nested too deep", class = "drover_error_json")
})

test_that("arguments that are not native are jsonlite's", {
  x <- list(a = 1L, b = c("x", "y"))
  expect_identical(dr_to_json(x, pretty = TRUE), theirs(x, pretty = TRUE))
  expect_identical(dr_to_json(as.raw(1:3), raw = "hex"), theirs(as.raw(1:3), raw = "hex"))
  expect_identical(dr_to_json(1i, complex = "list"), theirs(1i, complex = "list"))
  expect_identical(dr_to_json(x, always_decimal = TRUE), theirs(x, always_decimal = TRUE))
  expect_error(dr_to_json(x, na = "no such choice"), class = "drover_error_json")
  expect_error(dr_to_json(x, auto_unbox = TRUE, auto_unbox = FALSE), class = "drover_error_json")
})

test_that("writing survives a garbage collection at every allocation", {
  frame <- data.frame(a = 1:2, b = c("x", NA), d = as.Date("2020-01-01"))
  value <- list(a = 1:3, b = as.character(1:2), c = frame)
  latin1 <- "\xe9"
  Encoding(latin1) <- "latin1"
  expected <- c(dr_to_json(value), dr_to_json(latin1))
  gctorture(TRUE)
  written <- c(dr_to_json(list(a = 1:3, b = as.character(1:2), c = frame)), dr_to_json(latin1))
  reply <- dr_json(list(ok = TRUE))
  gctorture(FALSE)
  expect_identical(written, expected)
  expect_identical(reply, dr_json(list(ok = TRUE)))
})
