json_of <- function(schema) dr_from_json(dr_to_json(schema$json, auto_unbox = TRUE), simplify = FALSE)

test_that("an object is made of types, of a list of them, and of prototypes", {
  schema <- dr_schema(n = dr_int(min = 1), name = character(), x = dr_dbl(required = FALSE))
  expect_s3_class(schema, "dr_schema")
  json <- json_of(schema)
  expect_identical(json$type, "object")
  expect_identical(json$required, list("n", "name"))
  expect_identical(json$properties$n$minimum, 1L)
  expect_identical(json$properties$name, list(type = "string"))
  expect_identical(json_of(dr_schema(list(n = dr_int(min = 1), name = character()))), {
    json$properties$x <- NULL
    json
  })
  expect_identical(json_of(dr_schema()), list(type = "object", properties = structure(list(), names = character())))
})

test_that("JSON Schema is a string, a file or a list", {
  text <- '{"type": "object", "properties": {"a": {"enum": [1, null]}}, "required": ["a"], "default": null}'
  json <- dr_from_json(text, simplify = FALSE)
  expect_identical(json_of(dr_schema(text)), json)
  file <- withr::local_tempfile(fileext = ".json", lines = text)
  expect_identical(json_of(dr_schema(file)), json)
  given <- list(type = "object", properties = list(a = list(type = "string")), required = "a")
  expect_identical(json_of(dr_schema(given))$required, list("a"))
  expect_error(dr_schema("no-such.json"), "`...` must be JSON, or the name of a file", class = "drover_error_argument")
})

test_that("a wrong or hostile schema is refused, and it is said where", {
  expect_refused <- function(text, says) expect_error(dr_schema(text), says, class = "drover_error_argument")
  expect_refused("{", "it is not JSON")
  expect_refused('{"typ": "string"}', "#/typ: this keyword is not known")
  expect_refused('{"type": "text"}', "#/type")
  expect_refused('{"$ref": "https://example.org/schema.json"}', "nothing is fetched")
  expect_refused('{"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}}', "refers to itself")
  expect_refused('{"pattern": "(a)\\\\1"}', "#/pattern")
  expect_refused(paste0(strrep('{"not":', 70), "{}", strrep("}", 70)), "deep")
  expect_refused(paste0('{"description": "', strrep("x", 3e5), '"}'), "bytes")
  expect_error(dr_schema(mean), "`...` must be a schema", class = "drover_error_argument")
})

test_that("a prototype shows the types", {
  frame <- dr_schema_like(data.frame(
    i = 1L, x = c(1, NA), s = "a", f = factor("u", c("u", "v")), d = Sys.Date(), t = Sys.time(), l = NA
  ))
  columns <- json_of(frame)$items$properties
  expect_identical(columns$i$type, "integer")
  expect_identical(columns$x$type, list("number", "null"))
  expect_identical(columns$f$enum, list("u", "v"))
  expect_identical(columns$d$format, "date")
  expect_identical(columns$t$format, "date-time")
  expect_identical(columns$l$type, list("boolean", "null"))
  expect_identical(json_of(frame)$items$required, as.list(names(columns)))
  nested <- json_of(dr_schema_like(list(a = 1:3, b = list(c = "x"), d = character())))
  expect_identical(nested$properties$a$type, "array")
  expect_identical(nested$properties$b$properties$c$type, "string")
  expect_identical(nested$properties$d$type, "array")
  expect_error(dr_schema_like(list(1)), "whose elements all have names", class = "drover_error_argument")
  expect_error(dr_schema_like(list(a = 1i)), "`a` must be a logical", class = "drover_error_argument")
})

test_that("a schema is shown", {
  expect_match(format(dr_int())[[1L]], "<dr_schema> integer")
  expect_output(print(dr_object(a = dr_lgl(), .required = FALSE)), "list of a, not required.*\"boolean\"")
})
