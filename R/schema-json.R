# JSON Schema of users: read, judged, and which R types it stands for. The judging is native: the crate `schema`.
# Neighbour: schema.R.

# A schema of a string of JSON, the name of a file, or a list.
read_json_schema <- function(x, arg, call) {
  json <- if (is_string(x)) parse_json_schema(x, arg, call) else arrays_of_schema(x)
  if (is.logical(json) && length(json) == 1L) json <- if (json) no_members else list(not = no_members)
  if (!is.list(json) || (length(json) && is.null(names(json)))) {
    stop_argument(arg, "a JSON Schema: an object, or true or false", x, call)
  }
  json <- nulls_as_na(json)
  if (!length(json)) json <- no_members
  problem <- .Call(C_schema_problem, dr_to_json(json, auto_unbox = TRUE), NA_character_)
  if (!is.null(problem)) {
    stop_drover("argument", sprintf("`%s` is not a JSON Schema: %s", arg, problem), call = call, argument = arg)
  }
  new_schema(json, type_of_json(json), required = is.null(json[["default"]]))
}

parse_json_schema <- function(x, arg, call) {
  if (grepl("[.]json$", x) && !grepl("[{]", x)) {
    if (!file.exists(x)) stop_argument(arg, "JSON, or the name of a file that exists", x, call)
    x <- paste(readLines(x, encoding = "UTF-8", warn = FALSE), collapse = "\n")
  }
  tryCatch(dr_from_json(x, simplify = FALSE), drover_error_json = function(error) {
    problem <- paste0("`", arg, "`: ", sub("^`txt`", "it", conditionMessage(error)))
    stop_drover("argument", problem, call = call, argument = arg)
  })
}

# Keywords whose values are arrays however many elements they have, and those that hold schemas by name or in order.
array_keywords <- c("required", "enum", "examples")
named_schemas <- c("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
listed_schemas <- c("allOf", "anyOf", "oneOf", "prefixItems")
single_schemas <- c(
  "items", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames", "unevaluatedItems",
  "unevaluatedProperties"
)

# A schema as a list of R's, where `required = "a"` and `properties = list()` are what is meant.
arrays_of_schema <- function(x) {
  if (!is.list(x)) return(x)
  for (key in intersect(names(x), array_keywords)) x[[key]] <- as.list(x[[key]])
  for (key in intersect(names(x), c(named_schemas, listed_schemas))) {
    if (!length(x[[key]])) x[[key]] <- if (key %in% named_schemas) no_members else list()
    x[[key]] <- lapply(x[[key]], arrays_of_schema)
  }
  for (key in intersect(names(x), single_schemas)) {
    x[[key]] <- if (identical(x[[key]], list())) no_members else arrays_of_schema(x[[key]])
  }
  x
}

# NULL is nothing in a list that is written as JSON, NA is null.
nulls_as_na <- function(x) {
  if (is.null(x)) return(NA)
  if (!is.list(x)) return(x)
  x[] <- lapply(x, nulls_as_na)
  x
}

# What a handler gets: types where the schema is plain about them, otherwise what req$json has.
type_of_json <- function(json) {
  types <- unlist(json[["type"]])
  plain <- setdiff(types, "null")
  combined <- any(c("$ref", "allOf", "anyOf", "oneOf", "if", "not") %in% names(json))
  if (length(plain) != 1L || combined) return(list(kind = "any"))
  r <- switch(plain,
    integer = list(kind = if (fits_integer(json)) "int" else "int64"),
    number = list(kind = "dbl"), boolean = list(kind = "lgl"),
    string = list(kind = switch(json[["format"]] %||% "", date = "date", "date-time" = "datetime", "chr")),
    array = if (is.list(json[["items"]]) && is.null(json[["prefixItems"]])) {
      list(kind = "array", items = type_of_json(json[["items"]]))
    },
    object = if (length(json[["properties"]])) {
      fields <- lapply(json[["properties"]], function(one) if (is.list(one)) type_of_json(one) else list(kind = "any"))
      for (name in names(fields)) fields[[name]]$required <- name %in% unlist(json[["required"]])
      list(kind = "object", fields = fields, extra = "keep")
    }
  )
  if (is.null(r)) return(list(kind = "any"))
  r$nullable <- "null" %in% types
  if (!is.null(json[["default"]])) r["default"] <- list(if (!identical(json[["default"]], NA)) json[["default"]])
  r
}

fits_integer <- function(json) {
  most <- .Machine$integer.max
  low <- json[["minimum"]] %||% json[["exclusiveMinimum"]]
  high <- json[["maximum"]] %||% json[["exclusiveMaximum"]]
  identical(json[["format"]], "int32") || (!is.null(low) && !is.null(high) && low >= -most && high <= most)
}
