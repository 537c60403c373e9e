# dr_from_json(): the values of jsonlite.

test_that("random texts give what jsonlite gives", {
  skip_on_cran()
  set.seed(20261121)
  for (i in seq_len(3000L)) {
    text <- random_json()
    simplify <- i %% 5L != 0L
    expected <- suppressWarnings(jsonlite::parse_json(text, simplifyVector = simplify))
    expect_identical(suppressWarnings(dr_from_json(text, simplify)), expected, info = text)
  }
})

test_that("random values come back as they come back from jsonlite", {
  skip_on_cran()
  set.seed(3)
  for (i in seq_len(500L)) {
    text <- tryCatch(suppressWarnings(dr_to_json(random_value())), drover_error_json = function(e) "null")
    expected <- suppressWarnings(jsonlite::parse_json(text, simplifyVector = TRUE))
    expect_identical(suppressWarnings(dr_from_json(text)), expected, info = text)
  }
})

test_that("edge cases", {
  for (text in c(
    "null", "true", " 1 ", "-0", "-0.0", "[-0,1]", "1.0", "1e5", "2147483647", "-2147483647", "-2147483648", "2147483648",
    "123456789012345678901234567890", "\"\"", "\"NA\"", "[]", "{}", "[[]]", "[[],[]]", "[{}]", "[{},{}]", "[{},null]",
    "[null]", "[null,null]", "[\"NA\"]", "[\"NA\",1]", "[\"NaN\",\"Inf\",\"-Inf\"]", "[\"NA\",\"a\"]", "[1,\"a\",true,null]",
    "[1.5,\"a\"]", "[true,2]", "[true,2.5]", "{\"a\":1,\"a\":2}", "[{\"a\":1,\"a\":2}]", "{\"\":1}", "[{\"\":1}]",
    "[[1],[]]", "[[],[1],[\"a\"]]", "[[],[\"a\"],[1]]", "[[],null]", "[[],1]", "[[{\"a\":1}],[]]", "[[1,2],[3]]",
    "[[1,2],[3,4]]", "[[1,2],[\"a\",true]]", "[[1.5,2],[\"a\",true]]", "[[null],[1]]", "[[[1,2]],[[3,4]],[]]",
    "[[[1],[2]],[[3],[4,5]]]", "[[[[1]]]]", "[[1],2]", "[{\"a\":[1,2]},{\"a\":[3,4]}]", "[{\"a\":[[1,2],[3,4]]},{}]",
    "[{\"a\":{\"b\":1}},{\"a\":{\"b\":2}}]", "[{\"a\":{\"b\":1}},{}]", "[{\"a\":[]},{\"a\":[]}]", "[{\"a\":[]},{\"a\":[1]}]",
    "[1,{\"a\":1}]", "{\"$date\":1000}", "[{\"$date\":1000},{\"$date\":2000}]", "[{\"_row\":\"x\",\"a\":1}]",
    "\"\\u00e9\\ud83d\\ude00\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "[{\"b\":1,\"a\":2},{\"a\":3,\"c\":4,\"b\":5}]"
  )) {
    for (simplify in c(TRUE, FALSE)) {
      expect_identical(dr_from_json(text, simplify), jsonlite::parse_json(text, simplifyVector = simplify), info = text)
    }
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
  # before jsonlite is asked as well
  expect_error(dr_from_json(paste0("[{\"$date\":1},", keys, "]")), "collide", class = "drover_error_json")
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
