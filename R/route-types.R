# What a route declares: types of params, body and response, and what is told of it. Recorded here as the engine and
# documentation read it. Not for making types (schema.R) nor for the values that handlers get (typed-values.R).
# Neighbour: app-routes.R.

# Of the arguments of dr_get() the fields of a route: params, body, response, about. What was not given is not there.
route_types <- function(given, placeholders, call) {
  if (!length(compact(given[declarations])) && isFALSE(given$deprecated)) return(list())
  Filter(length, list(
    params = route_params(given$params, placeholders, call), body = route_body(given$body, call),
    response = route_response(given$response, call), about = route_about(given, call)
  ))
}

# Those arguments, which are NULL where nothing is declared; and `deprecated`.
declarations <- c("params", "body", "response", "summary", "description", "tags", "examples", "operation_id")

# By the names that requests have: lists of schema, `in`, required, default (where there is one) and argument, the name
# that a handler's argument has.
route_params <- function(params, placeholders, call) {
  if (is.null(params)) return()
  right <- "a named list of types, such as list(n = dr_int(min = 1))"
  named <- !is.null(names(params)) && all(nzchar(names(params))) && !anyDuplicated(names(params))
  if (!is.list(params) || is.object(params) || !length(params) || !named) {
    stop_argument("params", right, params, call)
  }
  params <- Map(function(x, name) as_schema(x, paste0("params$", name), call), params, names(params))
  check_texts_only(params, call)
  reserved <- intersect(names(params), c("req", "body"))
  if (length(reserved)) {
    problem <- sprintf("`params` must not have `%s`: that is another argument of handlers", reserved[[1L]])
    stop_drover("argument", problem, call = call, argument = "params")
  }
  declared <- Map(function(schema, name) route_param(schema, name, placeholders, call), params, names(params))
  names(declared) <- vapply(declared, `[[`, "", "name")
  if (anyDuplicated(tolower(names(declared)[vapply(declared, `[[`, "", "in") == "header"]))) {
    stop_drover("argument", "`params` has a header field twice", call = call, argument = "params")
  }
  lapply(declared, function(one) one[names(one) != "name"])
}

route_param <- function(schema, name, placeholders, call) {
  is_path <- name %in% placeholders
  where <- if (is_path) "path" else schema$where %||% "query"
  if (is_path && (!schema$required || schema$r$kind == "array")) {
    problem <- sprintf("`params$%s` is part of the path: it is always there, and a single value", name)
    stop_drover("argument", problem, call = call, argument = "params")
  }
  wire <- if (where == "header") gsub("_", "-", name, fixed = TRUE) else name
  if (where %in% c("header", "cookie") && !is_token(wire)) {
    stop_argument(paste0("params$", name), paste("named as a", where, "can be"), name, call)
  }
  if (where == "cookie" && schema$r$kind == "array") {
    stop_argument(paste0("params$", name), "a single value: it is a cookie", name, call)
  }
  c(
    list(schema = schema, `in` = where, required = schema$required, argument = name, name = wire),
    if ("default" %in% names(schema$r)) list(default = schema$r[["default"]])
  )
}

route_body <- function(body, call) {
  if (is.null(body)) return()
  schema <- as_schema(body, "body", call)
  list(
    schema = schema, required = schema$required, content_type = schema$content_type %||% "application/json"
  )
}

# By status, as a string.
route_response <- function(response, call) {
  if (is.null(response)) return()
  by_status <- is.list(response) && !is.object(response) && length(response) && !is.null(names(response)) &&
    all(grepl("^[1-5][0-9]{2}$", names(response)))
  if (!by_status) return(list("200" = as_schema(response, "response", call)))
  if (anyDuplicated(names(response))) {
    stop_drover("argument", "`response` has a status twice", call = call, argument = "response")
  }
  Map(function(x, status) as_schema(x, paste0("response$`", status, "`"), call), response, names(response))
}

route_about <- function(given, call) {
  for (arg in c("summary", "description", "operation_id")) check_string(given[[arg]], arg, null = TRUE, call = call)
  check_texts(given$tags, "tags", null = TRUE, call = call)
  check_flag(given$deprecated, "deprecated", call = call)
  examples <- given$examples
  named <- is.list(examples) && !is.null(names(examples)) && all(nzchar(names(examples)))
  if (!is.null(examples) && !named) stop_argument("examples", "NULL or a named list of values", examples, call)
  if (!given$deprecated) given$deprecated <- NULL
  Filter(Negate(is.null), given[c("summary", "description", "tags", "examples", "deprecated", "operation_id")])
}

# What the engine has to know of it; NULL for nothing. See src/rust/crates/engine/src/edge/types.rs.
engine_types <- function(route) {
  if (is.null(route$params) && is.null(route$body)) return(NULL)
  params <- Map(function(param, name) {
    list(name = name, `in` = param[["in"]], required = param$required, schema = schema_text(param$schema))
  }, route$params, names(route$params))
  body <- if (!is.null(route$body)) {
    list(
      content_type = route$body$content_type, required = route$body$required, schema = schema_text(route$body$schema)
    )
  }
  Filter(length, list(params = unname(params), body = body))
}
