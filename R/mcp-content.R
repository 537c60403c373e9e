# Content for language models, made of what handlers return: dr_mcp_content(), and the pieces of results, messages and
# resources. Neighbours: mcp-tools.R, mcp-resources.R, mcp-prompts.R.

#' Content of several pieces for a language model
#'
#' What a tool ([dr_tool()]) or a prompt ([dr_mcp_prompt()]) returns that is more than a text or a picture: several
#' pieces, and resources that are sent along.
#'
#' @param ... Pieces: strings, [dr_png()] and other responses, lists and data frames (which arrive as JSON). One with a
#'   name is an embedded resource, and the name is its URI.
#' @param role Whose words they are, in a prompt: `"user"` or `"assistant"`.
#' @returns A response of class `dr_mcp_content` with the pieces as JSON.
#' @section Errors: `drover_error_argument` when `role` is neither of the two, there is no piece, or one cannot be sent:
#'   a stream, a promise, or a response with a status of 400 and above.
#' @seealso [dr_tool()], [dr_mcp_prompt()]
#' @examples
#' dr_mcp_content("The first cars:", "data://cars/head" = head(cars, 2))
#' @export
dr_mcp_content <- function(..., role = "user") {
  call <- sys.call()
  if (!is_string(role) || !role %in% c("user", "assistant")) {
    stop_argument("role", "\"user\" or \"assistant\"", role, call)
  }
  given <- list(...)
  if (!length(given)) stop_drover("argument", "`...` must have a piece of content", call = call, argument = "...")
  uris <- names(given) %||% character(length(given))
  pieces <- Map(function(value, uri) plain_json(content_piece(value, uri, call)), given, uris)
  response <- dr_json(list())
  response$body <- paste0("{\"content\":[", paste(pieces, collapse = ","), "]}")
  attr(response, "pieces") <- unlist(pieces, use.names = FALSE)
  attr(response, "role") <- role
  class(response) <- c("dr_mcp_content", "dr_response")
  response
}

pieces_text <- function(content) paste(attr(content, "pieces"), collapse = ",")

# One value as a piece; with a URI as a resource.
content_piece <- function(value, uri, call) {
  response <- as_response(value)
  if (has_failed(response)) {
    stop_argument("...", "pieces of content: strings, pictures, lists, responses that are no errors", value, call)
  }
  body <- response$body
  if (is.null(body)) body <- ""
  type <- content_type_of(response)
  if (nzchar(uri)) return(list(type = "resource", resource = resource_content(uri, body, type)))
  if (is_json_type(type)) return(list(type = "text", text = utf8_text(body)))
  content_of(body, type)
}

# What a resource has, by its URI: text, or bytes as base64.
resource_content <- function(uri, body, type) {
  is_text <- startsWith(type, "text/") || is_json_type(type)
  c(
    list(uri = uri, mimeType = type),
    if (is_text) list(text = utf8_text(body)) else list(blob = base64_text(body))
  )
}

content_type_of <- function(response) {
  headers <- response$headers
  media_type(unlist(headers[header_at(headers, "content-type")])) %||% "application/octet-stream"
}

base64_text <- function(body) gsub("\n", "", jsonlite::base64_enc(as_raw(body)), fixed = TRUE)

# One piece of content, of bytes and their media type.
content_of <- function(body, type) {
  kind <- sub("/.*$", "", type)
  if (kind == "text") return(list(type = "text", text = utf8_text(body)))
  data <- base64_text(body)
  if (kind %in% c("image", "audio")) return(list(type = kind, data = data, mimeType = type))
  # a URI that names nothing to be had elsewhere; validators want more than a scheme
  list(type = "resource", resource = list(uri = "result:content", mimeType = type, blob = data))
}
