# Resources: what clients of the Model Context Protocol read by a URI, dr_mcp_resource(). Neighbours: mcp-content.R;
# mcp-prompts.R.

#' Make a resource for language models
#'
#' What a client may read by a URI and give to its model, for [dr_mcp()]: a text, bytes, or what a function gives. A URI
#' with placeholders, such as `"cars://{name}/data"`, is a template of resources.
#'
#' @param uri The URI: a single string that begins with a scheme, such as `"report://2026"`. `{name}` stands for a
#'   segment, text without a slash.
#' @param content What is read: a string, a raw vector, or a function whose arguments are the placeholders, by name, as
#'   strings, percent-decoded. If it has an argument `req` that is none of them, it gets the [request]. It returns what
#'   a handler may return; `dr_abort(404)` says that there is no such resource.
#' @param name A name: a single string.
#' @param description What it is, for the model: a single string, or `NULL`.
#' @param title A name for people: a single string, or `NULL`.
#' @param mime_type The media type that lists say: a single string, or `NULL`. A string or raw vector is sent as that.
#' @param complete Values for placeholders, which clients may offer to people while they type: a named list of character
#'   vectors, or of functions of what was typed that return one.
#' @returns A resource: a list of class `dr_mcp_resource`.
#' @section Errors: `drover_error_argument` when an argument is not as described, or the function cannot be called with
#'   the placeholders.
#' @seealso [dr_mcp()], [dr_mcp_prompt()], [dr_tool()]
#' @examples
#' dr_mcp_resource("text://motto", "Slow and steady", "motto")
#' dr_mcp_resource("cars://{name}", function(name) {
#'   if (!name %in% rownames(mtcars)) dr_abort(404, "no such car")
#'   as.list(mtcars[name, ])
#' }, "car", "A car of 1974", complete = list(name = rownames(mtcars)))
#' @export
dr_mcp_resource <- function(uri, content, name, description = NULL, title = NULL, mime_type = NULL,
                            complete = list()) {
  call <- sys.call()
  check_names()
  parsed <- parse_uri_template(uri, call)
  for (arg in c("name", "description", "title", "mime_type")) {
    check_string(get(arg), arg, null = arg != "name", call = call)
  }
  if (is.function(content)) {
    check_takes_arguments(content, parsed$names, call)
  } else if (length(parsed$names)) {
    stop_argument("content", "a function of the placeholders", content, call)
  } else if (!is_string(content) && !is.raw(content)) {
    stop_argument("content", "a single string, a raw vector or a function", content, call)
  }
  check_completions(complete, parsed$names, call)
  listed <- list(name = name)
  listed[[if (length(parsed$names)) "uriTemplate" else "uri"]] <- uri
  listed$title <- title
  listed$description <- description
  listed$mimeType <- mime_type
  run <- if (is.function(content)) {
    caller_of(content, parsed$names, TRUE)
  } else {
    function(values, req) {
      if (is.null(mime_type)) content else dr_response(content, headers = list("Content-Type" = mime_type))
    }
  }
  structure(
    list(
      uri = uri, name = name, pattern = parsed$pattern, placeholders = parsed$names, run = run, complete = complete,
      listed = plain_json(listed)
    ),
    class = "dr_mcp_resource"
  )
}

#' @export
format.dr_mcp_resource <- function(x, ...) paste0("<dr_mcp_resource> ", x$name, ": ", x$uri)

#' @export
print.dr_mcp_resource <- function(x, ...) {
  writeLines(format(x))
  invisible(x)
}

# The names of the placeholders, and a regular expression of which each is a group.
parse_uri_template <- function(uri, call) {
  check_string(uri, "uri", call = call)
  right <- "a URI with a scheme, whose placeholders are {names} of letters, digits and \"_\", each once"
  slot <- "[{][A-Za-z][A-Za-z0-9_]*[}]"
  names <- gsub("[{}]", "", regmatches(uri, gregexpr(slot, uri))[[1L]])
  bare <- gsub(slot, "", uri)
  if (!grepl("^[A-Za-z][A-Za-z0-9+.-]*:[^[:space:][:cntrl:]{}]*$", bare) || anyDuplicated(names)) {
    stop_argument("uri", right, uri, call)
  }
  literal <- gsub("([[:punct:]])", "\\\\\\1", regmatches(uri, gregexpr(slot, uri), invert = TRUE)[[1L]])
  pattern <- paste(literal, collapse = "([^/]+)")
  list(names = names, pattern = paste0("^", pattern, "$"))
}

check_completions <- function(complete, names, call) {
  is_right <- is.list(complete) && all(vapply(complete, function(one) is.character(one) || is.function(one), NA))
  if (!is_right || length(setdiff(names(complete) %||% character(length(complete)), names))) {
    right <- paste0(
      "a list of character vectors or functions, named by what there is to complete: ",
      if (length(names)) and_list(names) else "nothing"
    )
    stop_argument("complete", right, complete, call)
  }
}

read_resource <- function(offer, req, id, params, is_new) {
  uri <- params[["uri"]]
  if (!is_string(uri)) return(rpc_error(id, "params", "`params.uri` must be the URI of a resource"))
  found <- find_resource(offer, uri)
  if (is.null(found)) return(no_resource(id, uri, is_new))
  response <- respond(function(req) found$resource$run(found$values, req), req, NULL)
  if (is_response(response) && response$status == 404L) return(no_resource(id, uri, is_new))
  if (has_failed(response)) return(rpc_failure(id, response))
  body <- response$body
  content <- resource_content(uri, if (is.null(body)) "" else body, content_type_of(response))
  rpc_result(id, paste0("{\"contents\":[", plain_json(content), "]", if (is_new) offer$kept_end else "}"))
}

no_resource <- function(id, uri, is_new) {
  rpc_error(id, if (is_new) "params" else "resource", "there is no such resource", list(uri = uri))
}

# The resource of a URI, with the values of its placeholders; one without any goes first. NULL when there is none.
find_resource <- function(offer, uri) {
  plain <- offer$resources[[uri]]
  if (!is.null(plain)) return(list(resource = plain, values = list()))
  for (one in offer$templates) {
    values <- regmatches(uri, regexec(one$pattern, uri, perl = TRUE))[[1L]][-1L]
    if (!length(values) || !all(vapply(values, is_decodable, NA))) next
    values <- lapply(values, function(value) utf8_text(utils::URLdecode(value)))
    return(list(resource = one, values = with_names(values, one$placeholders)))
  }
}

# Whether all percent signs begin an escape, of no NUL, and what they stand for is UTF-8.
is_decodable <- function(text) {
  if (grepl("%(?![0-9A-Fa-f]{2})|%00", text, perl = TRUE)) return(FALSE)
  validUTF8(utils::URLdecode(text))
}
