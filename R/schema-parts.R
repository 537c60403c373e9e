# Types of what has parts: arrays, objects, data frames, forms, and what prototypes show, which may stand for any part:
# vectors, lists and data frames. Not for single values: schema-values.R. Neighbour: schema.R, which has their
# documentation.

object_names <- c(
  required = ".required", default = ".default", nullable = ".nullable", description = ".description",
  example = ".example"
)

#' @rdname types
#' @param items The type of the items of an array: a schema.
#' @param min_items,max_items,.min_rows,.max_rows How many there may be: a single whole number, or `NULL`.
#' @param unique `TRUE` if no two items may be equal.
#' @export
dr_array <- function(items, min_items = NULL, max_items = NULL, unique = FALSE, required = TRUE, default,
                     nullable = FALSE, description = NULL, example = NULL, where = "query") {
  call <- sys.call()
  items <- as_schema(items, "items", call)
  check_flag(unique, "unique", call = call)
  json <- c(
    list(type = "array", items = items$json),
    length_bounds(min_items, max_items, c("min_items", "max_items"), c("minItems", "maxItems"), call),
    if (unique) list(uniqueItems = TRUE)
  )
  finish_schema(json, list(kind = "array", items = items$r), common_arguments(environment()), call)
}

#' @rdname types
#' @export
dr_object <- function(..., .extra = c("ignore", "refuse"), .required = TRUE, .default, .nullable = FALSE,
                      .description = NULL, .example = NULL) {
  call <- sys.call()
  object_schema(list(...), .extra, common_arguments(environment(), "."), call)
}

object_schema <- function(fields, extra, common, call) {
  extra <- check_choice(extra, ".extra", c("ignore", "refuse"), call)
  fields <- as_fields(fields, call)
  json <- object_json(fields, extra)
  r <- list(kind = "object", fields = field_types(fields), extra = "drop")
  finish_schema(json, r, common, call)
}

# What dr_object() and dr_data_frame() share: named schemas.
as_fields <- function(fields, call) {
  names <- names(fields)
  if (length(fields) && (is.null(names) || !all(nzchar(names)) || anyDuplicated(names))) {
    stop_drover("argument", "`...` must be named types, each name once", call = call, argument = "...")
  }
  for (name in names) fields[[name]] <- as_schema(fields[[name]], name, call)
  fields
}

object_json <- function(fields, extra) {
  properties <- lapply(fields, `[[`, "json")
  required <- names(fields)[vapply(fields, `[[`, NA, "required")]
  c(
    list(type = "object", properties = if (length(properties)) properties else no_members),
    if (length(required)) list(required = as.list(required)),
    if (extra == "refuse") list(additionalProperties = FALSE)
  )
}

field_types <- function(fields) {
  lapply(fields, function(field) c(field$r, list(required = field$required)))
}

#' @rdname types
#' @export
dr_data_frame <- function(..., .min_rows = NULL, .max_rows = NULL, .extra = c("ignore", "refuse"), .required = TRUE,
                          .default, .nullable = FALSE, .description = NULL, .example = NULL) {
  call <- sys.call()
  extra <- check_choice(.extra, ".extra", c("ignore", "refuse"), call)
  columns <- as_fields(list(...), call)
  wrong <- names(columns)[vapply(columns, function(column) !column$r$kind %in% column_kinds, NA)]
  if (length(wrong)) {
    problem <- sprintf("`%s` must have a type of single values: it is a column of a data frame", wrong[[1L]])
    stop_drover("argument", problem, call = call, argument = wrong[[1L]])
  }
  json <- c(
    list(type = "array", items = object_json(columns, extra)),
    length_bounds(.min_rows, .max_rows, c(".min_rows", ".max_rows"), c("minItems", "maxItems"), call)
  )
  finish_schema(json, list(kind = "data_frame", fields = field_types(columns)),
    common_arguments(environment(), "."), call)
}

# What a column of a data frame may be.
column_kinds <- c("int", "int64", "dbl", "lgl", "chr", "digits", "date", "datetime", "factor")

#' @rdname types
#' @export
dr_form <- function(..., .extra = c("ignore", "refuse")) {
  call <- sys.call()
  fields <- as_fields(list(...), call)
  check_texts_only(fields, call)
  schema <- object_schema(fields, .extra, list(
    required = TRUE, has_default = FALSE, nullable = FALSE, names = object_names
  ), call)
  schema$content_type <- "application/x-www-form-urlencoded"
  schema
}

# Forms, queries, header fields and cookies have texts: single values, and arrays of them.
check_texts_only <- function(fields, call) {
  for (name in names(fields)) {
    r <- fields[[name]]$r
    kind <- if (r$kind == "array") r$items$kind else r$kind
    if (kind %in% column_kinds) next
    problem <- sprintf("`%s` must have a type of single values, or be an array of them: it is sent as text", name)
    stop_drover("argument", problem, call = call, argument = name)
  }
}

# A schema of any value that `dr_schema()` takes.
as_schema <- function(x, arg, call = sys.call(-1L)) {
  if (is_schema(x)) return(x)
  if (is.list(x) && !is.object(x) && length(x) && all(vapply(x, is_field, NA))) {
    return(object_schema(x, "ignore", list(
      required = TRUE, has_default = FALSE, nullable = FALSE, names = object_names
    ), call))
  }
  if (is_string(x) || (is.list(x) && !is.object(x))) return(read_json_schema(x, arg, call))
  if (is.data.frame(x) || is.atomic(x) && !is.null(x)) return(schema_like(x, arg, call))
  stop_argument(arg, "a schema, see dr_schema()", x, call)
}

# A schema or a vector without anything in it: prototypes have no length, or they would be JSON Schema's values.
is_field <- function(x) is_schema(x) || is.data.frame(x) || (is.atomic(x) && !is.null(x) && !length(x))

#' @rdname types
#' @param prototype A vector, a list or a data frame. Its values do not matter, apart from missing ones: where it has
#'   `NA`, `null` is allowed. A vector stands for a single value in a list or by itself, unless it has another length
#'   than 1: then it is an array.
#' @export
dr_schema_like <- function(prototype) {
  if (is_schema(prototype) || is.null(prototype)) {
    stop_argument("prototype", "a vector, a list or a data frame", prototype, sys.call())
  }
  schema_like(prototype, "prototype", sys.call(), array_of_none = TRUE)
}

# `array_of_none`: whether a vector without elements is an array; as a field or column it shows a type.
schema_like <- function(x, arg, call, array_of_none = FALSE) {
  if (is.data.frame(x)) {
    return(do.call(dr_data_frame, Map(function(column, name) column_like(column, name, call), x, names(x))))
  }
  if (is.list(x) && !is.object(x)) {
    if (length(x) && (is.null(names(x)) || !all(nzchar(names(x))))) {
      stop_argument(arg, "a list whose elements all have names", x, call)
    }
    return(do.call(dr_object, Map(function(one, name) {
      if (is_schema(one)) one else schema_like(one, name, call, array_of_none)
    }, x, names(x))))
  }
  one <- column_like(x, arg, call)
  if (length(x) == 1L || (!length(x) && !array_of_none)) one else dr_array(one)
}

column_like <- function(x, name, call) {
  nullable <- anyNA(x)
  if (is.factor(x)) return(dr_factor(levels(x), nullable = nullable))
  if (inherits(x, "Date")) return(dr_date(nullable = nullable))
  if (inherits(x, "POSIXct")) return(dr_datetime(nullable = nullable))
  make <- if (!is.object(x)) list(integer = dr_int, double = dr_dbl, logical = dr_lgl, character = dr_chr)[[typeof(x)]]
  if (!is.null(make)) return(make(nullable = nullable))
  right <- "a logical, integer, double or character vector, a factor, a Date or a POSIXct"
  stop_argument(name, right, x, call)
}
