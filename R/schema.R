# Types and schemas: their documentation, and how they are printed. Neighbours: schema-object.R; the types themselves,
# schema-values.R and schema-parts.R; schema-json.R, for JSON Schema of users; route-types.R, which records them with
# routes.

#' Types of values and schemas
#'
#' What clients may send and what handlers return, said once: for conversion, for checks before R is called, and for
#' documentation. The functions below make schemas, which [dr_post()] and its like take as `params`, `body` and
#' `response`. Each says both which JSON a value is, and what a handler gets of it:
#'
#' | | JSON | R |
#' |---|---|---|
#' | `dr_int()` | a whole number, 32 bits | integer |
#' | `dr_int64()` | a whole number up to 2^53, or digits in a string | double, or character |
#' | `dr_dbl()` | a number | double |
#' | `dr_lgl()` | `true` or `false` | logical |
#' | `dr_chr()` | a string | character |
#' | `dr_date()` | a string, `"2026-11-25"` | `Date` |
#' | `dr_datetime()` | a string by RFC 3339, `"2026-11-25T14:03:00Z"` | `POSIXct`, UTC |
#' | `dr_factor()` | one of some strings | factor with all levels |
#' | `dr_array()` | an array | a vector, or a list where items have parts |
#' | `dr_object()` | an object | a named list |
#' | `dr_data_frame()` | an array of objects | a data frame with these columns |
#'
#' `dr_schema()` makes an object of named types, as `dr_object()` does, or takes JSON Schema (2020-12) as it is: a
#' string of JSON, the name of a file that ends in `.json`, or a list. `dr_schema_like()` reads the types off a
#' prototype: a vector, a list or a data frame. `dr_form()` is an object that comes as a form.
#'
#' @section Missing and null: A field that is not `required` and has no `default` may be missing: the handler gets
#'   `NULL`, a list has no such element, and a column of a data frame has `NA`. A field that is `nullable` may be
#'   `null`: that is `NA` of its type, and `NULL` for arrays, objects and data frames. Fields that a schema does not
#'   name are left out of what the handler gets, or refused with `.extra = "refuse"`.
#' @section Whole numbers: R's integers have 32 bits, doubles are exact up to 2^53. `dr_int()` takes what fits into an
#'   integer, `dr_int64()` what a double holds exactly, and with `as = "character"` all 64 bits, as a string of digits
#'   in JSON and in R: many programs, those in JavaScript among them, change a longer number while they read it.
#' @param min,max Bounds, which are themselves allowed: a single number, or `NULL` for none.
#' @param above,below Bounds, which are not allowed themselves: a single number, or `NULL` for none.
#' @param required `TRUE` if a request must have the value. What has a `default` never must.
#' @param default The value that takes the place of one that is missing, as R has it.
#' @param nullable `TRUE` if `null` is allowed.
#' @param description What it is, for documentation: a single string of CommonMark, or `NULL`.
#' @param example An example, for documentation, as R has it; or `NULL`.
#' @param where For `params` of a route: where requests have it, `"query"`, `"header"` or `"cookie"`. Names that the
#'   path has are taken from there. A header field is named as it is, or with `_` for `-`.
#' @param ... Named fields or columns: schemas, or prototypes as for `dr_schema_like()`. For `dr_schema()` also one
#'   argument without a name: a list of these, or JSON Schema.
#' @param .required,.default,.nullable,.description,.example Like the arguments without the dot.
#' @param .extra What becomes of fields that are not named: `"ignore"` or `"refuse"`.
#' @returns A schema: an object of class `dr_schema`, a list. Its element `json` is its JSON Schema as a list, which
#'   `dr_to_json(x$json, auto_unbox = TRUE)` writes.
#' @section Errors: `drover_error_argument` when an argument is not as described, a default or example does not fit its
#'   type, or a JSON Schema is not one, is too large or too deep, refers to itself or to another document, or has a
#'   keyword that is not known.
#' @seealso [dr_get()], which takes schemas
#' @examples
#' dr_int(min = 1, max = 100)
#' person <- dr_schema(
#'   name = dr_chr(min_length = 1, max_length = 80),
#'   born = dr_date(required = FALSE),
#'   role = dr_factor(c("reader", "editor"), default = "reader"),
#'   tags = dr_array(dr_chr(), max_items = 5, default = character())
#' )
#' person
#' dr_schema_like(head(iris, 0))
#' dr_schema('{"type": "array", "items": {"type": "number"}, "maxItems": 3}')
#'
#' app <- dr_app()
#' dr_get(app, "/roll", function(n, sides) sample(sides, n, replace = TRUE),
#'   params = list(n = dr_int(min = 1, max = 100), sides = dr_int(min = 2, max = 1000, default = 6))
#' )
#' dr_post(app, "/people", function(body) list(hello = body$name), body = person)
#' client <- dr_test(app)
#' client$get("/roll?n=x")
#' client$stop()
#' @name types
NULL

#' @rdname types
#' @export
dr_schema <- function(...) {
  given <- list(...)
  if (length(given) == 1L && is.null(names(given))) return(as_schema(given[[1L]], "..."))
  dr_object(...)
}

#' @export
format.dr_schema <- function(x, ...) {
  text <- strsplit(dr_to_json(x$json, auto_unbox = TRUE, pretty = TRUE), "\n", fixed = TRUE)[[1L]]
  c(paste0("<dr_schema> ", describe_type(x$r), if (!x$required) ", not required"), text)
}

#' @export
print.dr_schema <- function(x, ...) {
  writeLines(format(x))
  invisible(x)
}

# In R's words.
describe_type <- function(r) {
  switch(r$kind,
    int = "integer", dbl = , int64 = "double", digits = , chr = "character", lgl = "logical", date = "Date",
    datetime = "POSIXct", factor = "factor", array = paste("array of", describe_type(r$items)),
    object = paste("list of", paste(names(r$fields), collapse = ", ")),
    data_frame = paste("data frame of", paste(names(r$fields), collapse = ", ")), "any value"
  )
}
