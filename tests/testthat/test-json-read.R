# dr_from_json(): the values of jsonlite.

# What jsonlite reads, and is an error here: docs/decisions/0017-no-json-of-a-client-through-jsonlite.md
is_meant_refusal <- function(e) grepl("`_row` of records are not|not within the years 1000 to 9999", conditionMessage(e))

for (zone in c("UTC", "America/New_York")) test_that(paste("random texts give what jsonlite gives, times in", zone), {
  skip_on_cran()
  withr::local_timezone(zone)
  set.seed(20261121)
  refused <- foreign <- 0L
  for (i in seq_len(800L)) {
    text <- random_json()
    simplify <- i %% 5L != 0L
    expected <- suppressWarnings(jsonlite::parse_json(text, simplifyVector = simplify))
    read <- tryCatch(dr_from_json(text, simplify), drover_error_json = identity)
    if (inherits(read, "drover_error_json") && is_meant_refusal(read)) {
      refused <- refused + 1L
      next
    }
    expect_identical(read, expected, info = text)
    # what a client sends is written natively as well, when a handler sends it back
    foreign <- foreign + !is.character(.Call(C_json_write, read, list(auto_unbox = TRUE), list(list(), integer(), list())))
    expect_same_json(dr_to_json(read, auto_unbox = TRUE), as.character(jsonlite::toJSON(read, auto_unbox = TRUE, digits = I(15))), text)
  }
  expect_lt(refused, 80L)
  expect_identical(foreign, 0L)
})

test_that("a body of dates, row names or negative zeros takes no longer than others", {
  cost <- function(text, times = 5L) {
    raw <- charToRaw(text)
    system.time(for (i in seq_len(times)) suppressWarnings(dr_from_json(raw)))[["user.self"]]
  }
  many <- function(item, n = 20000L) paste0("[", paste(rep(item, n), collapse = ","), "]")
  plain <- cost(many("{\"a\":1.5,\"b\":\"text\"}"))
  # jsonlite takes a thousand times as long for some of these
  for (item in c(
    "-0", "-0.0", "[\"a\",-0.5]", "{\"$date\":1000}", "{\"a\":{\"$date\":1000}}", "{\"a\":{\"$date\":\"2020-01-01T00:00:00Z\"},\"b\":1}",
    "[{\"$date\":\"2020-01-01T00:00:00\"},1]", "{\"_row\":\"x\",\"a\":1}", "{\"_row\":1,\"$date\":\"no date\"}", "[[1.5,2],[\"a\",true]]"
  )) {
    expect_lt(cost(many(item)), 10 * plain + 1, label = item)
  }
})

test_that("random values come back as they come back from jsonlite", {
  skip_on_cran()
  set.seed(3)
  for (i in seq_len(500L)) {
    text <- tryCatch(suppressWarnings(dr_to_json(random_value())), drover_error_json = function(e) "null")
    expected <- suppressWarnings(jsonlite::parse_json(text, simplifyVector = TRUE))
    read <- tryCatch(dr_from_json(text), drover_error_json = identity)
    if (inherits(read, "drover_error_json") && is_meant_refusal(read)) next
    expect_identical(read, expected, info = text)
  }
})

test_that("edge cases", {
  for (text in c(
    "null", "true", " 1 ", "-0", "-0.0", "-0e1", "[-0,1]", "[-0,-0.0,0.0,1e-400,-1e-400]", "[\"-0\",-0.0]", "[1.5,\"a\",-0.0,1e5,123456.7,1e-7]",
    "[[1.5,2],[\"a\",true]]", "[1e15,\"a\",1e22,0.1e-300,3.3333333333333333]", "1.0", "1e5", "2147483647", "-2147483647", "-2147483648", "2147483648",
    "123456789012345678901234567890", "\"\"", "\"NA\"", "[]", "{}", "[[]]", "[[],[]]", "[{}]", "[{},{}]", "[{},null]",
    "[null]", "[null,null]", "[\"NA\"]", "[\"NA\",1]", "[\"NaN\",\"Inf\",\"-Inf\"]", "[\"NA\",\"a\"]", "[1,\"a\",true,null]",
    "[1.5,\"a\"]", "[true,2]", "[true,2.5]", "{\"a\":1,\"a\":2}", "[{\"a\":1,\"a\":2}]", "{\"\":1}", "[{\"\":1}]",
    "[[1],[]]", "[[],[1],[\"a\"]]", "[[],[\"a\"],[1]]", "[[],null]", "[[],1]", "[[{\"a\":1}],[]]", "[[1,2],[3]]",
    "[[1,2],[3,4]]", "[[1,2],[\"a\",true]]", "[[1.5,2],[\"a\",true]]", "[[null],[1]]", "[[[1,2]],[[3,4]],[]]",
    "[[[1],[2]],[[3],[4,5]]]", "[[[[1]]]]", "[[1],2]", "[{\"a\":[1,2]},{\"a\":[3,4]}]", "[{\"a\":[[1,2],[3,4]]},{}]",
    "[{\"a\":{\"b\":1}},{\"a\":{\"b\":2}}]", "[{\"a\":{\"b\":1}},{}]", "[{\"a\":[]},{\"a\":[]}]", "[{\"a\":[]},{\"a\":[1]}]",
    "[1,{\"a\":1}]", "{\"$date\":1000}", "[{\"$date\":1000},{\"$date\":2000}]", "[{\"_row\":\"x\",\"a\":1}]",
    "{\"$date\":[]}", "{\"$date\":null}", "{\"$date\":true}", "{\"$date\":[1,2]}", "{\"$date\":[[1,2],[3,4]]}", "[{\"$date\":1},null]",
    "[{\"$date\":\"2020-01-01T00:00:00Z\"}]", "[[{\"$date\":1}],{\"$date\":2}]", "{\"a\":{\"$date\":1},\"b\":{\"$date\":2}}",
    "{\"$date\":{\"$date\":5}}", "[{\"$date\":{\"$date\":5}}]", "[{\"a\":{\"$date\":5}},{}]", "{\"$date\":\"NA\"}", "{\"$date\":1,\"$date\":2}",
    "[[5],{\"$date\":1}]", "[[\"a\"],{\"$date\":1}]", "{\"$date\":[\"2020-01-01T00:00:00Z\",1,\"x\"]}", "{\"$date\":\"2020-06-01T12:30:59.25\"}",
    "[{\"_row\":\"x\",\"$date\":5}]", "[{\"_row\":2,\"a\":1},{\"_row\":1}]", "[{\"_row\":null,\"a\":1},{}]", "[{\"_row\":true},{\"_row\":false}]",
    "[{\"_row\":1.5,\"a\":1},{\"_row\":2.5}]", "[{\"_row\":\"a\"},{\"_row\":1.5},{}]", "[{\"_row\":{\"$date\":1000},\"a\":5}]",
    "\"\\u00e9\\ud83d\\ude00\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "[{\"b\":1,\"a\":2},{\"a\":3,\"c\":4,\"b\":5}]"
  )) {
    for (simplify in c(TRUE, FALSE)) {
      expect_identical(dr_from_json(text, simplify), jsonlite::parse_json(text, simplifyVector = simplify), info = text)
    }
  }
  negative <- function(text) 1 / dr_from_json(text)
  expect_identical(c(negative("-0"), negative("-0.0"), negative("0.0"), negative("-1e-400")), c(Inf, -Inf, Inf, -Inf))
})

test_that("row names of which one is there twice are made unique, without a warning that a client could fill the log with", {
  for (text in c("[{\"_row\":\"a\"},{\"_row\":\"a\"}]", "[{\"_row\":1,\"a\":2},{\"_row\":1}]", "[{\"_row\":\"NA_1\"},{\"a\":1}]", "[{\"_row\":1e10},{\"_row\":2}]")) {
    expect_silent(read <- dr_from_json(text))
    expect_identical(read, suppressWarnings(jsonlite::parse_json(text, simplifyVector = TRUE)), info = text)
  }
  for (text in c("[{\"_row\":[1,2]}]", "[{\"_row\":{\"a\":1}}]", "[{\"_row\":\"x\",\"a\":1},{\"_row\":[]}]")) {
    expect_error(dr_from_json(text), "`_row` of records are not", class = "drover_error_json")
  }
  for (text in c("{\"$date\":1e15}", "[{\"$date\":-1e16}]", "{\"$date\":\"0001-01-01T00:00:00Z\"}")) {
    expect_error(dr_from_json(text), "1000 to 9999", class = "drover_error_json")
  }
})

test_that("strings are UTF-8 and marked so", {
  x <- dr_from_json("{\"k\u00e9y\":\"v\u00e4l\"}")
  expect_identical(x, list("k\u00e9y" = "v\u00e4l"))
  expect_identical(Encoding(c(names(x), x[[1]])), c("UTF-8", "UTF-8"))
  latin1 <- "\"\xe9\""
  Encoding(latin1) <- "latin1"
  expect_identical(dr_from_json(latin1), "\u00e9")
  expect_identical(dr_from_json(charToRaw("[1,2]")), 1:2)
})

test_that("what is not JSON is an error that says where and shows nothing", {
  refused <- function(text, ...) expect_error(dr_from_json(text, ...), class = "drover_error_json")
  for (text in c(
    "", " ", "{", "[1,]", "[01]", "{\"a\":1,}", "{a:1}", "'a'", "NaN", "Inf", "nul", "1 2", "[1]]", "// c\n1", "/* c */1",
    "+1", ".5", "1.", "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"a\nb\"", "\"a\001b\"", "1e999", "\ufeff1", "[1 2]", "[,1]", "-"
  )) {
    refused(text)
    refused(text, simplify = FALSE)
  }
  refused(as.raw(c(0x22, 0xff, 0x22)))
  refused(as.raw(c(0x22, 0x00, 0x22)))
  refused(raw())
  expect_error(dr_from_json("{\"secret\": nope}"), "at byte 1[0-4]$", class = "drover_error_json")
  message <- tryCatch(dr_from_json("{\"secret\": nope}"), error = conditionMessage)
  expect_no_match(message, "secret|nope")
  expect_error(dr_from_json("[\"a\\u0000b\"]"), "NUL", class = "drover_error_json")
  expect_error(dr_from_json("{\"a\\u0000b\":1}"), "NUL", class = "drover_error_json")
})

test_that("a file or a URL is not opened", {
  path <- withr::local_tempfile(lines = "[1]")
  expect_error(dr_from_json(path), class = "drover_error_json")
  expect_error(dr_from_json("http://127.0.0.1:1/"), class = "drover_error_json")
})

test_that("nesting is limited, whatever is nested", {
  nested <- function(n, open, close) paste0(strrep(open, n), 1, strrep(close, n))
  expect_type(dr_from_json(nested(64, "[", "]")), "integer")
  expect_error(dr_from_json(nested(65, "[", "]")), "nested too deep", class = "drover_error_json")
  expect_error(dr_from_json(nested(65, "{\"a\":", "}")), "nested too deep", class = "drover_error_json")
  expect_error(dr_from_json(strrep("[", 1e6)), "nested too deep", class = "drover_error_json")
  expect_error(dr_from_json(strrep("{\"a\":", 1e6)), "nested too deep", class = "drover_error_json")
  expect_type(dr_from_json(nested(250, "{\"a\":[", "]}"), max_depth = 250, simplify = FALSE) |> tryCatch(error = \(e) 1L), "integer")
  expect_type(dr_from_json(nested(125, "{\"a\":[", "]}"), max_depth = 250), "list")
  expect_error(dr_from_json("[[1]]", max_depth = 1), "nested too deep", class = "drover_error_json")
})

test_that("strings that collide in R's string cache are refused, values and names", {
  blocks <- expand.grid(rep(list(c("Ab", "BA")), 11), stringsAsFactors = FALSE)
  colliding <- do.call(paste0, blocks)
  expect_length(unique(colliding), 2048)
  expect_error(dr_from_json(dr_to_json(colliding)), "collide", class = "drover_error_json")
  keys <- paste0("{", paste(sprintf("\"%s\":[{}]", colliding), collapse = ","), "}")
  expect_error(dr_from_json(keys), "collide", class = "drover_error_json")
  # before R reads dates as well
  dates <- paste0("[", paste(sprintf("{\"$date\":\"%s\"}", colliding), collapse = ","), "]")
  expect_error(dr_from_json(dates), "collide", class = "drover_error_json")
  expect_identical(dr_from_json(dr_to_json(colliding), max_collisions = 2048L), colliding)
  expect_length(dr_from_json(dr_to_json(rep("same", 1e5))), 1e5)
})

test_that("records that share no fields do not become an enormous data frame", {
  records <- function(n) paste0("[", paste0("{\"k", seq_len(n), "\":1}", collapse = ","), "]")
  expect_identical(dim(dr_from_json(records(1000))), c(1000L, 1000L))
  expect_error(dr_from_json(records(1e5)), "too few fields in common", class = "drover_error_json")
  expect_length(dr_from_json(records(1e5), simplify = FALSE), 1e5)
  # many small ones count together, and before jsonlite is asked as well
  many <- paste0("[", paste(rep(records(1000), 30), collapse = ","), "]")
  expect_error(dr_from_json(many), "too few fields in common", class = "drover_error_json")
  expect_error(dr_from_json(sub("k1", "$date", records(1e5), fixed = TRUE)), "too few fields", class = "drover_error_json")
})

test_that("a million elements are read", {
  expect_identical(dr_from_json(paste0("[", paste(seq_len(1e6), collapse = ","), "]")), seq_len(1e6))
  strings <- dr_from_json(paste0("[", paste0("\"s", seq_len(1e6), "\"", collapse = ","), "]"))
  expect_identical(strings, paste0("s", seq_len(1e6)))
  expect_identical(dim(dr_from_json(paste0("[", paste(rep("[1,2]", 5e5), collapse = ","), "]"))), c(500000L, 2L))
})

test_that("reading survives a garbage collection at every allocation", {
  text <- "[{\"a\":1,\"b\":{\"c\":[1,2]},\"d\":\"x\"},{\"a\":2.5,\"d\":null}]"
  expected <- dr_from_json(text)
  plain <- dr_from_json(text, simplify = FALSE)
  gctorture(TRUE)
  read <- list(dr_from_json(text), dr_from_json(text, simplify = FALSE), dr_from_json("[[1,2],[3,4]]"))
  gctorture(FALSE)
  expect_identical(read, list(expected, plain, matrix(c(1L, 3L, 2L, 4L), 2)))
})

test_that("wrong arguments are named", {
  expect_error(dr_from_json(1), "`txt`", class = "drover_error_argument")
  expect_error(dr_from_json(c("1", "2")), "`txt`", class = "drover_error_argument")
  expect_error(dr_from_json(NA_character_), "`txt`", class = "drover_error_argument")
  expect_error(dr_from_json("1", simplify = NA), "`simplify`", class = "drover_error_argument")
  expect_error(dr_from_json("1", max_depth = 0), "`max_depth`", class = "drover_error_argument")
  expect_error(dr_from_json("1", max_depth = 251), "`max_depth`", class = "drover_error_argument")
  expect_error(dr_from_json("1", max_collisions = "many"), "`max_collisions`", class = "drover_error_argument")
})
