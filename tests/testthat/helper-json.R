# Random R values and random JSON for the property tests of test-json-*.R. All draw from R's generator: set.seed()
# first.

pick <- function(x) x[[sample.int(length(x), 1L)]]

json_strings <- c(
  "", "a", "abc", "A longer text with nothing special in it at all", "tab\there", "line\nbreak", "quote\"d", "back\\slash",
  "</script>", "a/b", "<", "NA", "NaN", "Inf", "-Inf", "null", "true", "1", "1.5", "\u00e9t\u00e9", "\U1F600",
  "\u2028", "\001\037\177", "_row", "x.y", " "
)

# One in ten missing, where the type has that.
some_missing <- function(x) {
  if (is.raw(x)) return(x)
  x[stats::runif(length(x)) < 0.1] <- NA
  x
}

random_string <- function(n) {
  x <- some_missing(sample(json_strings, n, TRUE))
  if (stats::runif(1) < 0.1) x <- iconv(x, "UTF-8", "latin1", sub = "?")
  x
}

random_double <- function(n) {
  x <- pick(list(
    round(stats::rnorm(n) * 1000, 2), stats::rnorm(n), as.double(sample(-5:5, n, TRUE)),
    stats::rnorm(n) * 10^sample(-12:25, n, TRUE), sample(c(NaN, Inf, -Inf, 0, 1, NA, 1e5, 1e15, 123456), n, TRUE)
  ))
  some_missing(x)
}

random_atomic <- function(n) {
  switch(sample.int(14L, 1L),
    some_missing(sample(c(TRUE, FALSE), n, TRUE)),
    some_missing(sample(c(-3:3, .Machine$integer.max), n, TRUE)),
    seq_len(n),
    random_double(n), random_double(n),
    random_string(n), random_string(n),
    as.character(seq_len(n)),
    factor(random_string(n), levels = unique(json_strings)),
    as.Date("2020-02-28") + some_missing(sample(-20000:20000, n, TRUE)),
    .POSIXct(some_missing(round(stats::rnorm(n) * 1e9) * pick(c(1, 86400, 0.25))) %% 1e11, pick(c("UTC", "Europe/Paris"))),
    as.POSIXlt(.POSIXct(some_missing(sample.int(1e9L, n, TRUE)), pick(c("UTC", "Europe/Paris", "")))),
    stats::setNames(random_double(n), make.unique(rep_len(c("a", "b"), n))),
    .POSIXct(some_missing(sample.int(1000L, n, TRUE)), "UTC")
  )
}

random_length <- function() sample(c(0L, 1L, 1L, 1L, 2L, 3L, 20L), 1L)

random_names <- function(n) {
  if (n && stats::runif(1) < 0.1) return(random_string(n))
  make.unique(sample(c("a", "b", "name", "x y", "value", "id"), n, TRUE))
}

random_matrix <- function() {
  dim <- sample(0:4, sample(c(1L, 2L, 2L, 2L, 3L, 4L), 1L), TRUE)
  x <- random_atomic(prod(dim))
  if (is.object(x)) x <- as.character(x)
  array(x, dim)
}

random_column <- function(n, depth) {
  if (depth > 0 && stats::runif(1) < 0.3) {
    return(switch(sample.int(4L, 1L),
      random_frame(n, depth - 1),
      I(lapply(seq_len(n), function(i) random_value(depth - 1))),
      lapply(seq_len(n), function(i) random_value(depth - 1)),
      matrix(random_double(2 * n), n)
    ))
  }
  if (stats::runif(1) < 0.05) return(as.raw(sample.int(256L, n, TRUE) - 1L))
  random_atomic(n)
}

random_frame <- function(n = random_length(), depth = 1) {
  columns <- sample.int(4L, 1L)
  x <- lapply(seq_len(columns), function(i) random_column(n, depth))
  names(x) <- random_names(columns)
  row_names <- if (stats::runif(1) < 0.2) paste0(sample(c("r", ""), 1L), seq_len(n)) else seq_len(n)
  structure(x, class = if (stats::runif(1) < 0.1) c("tbl_df", "tbl", "data.frame") else "data.frame", row.names = row_names)
}

# Any value that jsonlite can write, and a few that it cannot.
random_value <- function(depth = 3) {
  if (depth > 0 && stats::runif(1) < 0.6) {
    n <- random_length()
    return(switch(sample.int(6L, 1L),
      lapply(seq_len(min(n, 5L)), function(i) random_value(depth - 1)),
      stats::setNames(lapply(seq_len(min(n, 5L)), function(i) random_value(depth - 1)), random_names(min(n, 5L))),
      stats::setNames(lapply(seq_len(min(n, 5L)), function(i) random_value(depth - 1)), random_names(min(n, 5L))),
      random_frame(n, depth - 1),
      random_matrix(),
      I(lapply(seq_len(min(n, 5L)), function(i) random_value(depth - 1)))
    ))
  }
  switch(sample.int(12L, 1L),
    NULL, jsonlite::unbox(pick(list(TRUE, 1L, 1.5, "a", NA, NA_character_))), as.raw(sample.int(200L, random_length(), TRUE)),
    complex(real = 1, imaginary = 2), stats::setNames(1:3, c("a", "b", "c")), I(random_atomic(1L)),
    random_atomic(random_length()), random_atomic(random_length()), random_atomic(1L), random_atomic(1L),
    random_atomic(random_length()), random_atomic(random_length())
  )
}

# Arguments of toJSON(): none, or a random choice of some.
random_arguments <- function() {
  choices <- list(
    auto_unbox = c(TRUE, FALSE), na = c("null", "string"), null = c("list", "null"),
    dataframe = c("rows", "columns", "values"), matrix = c("rowmajor", "columnmajor"), Date = c("ISO8601", "epoch"),
    POSIXt = c("string", "ISO8601", "epoch", "mongo"), factor = c("string", "integer"),
    pretty = TRUE, raw = c("base64", "hex"), complex = c("string", "list")
  )
  lapply(choices[stats::runif(length(choices)) < 0.3], pick)
}

# JSON text with its numbers taken out, and the numbers.
split_numbers <- function(text) {
  tokens <- gregexpr("\"(?:[^\"\\\\]|\\\\.)*\"|-?[0-9][-+0-9.eE]*", text, perl = TRUE)
  found <- regmatches(text, tokens)[[1L]]
  number <- !startsWith(found, "\"")
  rest <- found
  rest[number] <- "#"
  regmatches(text, tokens) <- list(rest)
  list(text = text, numbers = as.numeric(found[number]))
}

# The same text, and the same numbers to the 15 digits that jsonlite has.
expect_same_json <- function(ours, theirs, info = NULL) {
  if (identical(ours, theirs)) return(testthat::succeed())
  ours <- split_numbers(ours)
  theirs <- split_numbers(theirs)
  expect_identical(ours$text, theirs$text, info = info)
  testthat::expect_equal(ours$numbers, theirs$numbers, tolerance = 1e-14, info = info)
}

json_scalar <- function() {
  switch(sample.int(10L, 1L),
    "null", "true", "false", format(sample(-9:9, 1L)), format(round(stats::rnorm(1), 3), scientific = FALSE),
    pick(c(
      "2147483647", "2147483648", "-2147483648", "1e3", "0.5", "-0", "1.0", "123456789012345678901", "-0.0", "1e-400", "-1e-400",
      "-0e1", "0.1e-7", "123456.789e5", "1e15", "1e5", "100000.5", "3.3333333333333333", "1e22", "123456789012345680"
    )),
    jsonlite::toJSON(pick(json_strings), auto_unbox = TRUE), "\"\\u00e9\\ud83d\\ude00\\/\\b\"",
    pick(c(
      "\"2020-01-02T03:04:05Z\"", "\"2020-07-02T03:04:05.678Z\"", "\"2020-02-30T00:00:00Z\"", "\"2020-01-02T03:04:05\"",
      "\"2020-01-02T03:04:05+01:00\"", "1577934245000", "-1"
    )),
    format(sample(0:3, 1L))
  )
}

# Keys of the records of a text: those that mean something to jsonlite are in some texts, and often then.
json_keys <- list(c("a", "b", "c"), c("a", "b", "c"), "$date", c("$date", "_row"), c("a", "_row"), c("a", "$date", "_row", "", "$row", "\u00e9"))

json_array <- function(items) paste0("[", paste(items, collapse = pick(c(",", " , "))), "]")

json_object <- function(keys, values) {
  paste0("{", paste(sprintf("\"%s\":%s", keys, values), collapse = pick(c(",", "\n,"))), "}")
}

# Random JSON, with a liking for what is simplified: vectors of one type, records, arrays of equal length.
random_json <- function(depth = 3) {
  if (depth == 0 || stats::runif(1) < 0.15) return(json_scalar())
  n <- sample(c(0L, 1L, 2L, 3L, 5L), 1L)
  times <- function(f) vapply(seq_len(n), function(i) f(), "")
  keys <- pick(json_keys)
  record <- function(value) {
    own <- sample(keys, sample(0:min(3L, length(keys)), 1L), replace = stats::runif(1) < 0.05)
    if (stats::runif(1) < 0.05) return("null")
    json_object(own, vapply(own, function(k) value(), ""))
  }
  switch(sample.int(10L, 1L),
    json_array(times(json_scalar)),
    json_array(times(function() json_object("$date", json_scalar()))),
    json_array(times(function() format(sample(-9:9, 1L)))),
    json_array(times(function() pick(c("null", "true", "1", "2.5", "\"NA\"", "\"Inf\"")))),
    json_array(times(function() record(json_scalar))),
    json_array(times(function() record(function() random_json(depth - 1)))),
    { m <- sample(0:3, 1L); json_array(times(function() json_array(vapply(seq_len(m), function(i) pick(c("1", "2.5", "\"x\"", "null", "true")), "")))) },
    { m <- sample(1:3, 2L, TRUE); json_array(times(function() json_array(vapply(seq_len(m[1]), function(i) json_array(vapply(seq_len(m[2]), function(j) format(sample(9L, 1L)), "")), "")))) },
    json_array(times(function() random_json(depth - 1))),
    record(function() random_json(depth - 1))
  )
}
