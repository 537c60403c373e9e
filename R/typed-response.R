# Whether responses have the types that their routes declare: looked at in development and in tests, where a mistake is
# to be seen, and not in production, where clients would pay for it. Neighbours: route-types.R, typed-handler.R.

checks_responses <- function() isTRUE(engine$debug) || !is.null(testing$client)

# The handler of a route, and after it the check. `route`: see add_route().
checked_handler <- function(handler, route) {
  declared <- route$response
  if (is.null(declared)) return(handler)
  force(handler)
  texts <- vapply(declared, schema_text, "")
  where <- paste(route$method, route$path)
  function(req) {
    value <- handler(req)
    if (!checks_responses()) return(value)
    if (is_promise(value)) value$then(function(value) check_response(value, texts, where))
    else check_response(value, texts, where)
  }
}

# The response, which is made only once.
check_response <- function(value, texts, where) {
  response <- as_response(value)
  status <- as.character(response$status)
  if (!status %in% names(texts) || !is.null(response$stream)) return(response)
  problem <- response_problem(response, texts[[status]])
  if (is.null(problem)) return(response)
  stop_drover("response", sprintf("the response of %s does not fit `response`: %s", where, problem), call = NULL)
}

response_problem <- function(response, schema) {
  at <- header_at(response$headers, "content-type")
  type <- if (length(at)) response$headers[[at[[1L]]]] else "of no type"
  body <- response$body
  if (is.raw(body)) body <- rawToChar(body)
  if (grepl("^text/plain", type)) body <- dr_to_json(body %||% "", auto_unbox = TRUE)
  else if (!grepl("[/+]json", type)) return(paste("it is", type, "and not JSON"))
  .Call(C_schema_problem, schema, enc2utf8(body %||% ""))
}
