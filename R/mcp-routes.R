# Routes of an app as tools of language models. Not for tools that are functions: mcp-tools.R. Neighbours:
# app-compile.R, which has this done when the server starts; route-types.R, for what routes declare.

check_tool_routes <- function(routes, call) {
  if (isTRUE(routes) || isFALSE(routes)) return(invisible())
  if (!is.character(routes)) stop_argument("routes", "TRUE, FALSE or paths: a character vector", routes, call)
  check_policy_routes(routes, call)
}

# Fills the offers of all endpoints among `routes`, as app_routes() gives them. `handlers`: what answers each.
fill_offers <- function(routes, handlers, policies, call) {
  for (route in Filter(function(route) !is.null(route$offer), routes)) {
    offer <- route$offer
    is_offered <- vapply(routes, is_tool_route, NA, offer = offer)
    for (one in routes[is_offered]) check_as_open(one, route$path, policies, call)
    tools <- c(offer$own, Map(tool_of_route, routes[is_offered], handlers[is_offered]))
    names <- vapply(tools, `[[`, "", "name")
    twice <- names[duplicated(names)]
    if (length(twice)) {
      problem <- sprintf("dr_mcp(\"%s\") has two tools with the name %s: give a route another `operation_id`",
        route$path, twice[[1L]])
      stop_drover("argument", problem, call = call, argument = "tools")
    }
    names(tools) <- names
    offer$tools <- tools
    offer$place <- route$path
    offer$is_bare <- !length(route$middleware) && !isTRUE(route$has_sessions)
    ready_offer(offer)
  }
}

# What is the same in all answers, made once; and the schemas are compiled, which workers then share. So do those that a
# session forks with its key.
ready_offer <- function(offer) {
  seal_key()
  offer$checked <- vapply(offer$tools, `[[`, "", "checked")
  texts <- c(offer$checked, vapply(offer$prompts, `[[`, "", "checked"))
  for (text in texts) .Call(C_schema_problem, text, NA_character_)
  pages <- function(key, items) pages_of(key, vapply(items, `[[`, "", "listed"))
  offer$tool_pages <- pages("tools", offer$tools)
  offer$resource_pages <- pages("resources", offer$resources)
  offer$template_pages <- pages("resourceTemplates", offer$templates)
  offer$prompt_pages <- pages("prompts", offer$prompts)
  offer$tasks <- tasks_by_kind(offer)
  offer$end <- result_end(offer, TRUE)
  offer$kept_end <- result_end(offer, TRUE, kept = TRUE)
  offer$asked_end <- result_end(offer, TRUE, type = "input_required")
}

is_tool_route <- function(route, offer) {
  # its answer is the place of a job, of which a model has no use
  if (!is.null(route$job)) return(FALSE)
  if (is.null(route$about$summary) && is.null(route$about$description)) return(FALSE)
  if (is.logical(offer$routes)) return(offer$routes)
  any(vapply(offer$routes, covers_path, NA, path = route$path))
}

# Whether a pattern of a policy covers a path: all its segments, of which a placeholder is like any other one.
covers_path <- function(pattern, path) {
  parts <- function(x) {
    all <- strsplit(tolower(x), "/", fixed = TRUE)[[1L]]
    all <- all[nzchar(all)]
    ifelse(grepl("^([:{*]|<.*>$)", all), "*", all)
  }
  wanted <- parts(pattern)
  there <- parts(path)
  if (length(wanted) > length(there)) return(FALSE)
  there <- there[seq_along(wanted)]
  all(wanted == there | wanted == "*" | there == "*")
}

# The path of the endpoint decides which authentication applies.
check_as_open <- function(route, endpoint, policies, call) {
  for (policy in policies) {
    if (!identical(names(policy$rule), "auth") || isTRUE(policy$rule$auth$optional)) next
    covers <- function(path) !length(policy$routes) || any(vapply(policy$routes, covers_path, NA, path = path))
    if (covers(route$path) && !covers(endpoint)) {
      problem <- paste0(
        "the route ", route$method, " ", route$path, " is behind a policy of who may ask, dr_auth_...(), and would be ",
        "open as a tool of dr_mcp(\"", endpoint, "\"): add the endpoint to the `routes` of the policy, or leave the ",
        "route out by the `routes` of dr_mcp()"
      )
      stop_drover("argument", problem, call = call, argument = "routes")
    }
  }
}

# A route as a tool, whose calls are requests for `handler`, the middleware around it included.
tool_of_route <- function(route, handler) {
  parsed <- parse_path(route$path, NULL)
  types <- with_names(parsed$types, parsed$names)
  parts <- tool_parts(route, types)
  name <- route$about$operation_id %||% name_of_route(route)
  description <- paste(c(route$about$summary, route$about$description), collapse = "\n\n")
  schema <- do.call(dr_object, lapply(parts, `[[`, "schema"))
  run <- function(arguments, req) handler(request_of_call(req, route, types, parts, arguments))
  hints <- list(readOnlyHint = route$method %in% c("GET", "HEAD"))
  new_tool(name, description, schema, run, hints = hints, on_error = route$on_error)
}

# "get_users_id" of GET /users/<id>
name_of_route <- function(route) {
  name <- gsub("[^a-z0-9]+", "_", tolower(paste(route$method, gsub(":(int|dbl|bool|uuid|str)>", "", route$path))))
  substr(gsub("^_|_$", "", name), 1L, 64L)
}

# The arguments of the tool, by name: lists of schema and `in`. `types`: see request_of_call(). The fields of a body
# that is an object are arguments of their own, unless one is called like a parameter.
tool_parts <- function(route, types) {
  params <- route$declared$params %||% list()
  wire <- names(params)
  names(params) <- vapply(params, `[[`, "", "argument")
  parts <- Map(function(param, name) list(schema = param$schema, `in` = param[["in"]], name = name), params, wire)
  for (name in setdiff(names(types), wire)) {
    parts[[name]] <- list(schema = placeholder_schema(types[[name]]), `in` = "path", name = name)
  }
  body <- route$declared$body
  if (is.null(body)) return(parts)
  fields <- body$schema$json$properties
  is_flat <- identical(body$schema$json$type, "object") && length(fields) && !any(names(fields) %in% names(parts))
  if (!is_flat) return(c(parts, list(body = list(schema = body$schema, `in` = "body"))))
  required <- unlist(body$schema$json$required)
  c(parts, Map(function(json, name) {
    schema <- new_schema(json, list(kind = "any"), name %in% required && body$required)
    list(schema = schema, `in` = "field", name = name)
  }, fields, names(fields)))
}

# Of a placeholder that has no type but that of the path.
placeholder_schema <- function(type) {
  switch(type,
    int = dr_int(), dbl = dr_dbl(), bool = dr_lgl(),
    uuid = dr_chr(pattern = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"), dr_chr(min_length = 1)
  )
}

# The request that carries a call, as one for the route. `types`: of the placeholders, by name; `arguments`: as JSON was
# read.
request_of_call <- function(req, route, types, parts, arguments) {
  # texts by the names that requests have
  of <- function(where) {
    mine <- parts[vapply(parts, function(part) part[["in"]] == where, NA) & names(parts) %in% names(arguments)]
    texts <- lapply(arguments[names(mine)], texts_of)
    with_names(texts, vapply(mine, `[[`, "", "name"))
  }
  params <- of("path")
  query <- of("query")
  fields <- structure(
    as.list(unlist(query, use.names = FALSE)), names = rep(names(query), lengths(query)), class = "dr_fields"
  )
  headers <- unclass(req$headers)
  given <- of("header")
  headers[tolower(names(given))] <- given
  bytes <- body_of_call(route, parts, arguments)
  # of another body than the one that the route gets
  headers[c("content-length", "content-type")] <- NULL
  if (length(bytes)) headers <- c(headers, list("content-type" = route$declared$body$content_type))
  escaped <- function(x) vapply(x, percent_encode, "", plain = extended_value_bytes, USE.NAMES = FALSE)
  path <- path_of_call(route$path, params)
  pairs <- paste0(escaped(names(fields)), "=", escaped(unlist(fields)), recycle0 = TRUE, collapse = "&")
  req$method <- if (route$method == "ANY") "POST" else route$method
  req$path <- path
  req$url <- paste0(percent_encode(path, url_bytes), if (length(fields)) paste0("?", pairs))
  req$route <- route$path
  req$params <- typed_params(types, params)
  req$query <- fields
  req$headers <- structure(headers, class = "dr_fields")
  req$cookies <- structure(c(unclass(req$cookies), of("cookie")), class = "dr_fields")
  req$raw <- bytes
  req$body <- utf8_text(bytes)
  req$json <- if (length(bytes)) dr_from_json(bytes)
  req$form <- structure(list(), names = character(), class = "dr_fields")
  req$files <- list()
  req
}

# The bytes of the body, of those arguments that belong to it.
body_of_call <- function(route, parts, arguments) {
  where <- vapply(parts, `[[`, "", "in")
  if ("body" %in% where) return(if ("body" %in% names(arguments)) charToRaw(json_value(arguments$body)) else raw())
  fields <- arguments[intersect(names(arguments), names(parts)[where == "field"])]
  if (!"field" %in% where || (!length(fields) && !route$declared$body$required)) return(raw())
  charToRaw(json_value(if (length(fields)) fields else no_params))
}

# A value as a query, a header field or a path has it; of an array one text for each item.
texts_of <- function(value) {
  if (is.list(value)) return(vapply(value, function(one) texts_of(one)[[1L]], ""))
  if (is.character(value)) value else json_value(value)
}

# The path with these values for its placeholders. A request could not have more than a segment for one.
path_of_call <- function(pattern, params) {
  for (name in names(params)) {
    value <- params[[name]]
    rest <- sprintf("*%s", name)
    if (endsWith(pattern, rest)) {
      pattern <- paste0(substr(pattern, 1L, nchar(pattern) - nchar(rest)), value)
      next
    }
    if (grepl("/", value, fixed = TRUE)) dr_abort(422L, sprintf("%s: must not have a \"/\"", name))
    slot <- sprintf("(:%s(?![A-Za-z0-9_])|<%s(:[a-z]+)?>|[{]%s[}])", name, name, name)
    at <- regexpr(slot, pattern, perl = TRUE)
    regmatches(pattern, at) <- value
  }
  pattern
}

# As the path says: `<id:int>` is an integer.
typed_params <- function(types, params) {
  readers <- list(int = as.integer, dbl = as.numeric, bool = function(x) x == "true")
  for (name in names(params)) {
    read <- readers[[types[[name]]]]
    if (!is.null(read)) params[[name]] <- read(params[[name]])
  }
  params
}
