described <- function(...) {
  file <- withr::local_tempfile(fileext = ".R")
  writeLines(c(...), file)
  dr_openapi(drover:::annotated_app(file))
}

lines <- c(
  "#* @apiTitle My shop", "#* @apiDescription Sells", "#*   things", "#* @apiVersion 2.0.1",
  "#* @apiTOS https://example.org/terms", "#* @apiContact list(name = 'Ada', email = 'ada@example.org')",
  "#* @apiLicense MIT", "#* @apiTag orders What was bought", "#* @apiTag 'other things' All else", "NULL", "",
  "#* An order", "#*", "#* with more", "#* text", "#* @param id:int The number", "#* @param full:bool* All of it",
  "#* @param tags:[chr] Several", "#* @param only Some", "#* @response 404 There is none", "#* @tag orders",
  "#* @tag 'other things'", "#* @get /orders/<id:int>", "#* @serializer unboxedJSON",
  "function(id, full = FALSE, tags = c('a', 'b'), n = 3L, x, only) list(id = id)", "",
  "#* @post /upload", "#* @param f:file* The file", "function(f) 'x'", "",
  "#* @put /object", "#* @param o:object What", "#* @serializer text", "function(o = NULL) 'x'"
)

test_that("annotations say what plumber makes of them", {
  spec <- described(lines)
  expect_identical(spec$info, list(
    title = "My shop", description = "Sells things", termsOfService = "https://example.org/terms",
    contact = list(name = "Ada", email = "ada@example.org"), license = list(name = "MIT"), version = "2.0.1"
  ))
  expect_identical(lapply(spec$tags, unlist), list(
    c(name = "orders", description = "What was bought"), c(name = "other things", description = "All else")
  ))
  order <- spec$paths[["/orders/{id}"]]$get
  expect_identical(order[c("summary", "description")], list(summary = "An order", description = "with more\ntext"))
  expect_identical(order$tags, list("orders", "other things"))
  params <- order$parameters
  expect_identical(vapply(params, `[[`, "", "name"), c("id", "full", "tags", "only", "n", "x"))
  expect_identical(vapply(params, `[[`, "", "in"), c("path", rep("query", 5L)))
  expect_identical(vapply(params, `[[`, NA, "required"), c(TRUE, FALSE, FALSE, TRUE, FALSE, TRUE))
  types <- vapply(params, function(param) param$schema$type, "")
  expect_identical(types, c("integer", "boolean", "array", "string", "integer", "string"))
  expect_identical(params[[2L]]$description, "All of it")
  expect_identical(params[[5L]]$schema$default, 3L)
  expect_identical(order$responses[["404"]], list(description = "There is none"))
  upload <- spec$paths[["/upload"]]$post$requestBody$content[["multipart/form-data"]]$schema
  expect_identical(upload$required, list("f"))
  expect_identical(upload$properties$f[c("type", "format")], list(type = "string", format = "binary"))
  object <- spec$paths[["/object"]]$put
  expect_identical(names(object$requestBody$content), "application/json")
  expect_identical(names(object$responses[["200"]]$content), "text/plain")
})

test_that("a file without any has plumber's defaults", {
  spec <- described("#* @get /", "function() 1")
  expect_identical(spec$info$title, "API Title")
  expect_null(spec$tags)
  expect_null(spec$paths[["/"]]$get$summary)
})

test_that("plumber's own description of the same file has the same operations", {
  skip_if_not_installed("plumber")
  file <- withr::local_tempfile(fileext = ".R")
  writeLines(lines, file)
  theirs <- suppressMessages(dr_openapi(plumber::plumb(file)))
  ours <- described(lines)
  expect_identical(names(ours$paths), names(theirs$paths))
  expect_identical(ours$info[names(theirs$info)], theirs$info)
  params <- function(spec) {
    lapply(spec$paths[[1L]]$get$parameters, function(param) param[c("name", "in", "required", "schema", "description")])
  }
  expect_equal(params(ours), params(theirs))
})
