# A plumber.R read without plumber. That its endpoints answer as plumber's do is for tests/plumber to show.

file_of <- function(...) {
  file <- withr::local_tempfile(fileext = ".R", .local_envir = parent.frame())
  writeLines(c(...), file)
  file
}

expect_not_read <- function(lines, problem) {
  error <- expect_error(drover:::annotated_app(file_of(lines)), class = "drover_error_load")
  expect_match(conditionMessage(error), problem, fixed = TRUE)
}

test_that("what needs plumber is named with its line", {
  function_line <- "function(req) 1"
  expect_not_read(c("#* @filter log", function_line), "line 1: @filter needs the package 'plumber'")
  expect_not_read(c("#* @get /", "#* @serializer csv", function_line), "line 2: the serializer csv needs the package")
  expect_not_read(c("#* @get /", "#* @parser multi", function_line), "line 2: the parser multi needs the package")
  expect_not_read(c("1", "", "#* @assets ./public", "list()"), "line 3: @assets needs the package 'plumber'")
  expect_not_read(c("#* @plumber", "function(pr) pr"), "line 1: @plumber needs")
})

test_that("an unknown annotation is named with its line and the nearest, and tags of roxygen are none", {
  expect_not_read(c("1", "#* @gte /x", "function() 1"), "line 2: `@gte` is no annotation of plumber: did you mean `@get`?")
  expect_not_read(c("#* @get /", "#* @apititle Mine", "function() 1"), "line 2: `@apititle` is no annotation of plumber: ")
  expect_not_read(c("#* @zzzzzz", "1"), "line 1: `@zzzzzz` is no annotation of plumber")
  expect_not_read(c("#* @get /", "#* @serializer jsno", "function() 1"), "line 2: `jsno` is no serializer of plumber")
  expect_not_read(c("#* @get /", "#* @parser txt", "function() 1"), "`txt` is no parser of plumber: did you mean `text`?")
  app <- drover:::annotated_app(file_of(
    "#' @export", "#* @return a number", "#* @get /x", "function() 1", "text <- '", "#* @gte /in-a-string", "'"
  ))
  expect_identical(drover:::route_table(app)$path, "/x")
})

test_that("what needs plumber is not said to be uninstalled when it is there", {
  skip_if_not_installed("plumber")
  expect_not_read(
    c("#* @filter log", "function(req) 1"), "without which the kind \"annotations\" reads the file: serve it as the kind"
  )
})

test_that("all annotations that plumber looks for are known", {
  skip_if_not_installed("plumber")
  plumber <- asNamespace("plumber")
  # its regular expressions: "^#['*]\\s*@(get|post)..."
  looked_for <- paste(deparse(plumber$plumbBlock), collapse = "")
  tags <- unlist(regmatches(looked_for, gregexpr("s[*]@[(]?[a-z|]+", looked_for)))
  tags <- unlist(strsplit(gsub("s*@", "", gsub("(", "", tags, fixed = TRUE), fixed = TRUE), "|", fixed = TRUE))
  is_switch <- function(one) is.call(one) && identical(one[[1L]], quote(switch))
  globals <- setdiff(names(Find(is_switch, as.list(body(plumber$plumbOneGlobal)))), "")
  expect_true(all(c("get", "assets", "svg", "tag") %in% tags))
  expect_true("apiTitle" %in% globals)
  expect_identical(setdiff(c(tags, globals), drover:::annotation_names()), character())
  expect_identical(setdiff(plumber::registered_serializers(), drover:::serializer_names), character())
  expect_identical(setdiff(plumber::registered_parsers(), drover:::parser_names), character())
})

test_that("what is wrong is named with its line", {
  expect_not_read(c("#* @get", "function() 1"), "line 1: #* @get names no path")
  expect_not_read(c("#* @get /", "1"), "line 1: below it must be a function, not 1")
  expect_not_read(c("x <- 1", "#* @get /", "stop('now')"), "line 3: now")
  expect_not_read(c("#* @get /", "function( 1"), "line 2")
  expect_not_read(c("#* @get /", "#* @html", "#* @json", "function() 1"), "line 3: a second serializer")
  expect_not_read(c("#* @get /", "#* @serializer json list(", "function() 1"), "line 2: the arguments of the serializer")
})

test_that("comments, titles and plain code are no endpoints, and a function may have several paths", {
  app <- drover:::annotated_app(file_of(
    "#* @apiTitle Mine", "", "helper <- function(x) x * 2", "# a comment", "", "#* Doubles", "#* @param n:int A number",
    "#* @response 200 fine", "", "#* @get /double", "#' @post double/<n:int>",
    "function(n = 1) helper(as.numeric(n))"
  ))
  table <- drover:::route_table(app)
  expect_identical(table$method, c("GET", "POST"))
  expect_identical(table$path, c("/double", "/double/<n:int>"))
  expect_identical(table$speed, c("fast", "fast"))
  server <- serve_workers(app)
  expect_identical(fetch(server, "/double?n=4")$text, "[8]")
  expect_identical(fetch(server, "/double")$status, 200L)
  expect_identical(fetch(server, "/none")$text, "{\"error\":\"404 - Resource Not Found\"}")
})

test_that("placeholders have the type of the path, or of the argument's default", {
  shape <- function(path, fn) drover:::annotated_regex(path, fn)
  expect_identical(shape("/a/<n>", function(n = 10) n)$types, "number")
  expect_identical(shape("/a/<n>", function(n = 10L) n)$types, "integer")
  expect_identical(shape("/a/<n>", function(n) n)$types, "string")
  expect_identical(shape("/a/<n:dbl>/<b>", function(n, b = TRUE) n)$types, c("number", "boolean"))
  expect_true(shape("/a/<n:[int]>", function(n) n)$areArrays)
  expect_null(shape("/a", function(n) n)$types)
  expect_warning(shape("/a/<n:odd>", function(n) n), "Unrecognized type: odd")
})

test_that("fields of a query are read as plumber does", {
  skip_if_not_installed("plumber")
  theirs <- asNamespace("plumber")$parseQS
  queries <- c(
    "", "?", "a=1", "?a=1&b=2", "a=1&a=2&b=3&a=4", "a", "a=", "=a", "a=b=c", "a==b", "a=b=", "&&a=1&&", "?a=b?c", "??a=1",
    "a+b=c+d", "a=%41%2B%20", "%41=1&A=2", "a=%C3%A9", "a=%zz", "a=%", "a=%4", "a=1;b=2", "a[]=1&a[]=2", "a=%3D%26"
  )
  for (query in queries) {
    expect_identical(drover:::plumber_query(query), theirs(query), info = query)
  }
})

test_that("cookies are read as plumber does", {
  skip_if_not_installed("plumber")
  theirs <- asNamespace("plumber")$parseCookies
  for (field in list(NULL, "", "a=1", "a=1; b=2", "a=two%20words;b=x=y", "a", "a=;b", "  a=1 ;  b = 2 ", "a=1;")) {
    expect_identical(drover:::plumber_cookies(field), theirs(field), info = field)
  }
})
