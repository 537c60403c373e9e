# Types of what has parts: arrays, objects, data frames, forms. Not for single values: schema-values.R.
# Neighbour: schema.R, which has their documentation.

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
