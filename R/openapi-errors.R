# The errors that operations have beside their own responses. Neighbours: openapi-operations.R; the engine's
# respond/error.rs, which sends them; error-form.R, for apps that give them another form.

# The responses of the description by name, and the status that each stands for.
error_statuses <- c(
  BadRequest = "400", Unauthorized = "401", Forbidden = "403", UnsupportedMediaType = "415",
  UnprocessableContent = "422", TooManyRequests = "429", Error = "default", Other = "default"
)

error_texts <- c(
  BadRequest = "The request is malformed, or its body is not of the type that it claims.",
  Unauthorized = "Credentials are missing or wrong.",
  Forbidden = "The client may not do this.",
  UnsupportedMediaType = "The body has another type than those listed.",
  UnprocessableContent = "Parameters or the body do not have their types: `errors` names each and says why.",
  TooManyRequests = "The client has sent too many requests.",
  Error = "Any other error: 404, 413 for a long body, 503 from a busy server, 504 after the time limit, and others.",
  Other = "Any other answer of the handler, or an error of the server."
)

# Header fields that an error comes with.
error_fields <- list(
  Unauthorized = list("WWW-Authenticate" = list(
    description = "The ways to authenticate.", schema = list(type = "string")
  )),
  TooManyRequests = list(
    "Retry-After" = list(
      description = "Seconds until the request would pass.", schema = list(type = "integer", minimum = 1L)
    )
  )
)

# Of problem details (RFC 9457).
problem_schema <- list(
  type = "object", required = list("type", "title", "status"),
  properties = list(
    type = list(type = "string", format = "uri-reference"), title = list(type = "string"),
    status = list(type = "integer", minimum = 400L, maximum = 599L), detail = list(type = "string"),
    id = list(type = "string", description = "Names the request in the log of the server.")
  )
)

# The same of a request whose values do not have their types: all that is wrong with it.
invalid_schema <- function() {
  error <- list(
    type = "object", required = list("in", "field", "rule"),
    properties = list(
      "in" = list(type = "string", enum = list("path", "query", "header", "cookie", "body")),
      field = list(type = "string", description = "A name; of a body, a JSON Pointer."), value = no_members,
      rule = list(type = "string")
    )
  )
  schema <- problem_schema
  schema$properties$errors <- list(type = "array", items = error)
  schema
}

# Which schema an error has.
schema_of_error <- function(name) if (name == "UnprocessableContent") "InvalidRequest" else "Problem"

# Components of those responses that are used; `has_form`: the app gives errors a form of its own, which only it knows.
error_components <- function(used, has_form, schemes) {
  responses <- lapply(with_names(used, used), error_response, has_form = has_form)
  shown <- if (!has_form) unique(vapply(setdiff(used, "Other"), schema_of_error, ""))
  schemas <- list(Problem = problem_schema, InvalidRequest = invalid_schema())[shown]
  list(schemas = schemas, responses = responses, securitySchemes = schemes)
}

error_response <- function(name, has_form) {
  c(
    list(description = error_texts[[name]]), if (!is.null(error_fields[[name]])) list(headers = error_fields[[name]]),
    if (!has_form && name != "Other") list(content = list(
      "application/problem+json" = list(
        schema = list("$ref" = paste0("#/components/schemas/", schema_of_error(name))),
        example = problem_example(error_statuses[[name]])
      ),
      "text/plain" = list(schema = list(type = "string"))
    ))
  )
}

problem_example <- function(status) {
  status <- if (status == "default") 404L else as.integer(status)
  list(type = "about:blank", title = status_phrase(status), status = status, id = "00000000000003e8")
}
