# What is foreign to the native writer is so alone: all around it is native, with all digits.

theirs <- function(x, ...) as.character(jsonlite::toJSON(x, ..., digits = I(15)))

id <- 1234567890123456
zone <- function(seconds, zone) .POSIXct(seconds, zone)

test_that("numbers keep their digits beside anything", {
  beside <- list(
    zone(1e9, "Asia/Tokyo"), as.POSIXlt(zone(1e9, "Europe/Paris")), as.POSIXlt(zone(c(1e9, NA), "")), 1i, pairlist(a = 1),
    ts(1:3), structure(list(a = 1), class = c("unknown", "list")), structure(4e6, class = "Date"), structure(Inf, class = "Date"),
    I(zone(1e9, "Asia/Tokyo")), matrix(list(1, "a"), 1), structure("{}", class = "json"), structure(1:2, class = c("x", "integer"))
  )
  for (x in beside) {
    for (auto_unbox in c(TRUE, FALSE)) {
      around <- list(a = id, b = list(x, 0.1 + 0.2), c = x)
      expected <- theirs(list(a = 1, b = list(x, 2), c = x), auto_unbox = auto_unbox)
      expected <- sub("\"a\":(\\[?)1(\\]?),", "\"a\":\\11234567890123456\\2,", expected)
      expected <- sub("(\\[?)2(\\]?)\\],\"c\"", "\\10.30000000000000004\\2],\"c\"", expected)
      expect_identical(dr_to_json(around, auto_unbox = auto_unbox), expected, info = deparse1(x))
    }
  }
  arguments <- list(
    list(pretty = TRUE), list(pretty = 4), list(keep_vec_names = TRUE), list(POSIXt = "mongo"), list(UTC = TRUE), list(raw = "hex"),
    list(complex = "list"), list(time_format = "%H"), list(force = TRUE)
  )
  for (more in arguments) {
    text <- do.call(dr_to_json, c(list(list(id = id, at = zone(1e9, "Asia/Tokyo"), r = as.raw(1), z = 1i)), more))
    expect_match(text, "1234567890123456", fixed = TRUE, info = names(more))
  }
})

test_that("numbers in a table keep their digits beside a column of any kind", {
  frame <- data.frame(id = id + 0:2, at = zone(c(1e9, NA, 1.7e9), "Asia/Tokyo"), stringsAsFactors = FALSE)
  frame$lt <- as.POSIXlt(zone(c(1e9, 2e9, NA), "Europe/Paris"))
  frame$z <- c(1i, NA, 2)
  frame$raw <- as.raw(1:3)
  frame$list <- list(1, zone(1e9, "Asia/Tokyo"), "a")
  frame$day <- structure(c(NA, 4e6, 18262), class = "Date")
  frame$odd <- structure(c(1.5, NA, 2), class = c("odd", "numeric"))
  frame$inner <- data.frame(id = id + 0:2, at = frame$at)
  frame$wide <- matrix(id + 0:5, 3)
  for (dataframe in c("rows", "columns", "values")) {
    for (na in list(list(), list(na = "null"), list(na = "string"))) {
      for (auto_unbox in c(TRUE, FALSE)) {
        arguments <- c(list(dataframe = dataframe, auto_unbox = auto_unbox), na)
        text <- do.call(dr_to_json, c(list(frame), arguments))
        digits <- function(x) gsub("12345678901234[56][0-9]*(e\\+15)?|1\\.23456789012346e\\+15", "#", x)
        expect_identical(digits(text), digits(do.call(theirs, c(list(frame), arguments))))
        expect_identical(lengths(regmatches(text, gregexpr("1234567890123456", text))), 3L)
      }
    }
  }
  named <- data.frame(a = id, "_row" = 2, row.names = "x", check.names = FALSE)
  expect_identical(dr_to_json(named), sub("1.23456789012346e+15", "1234567890123456", theirs(named), fixed = TRUE))
})

test_that("durations and tables are numbers, as with `force`", {
  for (x in list(as.difftime(c(1.5, NA), units = "mins"), as.difftime(1, units = "secs"), table(c(1, 1, 2)), table(1:2, 2:1))) {
    for (auto_unbox in c(TRUE, FALSE)) {
      expect_identical(
        dr_to_json(list(x), auto_unbox = auto_unbox),
        theirs(list(x), force = TRUE, auto_unbox = auto_unbox)
      )
    }
  }
})

test_that("vectors with names are objects where that is asked for", {
  values <- list(
    c(a = 1, b = NA), c(a = 1L), c(a = TRUE, b = NA), c(a = "x", b = NA), factor(c(a = "x", b = "y")), c(a = as.Date("2020-01-01")),
    c(a = zone(1e9, "UTC")), c(a = 1, a = 2), stats::setNames(1:2, c("", NA)), I(c(a = 1)), 1:2, stats::setNames(double(), character()),
    array(1:2, 2, list(c("x", "y"))), array(1:4, c(2, 2), list(c("x", "y"), NULL))
  )
  for (x in values) {
    for (arguments in list(list(), list(auto_unbox = TRUE), list(na = "null"), list(na = "string"), list(pretty = TRUE))) {
      arguments <- c(list(list(v = x, x)), keep_vec_names = TRUE, arguments)
      expect_identical(do.call(dr_to_json, arguments), suppressMessages(do.call(theirs, arguments)), info = deparse1(x))
    }
  }
})

test_that("classes with a method of their own, and S4, are jsonlite's as before", {
  where <- environment()
  methods::setOldClass("drTestOwn", where = where)
  generic <- get("asJSON", envir = asNamespace("jsonlite"))
  methods::setGeneric("asJSON", getGeneric("asJSON", package = "jsonlite"), where = where)
  methods::setMethod("asJSON", "drTestOwn", function(x, ...) "{\"own\":true}", where = where)
  on.exit(suppressMessages(methods::removeMethod("asJSON", "drTestOwn", where = where)))
  own <- structure(list(secret = 1), class = "drTestOwn")
  expect_identical(dr_to_json(list(id = id, own = own), auto_unbox = TRUE), "{\"id\":1234567890123456,\"own\":{\"own\":true}}")

  holder <- methods::setClass("drTestNumber", representation(n = "numeric"), where = where)
  expect_error(dr_to_json(list(holder(n = id))), class = "drover_error_json")
  expect_match(dr_to_json(list(holder(n = id)), force = TRUE), "1234567890123456", fixed = TRUE)
  on.exit(methods::removeClass("drTestNumber", where = where), add = TRUE)
})

test_that("a handler's value is written like that, too", {
  reply <- function(x) rawToChar(as_response(x)$body |> charToRaw())
  x <- list(id = id, at = as.POSIXlt(zone(1e9, "UTC")), z = 1i)
  expect_identical(reply(x), "{\"id\":1234567890123456,\"at\":\"2001-09-09 01:46:40\",\"z\":\"0+1i\"}")
})

test_that("a client gets all digits beside times of any kind", {
  app <- dr_app()
  dr_get(app, "/", function(req) {
    list(id = 1234567890123456, at = as.POSIXlt(.POSIXct(1e9, "Asia/Tokyo")), took = as.difftime(1, units = "secs"))
  })
  server <- serve_workers(app)
  answer <- http(sprintf("http://127.0.0.1:%d", server$port), "/")
  expect_identical(answer$body, "{\"id\":1234567890123456,\"at\":\"2001-09-09 10:46:40\",\"took\":1}")
})

test_that("many foreign parts are asked about once", {
  x <- lapply(1:5000, function(i) zone(i, "Asia/Tokyo"))
  expect_identical(dr_to_json(x[1:50]), theirs(x[1:50]))
  expect_identical(length(dr_from_json(dr_to_json(x))), 5000L)
})
