# Prompts: messages that people choose in their client, dr_mcp_prompt(). Neighbours: mcp-content.R; mcp-resources.R.

#' Make a prompt for language models
#'
#' Messages that a person picks in a client, often from a menu, and that are sent to the model, for [dr_mcp()].
#'
#' @param fun A function of the arguments, by name, as R has them. If it has an argument `req` that is not among them,
#'   it gets the [request]. It returns a string, which is a message of the user; [dr_mcp_content()], each piece of which
#'   is a message; or a list of these.
#' @param name The prompt's name: a single string of at most 64 letters, digits, `_`, `-` and `.`.
#' @param description What it is for: a single string.
#' @param arguments The arguments: a named list of schemas of strings, [dr_chr()], [dr_factor()] and the like, as
#'   clients send no other values. The values of `dr_factor()` are offered for completion.
#' @param title A name for people: a single string, or `NULL`.
#' @param complete Values for arguments, which clients may offer while people type: see [dr_mcp_resource()].
#' @returns A prompt: a list of class `dr_mcp_prompt`.
#' @section Errors: `drover_error_argument` when an argument is not as described, or `fun` cannot be called with these
#'   arguments.
#' @seealso [dr_mcp()], [dr_mcp_resource()], [dr_tool()]
#' @examples
#' dr_mcp_prompt(
#'   function(column) paste("Describe the distribution of", column, "in the data set mtcars."),
#'   "describe_column", "Describe a column of mtcars", list(column = dr_factor(names(mtcars)))
#' )
#' @export
dr_mcp_prompt <- function(fun, name, description, arguments = list(), title = NULL, complete = list()) {
  call <- sys.call()
  check_names()
  schema <- check_described(fun, name, description, arguments, title, call)
  fields <- schema$json$properties
  is_string_type <- vapply(fields, function(one) identical(one$type, "string"), NA)
  if (!identical(schema$json$type, "object") || !all(is_string_type)) {
    stop_argument("arguments", "a named list of schemas of strings, such as dr_chr()", arguments, call)
  }
  check_takes_arguments(fun, names(fields), call)
  check_completions(complete, names(fields), call)
  listed <- list(name = name)
  listed$title <- title
  listed$description <- description
  listed$arguments <- prompt_arguments(fields, unlist(schema$json$required))
  read <- reader_of(schema$r)
  called <- caller_of(fun, names(fields), gives_all(schema$r))
  run <- function(arguments, req) messages_response(called(read(arguments), req))
  choices <- Filter(Negate(is.null), lapply(fields, function(one) unlist(one$enum)))
  structure(
    list(
      name = name, description = description, run = run, complete = utils::modifyList(choices, complete),
      listed = plain_json(listed), checked = schema_text(schema)
    ),
    class = "dr_mcp_prompt"
  )
}

#' @export
format.dr_mcp_prompt <- function(x, ...) c(paste0("<dr_mcp_prompt> ", x$name), paste0("  ", x$description))

#' @export
print.dr_mcp_prompt <- function(x, ...) {
  writeLines(format(x))
  invisible(x)
}

prompt_arguments <- function(fields, required) {
  if (!length(fields)) return(NULL)
  unname(Map(function(json, name) {
    c(list(name = name), if (!is.null(json$description)) json["description"], list(required = name %in% required))
  }, fields, names(fields)))
}

# Messages as a response, whose body they are.
messages_response <- function(value) {
  dr_response(messages_text(value), headers = list("Content-Type" = "application/json"))
}

messages_text <- function(value) {
  several <- if (is.list(value) && !is.object(value) && is.null(names(value))) value else list(value)
  texts <- vapply(several, function(one) {
    content <- if (inherits(one, "dr_mcp_content")) one else dr_mcp_content(one)
    paste0("{\"role\":\"", attr(content, "role"), "\",\"content\":", attr(content, "pieces"), "}", collapse = ",")
  }, "")
  paste(texts, collapse = ",")
}

get_prompt <- function(offer, req, id, params, is_new) {
  asked <- rpc_target(offer$prompts, "prompt", params)
  if (is.character(asked)) return(rpc_error(id, "params", asked))
  prompt <- asked$one
  arguments <- asked$arguments
  problem <- .Call(C_schema_problem, prompt$checked, json_value(arguments))
  if (!is.null(problem)) return(rpc_error(id, "params", problem))
  response <- respond(function(req) prompt$run(arguments, req), req, NULL)
  if (has_failed(response)) return(rpc_failure(id, response))
  rpc_result(id, paste0(
    "{\"description\":", quoted_json(prompt$description), ",\"messages\":[", response$body, "]",
    if (is_new) offer$end else "}"
  ))
}
