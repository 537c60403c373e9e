# The schema as an object of class `dr_schema`, and what all types have in common. Neighbours: schema-values.R and
# schema-parts.R, which make them.

# `json`: a list that dr_to_json(auto_unbox = TRUE) writes as JSON Schema 2020-12. `r`: what R makes of a value, a list
# with `kind` and what belongs to that kind, see typed-values.R.
new_schema <- function(json, r, required = TRUE, where = NULL, content_type = NULL) {
  structure(
    list(json = json, r = r, required = required, where = where, content_type = content_type), class = "dr_schema"
  )
}

is_schema <- function(x) inherits(x, "dr_schema")

# What all types have in common, added to `json`: whether a value may be missing or null, and what is told of it.
# `has_default` tells a default from none, since NA is one.
finish_schema <- function(json, r, common, call) {
  check_flag(common$required, common$names[["required"]], call = call)
  check_flag(common$nullable, common$names[["nullable"]], call = call)
  check_string(common$description, common$names[["description"]], null = TRUE, call = call)
  if (common$nullable) {
    if (!is.null(json$type)) json$type <- I(c(json$type, "null"))
    if (!is.null(json$enum)) json$enum <- c(json$enum, list(NA))
  }
  r$nullable <- common$nullable
  if (!is.null(common$description)) json$description <- enc2utf8(common$description)
  if (common$has_default) {
    r["default"] <- list(common$default)
    json$default <- schema_value(common$default, r)
  }
  if (!is.null(common$example)) json$examples <- list(schema_value(common$example, r))
  schema <- new_schema(json, r, common$required && !common$has_default, common$where)
  check_schema(schema, common$names, call)
  schema
}

# The common arguments of a constructor, by its frame. `dot`: what their names begin with.
common_arguments <- function(frame, dot = "") {
  names <- c("required", "default", "nullable", "description", "example", "where")
  names <- with_names(paste0(dot, names), names)
  has_default <- !eval(call("missing", as.name(names[["default"]])), frame)
  where <- get0(names[["where"]], frame, inherits = FALSE)
  call <- sys.call(-1L)
  if (!is.null(where)) where <- check_choice(where, "where", c("query", "header", "cookie"), call)
  list(
    required = frame[[names[["required"]]]], has_default = has_default,
    default = if (has_default) frame[[names[["default"]]]], nullable = frame[[names[["nullable"]]]],
    description = frame[[names[["description"]]]], example = frame[[names[["example"]]]], where = where, names = names
  )
}

# The parts of a schema have been judged when they were made: only what is new in it is.
check_schema <- function(schema, names, call) {
  json <- schema$json
  if (is.null(json$pattern) && !any(c("default", "examples") %in% names(json))) return(invisible())
  text <- schema_text(schema)
  problem <- .Call(C_schema_problem, text, NA_character_)
  if (!is.null(problem)) stop_drover("argument", paste("not a type:", problem), call = call, argument = "pattern")
  given <- list(default = json["default"][[1L]], example = json$examples[[1L]])
  for (told in names(given)[c("default", "examples") %in% names(json)]) {
    problem <- .Call(C_schema_problem, text, dr_to_json(given[[told]], auto_unbox = TRUE))
    if (is.null(problem)) next
    problem <- sprintf("`%s` does not fit the type: %s", names[[told]], problem)
    stop_drover("argument", problem, call = call, argument = names[[told]])
  }
}

schema_text <- function(schema) dr_to_json(schema$json, auto_unbox = TRUE)

# A value of R as JSON has it under a schema: dates as texts, arrays as arrays.
schema_value <- function(value, r) {
  if (is.null(value) || (r$kind != "array" && is.atomic(value) && length(value) == 1L && is.na(value))) return(NA)
  if (r$kind == "array") {
    return(lapply(seq_along(value), function(i) schema_value(value[[i]], r$items)))
  }
  if (inherits(value, "POSIXt")) return(format(value, "%Y-%m-%dT%H:%M:%OSZ", tz = "UTC"))
  if (inherits(value, "Date")) return(format(value))
  if (is.factor(value)) value <- as.character(value)
  if (r$kind == "data_frame") {
    value[] <- lapply(value, function(column) if (inherits(column, "POSIXt")) schema_value(column, r) else column)
  }
  if (r$kind == "object") {
    for (name in intersect(names(value), names(r$fields))) {
      value[[name]] <- schema_value(value[[name]], r$fields[[name]])
    }
    if (!length(value)) value <- no_members
  }
  value
}
