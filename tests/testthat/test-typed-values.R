# Read of JSON as a handler would get it.
read <- function(schema, text) reader_of(schema$r)(dr_from_json(text, simplify = FALSE))

test_that("values have exactly the declared types", {
  expect_identical(read(dr_int(), "5.0"), 5L)
  expect_identical(read(dr_dbl(), "5"), 5)
  expect_identical(read(dr_int64(), "9007199254740991"), 9007199254740991)
  expect_identical(read(dr_int64(as = "character"), "\"9223372036854775807\""), "9223372036854775807")
  expect_identical(read(dr_lgl(), "true"), TRUE)
  expect_identical(read(dr_chr(), "\"NA\""), "NA")
  expect_identical(read(dr_date(), "\"2026-02-28\""), as.Date("2026-02-28"))
  expect_identical(read(dr_factor(c("a", "b")), "\"b\""), factor("b", c("a", "b")))
  expect_identical(read(dr_array(dr_chr()), "[\"NA\", \"x\"]"), c("NA", "x"))
  expect_identical(read(dr_array(dr_int()), "[]"), integer())
  expect_identical(read(dr_array(dr_int(nullable = TRUE)), "[1, null, 3]"), c(1L, NA, 3L))
  expect_identical(read(dr_array(dr_array(dr_dbl())), "[[1, 2], []]"), list(c(1, 2), numeric()))
  expect_identical(read(dr_array(dr_object(a = dr_int())), "[{\"a\": 1}]"), list(list(a = 1L)))
  expect_identical(read(dr_object(), "{\"a\": 1}"), structure(list(), names = character()))
})

test_that("moments are in UTC, whatever offset they are written with", {
  moment <- function(text) read(dr_datetime(), paste0("\"", text, "\""))
  expect_identical(moment("2026-11-25T14:03:00Z"), as.POSIXct("2026-11-25 14:03:00", tz = "UTC"))
  expect_identical(moment("2026-11-25t14:03:00z"), as.POSIXct("2026-11-25 14:03:00", tz = "UTC"))
  expect_identical(as.double(moment("2026-11-25T14:03:00.25-01:30")), as.double(moment("2026-11-25T15:33:00Z")) + 0.25)
  expect_identical(moment("2026-03-29T02:30:00+14:00"), as.POSIXct("2026-03-28 12:30:00", tz = "UTC"))
  expect_identical(attr(moment("2026-11-25T14:03:00Z"), "tzone"), "UTC")
})

test_that("a data frame has its columns, in their order and of their types", {
  frame <- dr_data_frame(
    i = dr_int(default = 7), s = dr_chr(required = FALSE), f = dr_factor(c("u", "v")), d = dr_date()
  )
  text <- '[{"d": "2026-01-01", "f": "v", "extra": {"a": 1}}, {"f": "u", "d": "2026-01-02", "s": "NA", "i": 1}]'
  expect_identical(read(frame, text), data.frame(
    i = c(7L, 1L), s = c(NA, "NA"), f = factor(c("v", "u"), c("u", "v")), d = as.Date(c("2026-01-01", "2026-01-02"))
  ))
  none <- read(frame, "[]")
  expect_identical(dim(none), c(0L, 4L))
  expect_identical(vapply(none, function(column) class(column)[[1L]], ""),
    c(i = "integer", s = "character", f = "factor", d = "Date"))
})

test_that("types are those of a JSON Schema where it is plain about them", {
  schema <- dr_schema(paste0(
    '{"type": "object", "properties": {"n": {"type": "integer", "minimum": 0, "maximum": 9},',
    '"big": {"type": "integer"},',
    '"day": {"type": "string", "format": "date"}, "any": {"anyOf": [{"type": "string"}, {"type": "integer"}]},',
    '"rest": {"type": "array", "items": {"type": "number"}}, "with": {"type": "string", "default": "x"}}}'
  ))
  value <- read(schema, '{"n": 1, "big": 2, "day": "2026-01-01", "any": 3, "rest": [1, 2], "more": [4]}')
  expect_identical(value, list(
    n = 1L, big = 2, day = as.Date("2026-01-01"), any = 3L, rest = c(1, 2), with = "x", more = list(4L)
  )[names(value)])
  expect_setequal(names(value), c("n", "big", "day", "any", "rest", "more", "with"))
})

# A type at random with a function that makes a text of JSON for it, now and then one that does not fit, and a function
# that says whether a value of R is exactly of that type.
random_type <- function(depth = 2L) {
  pick <- function(...) sample(list(...), 1L)[[1L]]
  is_one <- function(class) function(x) identical(class(x), class) && length(x) == 1L && !is.na(x)
  quoted <- function(x) as.character(dr_to_json(x, auto_unbox = TRUE))
  wrong <- function() pick("null", "\"?\"", "1.5", "[]", "{}", "true", "-1e300", "\"2026-02-30\"")
  scalar <- list(
    list(dr_int(), function() format(sample(-1e6:1e6, 1L), scientific = FALSE), is_one("integer")),
    list(dr_dbl(), function() quoted(stats::rnorm(1)), is_one("numeric")),
    list(dr_lgl(), function() pick("true", "false"), is_one("logical")),
    list(dr_chr(), function() quoted(pick("NA", "", "\u00e4 \"x\"", "1")), is_one("character")),
    list(dr_date(), function() quoted(format(as.Date("2000-01-01") + sample(20000L, 1L))), is_one("Date")),
    list(dr_datetime(), function() quoted(format(.POSIXct(stats::runif(1, 0, 4e9), "UTC"), "%Y-%m-%dT%H:%M:%SZ")),
      function(x) identical(class(x), c("POSIXct", "POSIXt")) && identical(attr(x, "tzone"), "UTC") && !is.na(x)),
    list(dr_factor(c("a", "b")), function() pick("\"a\"", "\"b\""),
      function(x) is_one("factor")(x) && identical(levels(x), c("a", "b")) && !is.na(x))
  )
  one <- sample(scalar, 1L)[[1L]]
  make <- function() if (stats::runif(1) < 0.1) wrong() else one[[2L]]()
  kind <- if (depth) sample(4L, 1L) else 1L
  if (kind == 1L) return(list(schema = one[[1L]], make = make, is = one[[3L]]))
  if (kind == 2L) {
    return(list(
      schema = dr_array(one[[1L]]),
      make = function() {
        paste0("[", paste(vapply(seq_len(sample(0:3, 1L)), function(i) make(), ""), collapse = ","), "]")
      },
      is = function(x) all(vapply(seq_along(x), function(i) one[[3L]](x[i]), NA)) && is.atomic(x)
    ))
  }
  parts <- lapply(1:2, function(i) random_type(depth - 1L))
  if (kind == 3L) {
    return(list(
      schema = dr_object(a = parts[[1L]]$schema, b = parts[[2L]]$schema),
      make = function() sprintf("{\"b\":%s,\"a\":%s,\"c\":[null]}", parts[[2L]]$make(), parts[[1L]]$make()),
      is = function(x) is.list(x) && identical(names(x), c("a", "b")) && parts[[1L]]$is(x$a) && parts[[2L]]$is(x$b)
    ))
  }
  list(
    schema = dr_data_frame(k = one[[1L]], m = dr_int(required = FALSE)),
    make = function() {
      rows <- vapply(seq_len(sample(0:3, 1L)), function(i) sprintf("{\"k\":%s}", make()), "")
      paste0("[", paste(rows, collapse = ","), "]")
    },
    is = function(x) {
      is.data.frame(x) && identical(names(x), c("k", "m")) && is.integer(x$m) &&
        all(vapply(seq_along(x$k), function(i) one[[3L]](x$k[i]), NA))
    }
  )
}

test_that("what the engine lets through, the handler gets with exactly the declared types", {
  set.seed(11)
  for (round in 1:12) {
    type <- random_type()
    app <- dr_app()
    seen <- NULL
    dr_post(app, "/", function(body, req) {
      seen <<- list(value = body)
      NULL
    }, body = type$schema)
    client <- dr_test(app)
    counts <- c(taken = 0L, refused = 0L)
    for (i in 1:25) {
      seen <- NULL
      text <- type$make()
      response <- client$request("POST", "/", body = text, headers = list("Content-Type" = "application/json"))
      if (response$status == 204L) {
        counts[["taken"]] <- counts[["taken"]] + 1L
        expect_true(type$is(seen$value), info = paste(text, deparse1(seen$value)))
      } else {
        counts[["refused"]] <- counts[["refused"]] + 1L
        expect_identical(response$status, 422L, info = paste(text, response$text))
        expect_null(seen)
      }
    }
    expect_gt(counts[["taken"]], 0L)
    client$stop()
  }
})
