# What OpenAPI says of each route: its operations. An operation is a list: method ("get"), canonical (the path as the
# router writes it), template (as OpenAPI does), key (the same for templates that clients cannot tell apart),
# placeholders (names in the template), fields (what is said), errors (names of responses of openapi-errors.R), id,
# the name that it was given, or "", and plain: the same text for those of which the same is said, as the routes declare
# nothing; NULL for others. Neighbours: openapi.R; openapi-jobs.R, of routes of jobs; openapi-security.R, what covers
# paths.

# The operations of routes, without those below one of the patterns `hidden`, and without those for whose method and
# path an earlier one is there.
operations_of <- function(routes, hidden) {
  if (!length(routes)) return(list())
  # they were checked when they were registered, and an app may have thousands
  parsed <- lapply(routes, function(route) .Call(C_pattern_parse, enc2utf8(route$path)))
  canonical <- vapply(parsed, `[[`, "", "canonical")
  shown <- !covered(hidden, canonical)
  template <- path_templates(canonical)
  key <- gsub("[{][^}]*[}]", "{}", template)
  plain <- new.env(parent = emptyenv())
  made <- lapply(which(shown), function(i) {
    route <- routes[[i]]
    methods <- if (route$method == "ANY") any_methods else tolower(route$method)
    said <- route$operation %||% plain_route(route, parsed[[i]], plain) %||% described_route(route, parsed[[i]])
    placeholders <- parsed[[i]]$names
    placeholders[placeholders == "*"] <- bare_rest
    lapply(methods, function(method) {
      list(
        method = method, canonical = canonical[[i]], template = template[[i]], key = key[[i]],
        placeholders = placeholders, fields = if (method %in% with_body) c(said$fields, said$body) else said$fields,
        errors = said$errors, id = said$id %||% "",
        plain = if (!is.null(said$plain)) paste0(method, said$plain)
      )
    })
  })
  made <- unlist(made, recursive = FALSE)
  if (!length(made)) return(list())
  made[!duplicated(paste(vapply(made, `[[`, "", "method"), vapply(made, `[[`, "", "key")))]
}

# Those of dr_any() that are worth telling: GET answers HEAD, too, and the engine OPTIONS.
any_methods <- c("get", "put", "post", "delete", "patch")
with_body <- c("put", "post", "patch", "delete")
# What a catch-all without a name is called.
bare_rest <- "rest"

# Canonical paths as OpenAPI writes them: /orders/{id}. Literals are as clients send them.
path_templates <- function(canonical) {
  special <- grep("[^A-Za-z0-9._~!$&'()*+,;=:@/<>-]", canonical, perl = TRUE)
  canonical[special] <- vapply(strsplit(canonical[special], ""), function(chars) {
    sent <- grepl("^[A-Za-z0-9._~!$&'()*+,;=:@/<>-]$", chars)
    chars[!sent] <- vapply(chars[!sent], utils::URLencode, "", reserved = TRUE)
    paste(chars, collapse = "")
  }, "")
  named <- gsub("<([^:>]*)(:[a-z]+)?>", "{\\1}", canonical)
  sub("/[*]([^/]*)$", "/{\\1}", sub("/[*]$", paste0("/{", bare_rest, "}"), named))
}

# The same as described_route() of a route of which nothing is said: one for all with such placeholders. `made`: those
# that were made. NULL for other routes.
plain_route <- function(route, parsed, made) {
  for (field in declared_fields) if (!is.null(route[[field]])) return(NULL)
  key <- if (length(parsed$names) || !is.null(route$content_type)) {
    is_rest <- grepl("*", parsed$canonical, fixed = TRUE)
    paste(c("", route$content_type, parsed$names, parsed$types, is_rest), collapse = " ")
  } else {
    "-"
  }
  if (is.null(made[[key]])) made[[key]] <- c(described_route(route, parsed), list(plain = key))
  made[[key]]
}

# What a route says of itself.
declared_fields <- c("params", "body", "response", "about", "job")

# list(fields, body, errors, id) of a route of an app: what is said of it in all of its methods, and in those that have
# a body.
described_route <- function(route, parsed) {
  about <- route$about
  is_typed <- length(route$params) || !is.null(route$body)
  fields <- list()
  if (length(about$tags)) fields$tags <- as.list(about$tags)
  if (!is.null(route$job) && is.null(about$summary)) about$summary <- job_summaries[[route$job$part]]
  fields <- c(fields, about[intersect(c("summary", "description"), names(about))])
  fields$parameters <- some(c(path_parameters(parsed, route$params), other_parameters(route$params, parsed$names)))
  fields$responses <- described_responses(route)
  if (isTRUE(about$deprecated)) fields$deprecated <- TRUE
  list(
    fields = fields, body = list(requestBody = described_body(route)), id = about$operation_id,
    errors = c(
      if (is_typed) c("BadRequest", "UnprocessableContent"), if (!is.null(route$body)) "UnsupportedMediaType",
      if (length(route$response)) "Error" else "Other"
    )
  )
}

path_parameters <- function(parsed, params) {
  lapply(seq_along(parsed$names), function(i) {
    name <- parsed$names[[i]]
    is_rest <- name == "*" || endsWith(parsed$canonical, paste0("/*", name))
    bare <- if (is_rest) list(type = "string") else placeholder_schemas[[parsed$types[[i]]]]
    schema <- params[[name]]$schema$json %||% bare
    description <- schema$description %||% if (is_rest) "All that is left of the path, with its slashes."
    parameter("path", if (name == "*") bare_rest else name, schema, TRUE, description)
  })
}

placeholder_schemas <- list(
  str = list(type = "string", minLength = 1L), int = list(type = "integer"), dbl = list(type = "number"),
  bool = list(type = "boolean"), uuid = list(type = "string", format = "uuid")
)

other_parameters <- function(params, placeholders) {
  if (!length(params)) return(NULL)
  params <- params[setdiff(names(params), placeholders)]
  Map(function(param, name) {
    parameter(param$`in`, name, param$schema$json, isTRUE(param$required), param$schema$json$description)
  }, unname(params), names(params))
}

# What a schema says of its value is said of the parameter instead: pages show it once.
parameter <- function(where, name, schema, required, description) {
  schema$description <- NULL
  c(
    list(name = name, `in` = where), if (!is.null(description)) list(description = description),
    list(required = required, schema = schema)
  )
}

# What is sent to a route without types is for its handler to say.
described_body <- function(route) {
  body <- route$body
  if (is.null(body)) return(list(content = list("application/json" = no_members, "*/*" = no_members)))
  list(
    required = isTRUE(body$required),
    content = one_named(body$content_type %||% "application/json", media(body$schema, route$about$examples))
  )
}

described_responses <- function(route) {
  own <- handler_responses(route)
  if (is.null(route$job)) own else job_responses(route$job$part, own)
}

handler_responses <- function(route) {
  if (!length(route$response)) {
    answer <- list(description = status_phrase(200L))
    if (is_string(route$content_type)) answer$content <- one_named(bare_type(route$content_type), no_members)
    return(list("200" = answer))
  }
  # examples are of what is sent, where something is
  examples <- if (is.null(route$body)) route$about$examples
  responses <- Map(function(schema, status) {
    type <- schema$content_type %||% "application/json"
    list(
      description = schema$json$description %||% status_phrase(as.integer(status)),
      content = one_named(type, media(schema, if (startsWith(status, "2")) examples))
    )
  }, route$response, names(route$response))
  responses
}

media <- function(schema, examples) {
  c(list(schema = schema$json), if (length(examples)) {
    list(examples = lapply(examples, function(x) list(value = schema_value(x, schema$r))))
  })
}

# The object `paths`: each path with its operations by method. Paths that clients cannot tell apart are one, with the
# names of the first.
paths_of <- function(operations) {
  if (!length(operations)) return(no_members)
  keys <- vapply(operations, `[[`, "", "key")
  methods <- vapply(operations, `[[`, "", "method")
  ids <- operation_ids(operations)
  groups <- split(seq_along(keys), factor(keys, unique(keys)))
  made <- new.env(parent = emptyenv())
  paths <- lapply(unname(groups), function(group) {
    first <- operations[[group[[1L]]]]
    item <- lapply(group, function(i) {
      finished <- finished_once(operations[[i]], first$placeholders, made)
      finished$operationId <- ids[[i]]
      finished
    })
    names(item) <- methods[group]
    item
  })
  names(paths) <- vapply(operations[!duplicated(keys)], `[[`, "", "template")
  paths
}

# Names of all operations, no two the same: those that were given, and of the others method and path.
operation_ids <- function(operations) {
  given <- vapply(operations, `[[`, "", "id")
  words <- gsub("[^A-Za-z0-9]+", "_", vapply(operations, `[[`, "", "template"))
  made <- sub("_+$", "", paste0(vapply(operations, `[[`, "", "method"), words))
  free <- !nzchar(given)
  ids <- make.unique(c(given[!free], made[free]), sep = "_")
  given[!free] <- ids[seq_len(sum(!free))]
  given[free] <- ids[sum(!free) + seq_len(sum(free))]
  given
}

# In the order in which people read it.
field_order <- c(
  "tags", "summary", "description", "externalDocs", "operationId", "parameters", "requestBody", "responses",
  "deprecated", "security"
)

# The operation as it is written, but for its name. `made`: those of plain routes, by what they have in common.
finished_once <- function(operation, placeholders, made) {
  same <- operation$plain
  if (is.null(same) || !identical(placeholders, operation$placeholders)) return(finished(operation, placeholders))
  if (is.null(made[[same]])) made[[same]] <- finished(operation, placeholders)
  made[[same]]
}

finished <- function(operation, placeholders) {
  fields <- operation$fields
  fields$operationId <- ""
  if (!identical(placeholders, operation$placeholders)) {
    fields$parameters <- renamed(fields$parameters, operation$placeholders, placeholders)
  }
  for (error in operation$errors) {
    status <- error_statuses[[error]]
    if (is.null(fields$responses[[status]])) {
      fields$responses[[status]] <- list("$ref" = paste0("#/components/responses/", error))
    }
  }
  # statuses before "default"
  if (length(fields$responses) > 2L) fields$responses <- fields$responses[sort(names(fields$responses))]
  known <- fields[field_order]
  known <- known[!is.na(names(known))]
  if (length(known) == length(fields)) known else c(known, fields[setdiff(names(fields), field_order)])
}

renamed <- function(parameters, from, to) {
  lapply(parameters, function(one) {
    if (identical(one$`in`, "path")) one$name <- to[[match(one$name, from)]]
    one
  })
}

# For each of the paths, which are canonical and may have placeholders, whether it is below one of the patterns.
covered <- function(patterns, paths) {
  matches <- lapply(patterns, function(pattern) grepl(prefix_regex(pattern), paths, perl = TRUE, ignore.case = TRUE))
  Reduce(`|`, matches, logical(length(paths)))
}

# A pattern as a regular expression for the beginnings of canonical paths.
prefix_regex <- function(pattern) {
  canonical <- parse_path(pattern, NULL)$canonical
  literals <- strsplit(canonical, "<[^>]*>")[[1L]]
  literals <- gsub("([^A-Za-z0-9/_])", "\\\\\\1", literals, perl = TRUE)
  ends <- if (endsWith(canonical, ">")) "[^/]+"
  paste0("^", paste(literals, collapse = "[^/]+"), ends, "(/|$)")
}
