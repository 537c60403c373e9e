# Completion: values for arguments of prompts and placeholders of resources, while a person types. Neighbours:
# mcp-prompts.R, mcp-resources.R, which say what there is.

# Most values in an answer, by the protocol.
MOST_COMPLETIONS <- 100L

complete_argument <- function(offer, req, id, params, is_new) {
  ref <- params[["ref"]]
  argument <- params[["argument"]]
  is_right <- is_object(ref) && is_object(argument) && is_string(argument[["name"]]) && is_string(argument[["value"]])
  if (!is_right) {
    return(rpc_error(id, "params", "`params` must have `ref`, and an `argument` whose `name` and `value` are strings"))
  }
  from <- completed(offer, ref)
  if (is.null(from)) {
    return(rpc_error(id, "params", "`ref` must be a prompt of this server by its name, or a resource by its URI"))
  }
  values <- from$complete[[argument[["name"]]]]
  if (is.function(values)) {
    response <- respond(function(req) completion_response(values(argument[["value"]])), req, NULL)
    if (has_failed(response)) return(rpc_failure(id, response))
    values <- dr_from_json(response$body)
  } else {
    values <- values[startsWith(tolower(values), tolower(argument[["value"]]))]
  }
  shown <- first_of(values, MOST_COMPLETIONS)
  told <- list(values = as.list(shown), total = length(values), hasMore = length(values) > length(shown))
  rpc_result(id, paste0("{\"completion\":", plain_json(told), if (is_new) offer$end else "}"))
}

completion_response <- function(values) {
  if (!is.character(values)) {
    stop_drover("value", "a function of `complete` must return a character vector", call = NULL)
  }
  dr_json(as.list(values))
}

# The prompt or resource that is meant; NULL for none.
completed <- function(offer, ref) {
  switch(if (is_string(ref[["type"]])) ref[["type"]] else "",
    "ref/prompt" = if (is_string(ref[["name"]])) offer$prompts[[ref[["name"]]]],
    "ref/resource" = if (is_string(ref[["uri"]])) c(offer$resources, offer$templates)[[ref[["uri"]]]]
  )
}
