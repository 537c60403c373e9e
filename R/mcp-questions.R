# Questions to the client of a call: what is asked, what a client must be able to for it, and how its answer is read.
# Not for how they are asked: mcp-ask.R.

#' Questions to the client of a call
#'
#' What a function of [dr_mcp()] asks by [dr_mcp_ask()]: `dr_mcp_form()` has a person fill in a form, `dr_mcp_url()`
#' sends a person to a page, `dr_mcp_sampling()` has the client's language model write something, and `dr_mcp_roots()`
#' asks for the folders that the client works in.
#'
#' Forms are seen by the client and its model: never ask for passwords, keys or credit cards by them. Send the person to
#' a page of yours instead.
#'
#' @param message What is asked, for people: a single string.
#' @param fields The fields of the form: a named list of schemas or prototypes, as for [dr_schema()], of single values,
#'   or of arrays of values of [dr_factor()]. Forms have no other fields, and none within fields.
#' @param url The address of the page: a single string that begins with `https://` or `http://`.
#' @param prompt What the model is to answer: what a prompt may return, see [dr_mcp_prompt()].
#' @param max_tokens The most tokens of the answer: a single whole number.
#' @param system What the model is told before: a single string, or `NULL`.
#' @returns A question: a list of class `dr_mcp_question`. What [dr_mcp_ask()] has as its answer:
#'   \describe{
#'     \item{`dr_mcp_form()`}{A list of the fields by name, as R has them: see [types]. They fit their schemas. `NULL`
#'       if the person declined, or closed the form.}
#'     \item{`dr_mcp_url()`}{Whether the person agreed to go there: `TRUE` or `FALSE`. Not whether anything was done
#'       there: that is what the page knows.}
#'     \item{`dr_mcp_sampling()`}{A list: `text`, the texts of the answer as a single string; `content`, all of it, a
#'       list of pieces as JSON has them; and `model`, the model's name.}
#'     \item{`dr_mcp_roots()`}{A data frame with the columns `uri` and `name`, a row for each folder.}
#'   }
#' @section Errors: `drover_error_argument` when an argument is not as described.
#' @seealso [dr_mcp_ask()]
#' @examples
#' dr_mcp_form("Which year do you mean?", list(year = dr_int(min = 1900, max = 2100)))
#' dr_mcp_url("https://example.org/connect", "Connect your account")
#' dr_mcp_sampling("Name a colour.", max_tokens = 10)
#' dr_mcp_roots()
#' @export
dr_mcp_form <- function(message, fields) {
  call <- sys.call()
  check_string(message, "message", call = call)
  schema <- as_schema(fields, "fields", call)
  asked <- schema$json$properties
  if (!identical(schema$json$type, "object") || !length(asked) || !all(vapply(asked, is_form_field, NA))) {
    stop_argument("fields", "a named list of schemas of single values, or of arrays of dr_factor()", fields, call)
  }
  text <- schema_text(schema)
  read_values <- reader_of(schema$r)
  read <- function(answer) {
    said <- read_action(answer)
    if (!said$accepts) return(said)
    content <- answer[["content"]]
    if (is.null(content)) content <- no_params
    problem <- if (!is_object(content)) {
      "`content` must be an object"
    } else {
      .Call(C_schema_problem, text, json_value(content))
    }
    if (is.null(problem)) list(value = read_values(content)) else list(problem = problem)
  }
  params <- list(mode = "form", message = message, requestedSchema = schema$json)
  new_question("elicitation/create", params, "form", read)
}

#' @rdname dr_mcp_form
#' @export
dr_mcp_url <- function(url, message) {
  call <- sys.call()
  check_string(url, "url", call = call)
  check_string(message, "message", call = call)
  if (!grepl("^https?://[^[:space:][:cntrl:]]+$", url)) {
    stop_argument("url", "an address that begins with https:// or http://", url, call)
  }
  read <- function(answer) {
    said <- read_action(answer)
    if (is.null(said$problem)) list(value = said$accepts) else said
  }
  new_question("elicitation/create", list(mode = "url", url = url, message = message), "url", read)
}

#' @rdname dr_mcp_form
#' @export
dr_mcp_sampling <- function(prompt, max_tokens = 1000, system = NULL) {
  call <- sys.call()
  check_string(system, "system", null = TRUE, call = call)
  if (!is_whole(max_tokens) || max_tokens < 1) {
    stop_argument("max_tokens", "a single whole number of at least 1", max_tokens, call)
  }
  messages <- dr_from_json(paste0("[", messages_text(prompt), "]"), simplify = FALSE)
  params <- list(messages = messages, maxTokens = max_tokens)
  params$systemPrompt <- system
  new_question("sampling/createMessage", params, "sampling", read_sampled)
}

#' @rdname dr_mcp_form
#' @export
dr_mcp_roots <- function() new_question("roots/list", no_params, "roots", read_roots)

# How clients can be asked: whether they have declared it, and how an error says that they have not. Without a mode,
# `elicitation` is that of forms.
MCP_ABILITIES <- list(
  form = list(
    is_there = function(can) {
      modes <- can[["elicitation"]]
      is.list(modes) && (!length(modes) || !is.null(modes[["form"]]))
    },
    needed = list(elicitation = list(form = no_members))
  ),
  url = list(
    is_there = function(can) is.list(can[["elicitation"]]) && !is.null(can[["elicitation"]][["url"]]),
    needed = list(elicitation = list(url = no_members))
  ),
  sampling = list(is_there = function(can) !is.null(can[["sampling"]]), needed = list(sampling = no_members)),
  roots = list(is_there = function(can) !is.null(can[["roots"]]), needed = list(roots = no_members))
)

# `needs`: the capability, see MCP_ABILITIES; `read`: a function of what the client answered, with a list of `value`, or
# of `problem`, what is wrong with it.
new_question <- function(method, params, needs, read) {
  asked <- plain_json(list(method = method, params = params))
  structure(list(method = method, asked = asked, needs = needs, read = read), class = "dr_mcp_question")
}

#' @export
format.dr_mcp_question <- function(x, ...) paste0("<dr_mcp_question> ", x$method)

#' @export
print.dr_mcp_question <- function(x, ...) {
  writeLines(format(x))
  invisible(x)
}

is_form_field <- function(json) {
  is_choice <- function(items) !is.null(items$enum) || !is.null(items$anyOf)
  type <- json$type
  if (!is_string(type)) return(FALSE)
  type %in% c("string", "number", "integer", "boolean") || (type == "array" && is_choice(json$items))
}

# What a person did with a question: list(accepts, value) or list(accepts, problem).
read_action <- function(answer) {
  action <- answer[["action"]]
  if (!is_string(action) || !action %in% c("accept", "decline", "cancel")) {
    return(list(accepts = FALSE, problem = "`action` must be \"accept\", \"decline\" or \"cancel\""))
  }
  list(accepts = action == "accept", value = NULL)
}

read_sampled <- function(answer) {
  content <- answer[["content"]]
  pieces <- if (is_object(content)) list(content) else content
  is_piece <- function(piece) is_object(piece) && is_string(piece[["type"]])
  if (!is.list(pieces) || !length(pieces) || !all(vapply(pieces, is_piece, NA))) {
    return(list(problem = "`content` must be a piece of content with a `type`, or an array of such"))
  }
  if (!is_string(answer[["model"]])) return(list(problem = "`model` must be a string"))
  texts <- unlist(lapply(pieces, function(piece) if (is_string(piece[["text"]])) piece[["text"]]))
  list(value = list(text = paste(texts, collapse = "\n"), content = pieces, model = answer[["model"]]))
}

read_roots <- function(answer) {
  roots <- answer[["roots"]]
  is_root <- function(root) is_object(root) && is_string(root[["uri"]])
  if (!is.list(roots) || is_object(roots) && length(roots) || !all(vapply(roots, is_root, NA))) {
    return(list(problem = "`roots` must be an array of objects with a `uri`"))
  }
  name_of <- function(root) if (is_string(root[["name"]])) root[["name"]] else NA_character_
  list(value = data.frame(uri = vapply(roots, `[[`, "", "uri"), name = vapply(roots, name_of, "")))
}
