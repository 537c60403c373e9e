# Tools that language models call: dr_tool(), those of the package 'ellmer', what their calls give. Not for routes that
# are offered as tools (mcp-routes.R) nor for messages (mcp-methods.R).

#' Make a tool for language models
#'
#' A function with what a model has to know to call it, for [dr_mcp()].
#'
#' @param fun A function. Its arguments are those in `arguments`, by name, as R has them: see [types]. If it has an
#'   argument `req` that is not among them, it gets the [request]. What it returns is the result, as with handlers.
#' @param name The tool's name: a single string of at most 64 letters, digits, `_`, `-` and `.`.
#' @param description What the tool does, when to use it and what it returns, for the model: a single string.
#' @param arguments The arguments: a named list of schemas or prototypes, as for [dr_schema()], or the schema of an
#'   object.
#' @param title A name for people: a single string, or `NULL`.
#' @param result The schema of what it returns, an object; or `NULL`.
#' @param read_only,destructive,idempotent,open_world Hints for the client, which may ask its user before calls of tools
#'   that change something: whether it changes nothing, whether what it changes may be lost, whether a second call with
#'   the same arguments changes nothing more, and whether it deals with the world outside: `TRUE`, `FALSE`, or `NULL`
#'   for nothing said.
#' @param task Whether calls may last so long that a client had better not wait: `TRUE`, `FALSE`, or a list, see the
#'   section on tasks.
#' @section Tasks: With `task = TRUE` a client that declares the extension `io.modelcontextprotocol/tasks` is answered
#'   at once, with a task, and asks for it later. The function runs as a job does, see [dr_job()]: when a worker can be
#'   spared, again if its worker dies, and with `jobs_store` of [dr_serve()] also after the server has ended. Other
#'   clients wait for the answer. As a list, `task` sets more: `timeout`, `keep`, `at_once` and `priority` as of
#'   [dr_job()]; `required = TRUE` refuses clients that do not know tasks; with `from_start = FALSE` calls begin as
#'   others do, and become tasks where the function calls [dr_mcp_task()].
#' @returns A tool: a list of class `dr_tool`.
#' @section Errors: `drover_error_argument` when an argument is not as described, or `fun` cannot be called with these
#'   arguments.
#' @seealso [dr_mcp()], [dr_progress()]
#' @examples
#' dr_tool(
#'   function(speed) unname(predict(lm(dist ~ speed, cars), list(speed = speed))),
#'   "stopping_distance", "The stopping distance in feet of a car from 1920, by its speed in mph",
#'   list(speed = dr_dbl(min = 0, max = 100)), read_only = TRUE
#' )
#' @export
dr_tool <- function(fun, name, description, arguments = list(), title = NULL, result = NULL, read_only = NULL,
                    destructive = NULL, idempotent = NULL, open_world = NULL, task = FALSE) {
  call <- sys.call()
  check_names()
  schema <- check_described(fun, name, description, arguments, title, call)
  if (!identical(schema$json$type, "object")) {
    stop_argument("arguments", "a named list of schemas, or the schema of an object", arguments, call)
  }
  check_takes_arguments(fun, names(schema$json$properties), call)
  if (!is.null(result)) result <- as_schema(result, "result", call)
  hints <- list(readOnlyHint = read_only, destructiveHint = destructive, idempotentHint = idempotent,
    openWorldHint = open_world)
  for (i in seq_along(hints)) {
    arg <- c("read_only", "destructive", "idempotent", "open_world")[[i]]
    if (!is.null(hints[[i]])) check_flag(hints[[i]], arg)
  }
  read <- reader_of(schema$r)
  called <- caller_of(fun, names(schema$json$properties), gives_all(schema$r))
  run <- function(arguments, req) called(read(arguments), req)
  tool <- new_tool(name, description, schema, run, title, result, Filter(Negate(is.null), hints))
  tool$task <- tool_task(task, call)
  tool
}

# What `task` may set of a job.
MCP_TASK_SETTINGS <- c("timeout", "keep", "at_once", "priority")

# NULL for a tool without tasks; else list(required, from_start, job), of which `job` has the settings of its jobs.
tool_task <- function(task, call) {
  if (isFALSE(task)) return(NULL)
  if (isTRUE(task)) task <- no_members
  known <- c("required", "from_start", MCP_TASK_SETTINGS)
  if (!is_object(task) || !all(names(task) %in% known) || anyDuplicated(names(task))) {
    stop_argument("task", paste("TRUE, FALSE, or a list of", and_list(known)), task, call)
  }
  flag <- function(name, usual) {
    value <- task[[name]]
    if (is.null(value)) return(usual)
    if (!isTRUE(value) && !isFALSE(value)) stop_argument(paste0("task$", name), "TRUE or FALSE", value, call)
    value
  }
  list(
    required = flag("required", FALSE), from_start = flag("from_start", TRUE),
    job = task[intersect(MCP_TASK_SETTINGS, names(task))]
  )
}

# What tools and prompts have in common. Value: the schema of the arguments.
check_described <- function(fun, name, description, arguments, title, call) {
  check_function(fun, "fun", call = call)
  check_tool_name(name, "name", call)
  check_string(description, "description", call = call)
  check_string(title, "title", null = TRUE, call = call)
  if (length(arguments)) as_schema(arguments, "arguments", call) else dr_object()
}

# A function of values, by these names, and of the request, which `fun` gets if it has an argument for it. None of the
# values is a call or a symbol, which would be evaluated.
# `all_there`: whether there are always values for all names.
caller_of <- function(fun, names, all_there) {
  takes_request <- "req" %in% setdiff(names(formals(args(fun))), names)
  if (!all_there) return(function(values, req) do.call(fun, c(values, if (takes_request) list(req = req))))
  called <- call_of_values(quote(fun), names)
  if (takes_request) called$req <- quote(req)
  eval(call("function", as.pairlist(alist(values = , req = )), called)) # nolint
}

# The one of `known` that is asked for by its name: list(one, arguments), or a string, what is wrong.
rpc_target <- function(known, what, params) {
  name <- params[["name"]]
  if (!is_string(name)) return(paste("`params.name` must be the name of a", what))
  one <- known[[name]]
  if (is.null(one)) return(paste0("there is no ", what, " ", encodeString(substr(name, 1L, 60L))))
  arguments <- params[["arguments"]]
  if (is.null(arguments)) arguments <- no_params
  if (!is_object(arguments)) return("`params.arguments` must be an object")
  list(one = one, arguments = arguments)
}

check_tool_name <- function(name, arg, call) {
  check_string(name, arg, call = call)
  if (!grepl("^[A-Za-z0-9_.-]{1,64}$", name)) {
    stop_argument(arg, "a string of at most 64 letters, digits, \"_\", \"-\" and \".\"", name, call)
  }
}

# A function must have an argument for each, and no other that has to be given.
check_takes_arguments <- function(fun, names, call) {
  declared <- names(formals(args(fun)))
  if (!"..." %in% declared) {
    foreign <- setdiff(names, declared)
    if (length(foreign)) {
      problem <- sprintf("`fun` has no argument %s, which is in `arguments`", foreign[[1L]])
      stop_drover("argument", problem, call = call, argument = "fun")
    }
  }
  unmet <- setdiff(arity(fun)$required, c(names, "req"))
  if (length(unmet)) {
    problem <- sprintf("`fun` needs an argument %s, which is not in `arguments`", unmet[[1L]])
    stop_drover("argument", problem, call = call, argument = "arguments")
  }
}

# `run`: a function(arguments, req), of the arguments as JSON was read. `listed`: what tools/list says of it; `checked`:
# the schema of its arguments, as text.
new_tool <- function(name, description, schema, run, title = NULL, result = NULL, hints = list(), on_error = NULL) {
  listed <- list(name = name)
  listed$title <- title
  listed$description <- description
  listed$inputSchema <- schema$json
  # other versions have no results that are no objects
  if (identical(result$json$type, "object")) listed$outputSchema <- result$json
  if (length(hints)) listed$annotations <- hints
  structure(
    list(name = name, run = run, on_error = on_error, listed = plain_json(listed), checked = schema_text(schema)),
    class = "dr_tool"
  )
}

#' @export
format.dr_tool <- function(x, ...) {
  listed <- dr_from_json(x$listed, simplify = FALSE)
  fields <- names(listed$inputSchema$properties)
  c(paste0("<dr_tool> ", x$name, "(", paste(fields, collapse = ", "), ")"), paste0("  ", listed$description))
}

#' @export
print.dr_tool <- function(x, ...) {
  writeLines(format(x))
  invisible(x)
}

as_tool <- function(x, call) {
  if (inherits(x, "dr_tool")) return(x)
  if (is_ellmer_tool(x)) return(tool_of_ellmer(x, call))
  stop_argument("tools", "a list of tools, see dr_tool()", x, call)
}

# Those are objects of S7, whose properties are attributes.
is_ellmer_tool <- function(x) is.function(x) && inherits(x, "ellmer::ToolDef")

tool_of_ellmer <- function(x, call) {
  name <- attr(x, "name")
  check_tool_name(name, "tools", call)
  schema <- as_schema(ellmer_schema(attr(x, "arguments")), "tools", call)
  # it has plain values of JSON, as 'ellmer' calls it
  run <- function(arguments, req) do.call(x, dr_from_json(json_value(arguments)), quote = TRUE)
  hints <- attr(x, "annotations")
  known <- c(
    read_only_hint = "readOnlyHint", destructive_hint = "destructiveHint", idempotent_hint = "idempotentHint",
    open_world_hint = "openWorldHint"
  )
  hints <- hints[intersect(names(hints), names(known))]
  names(hints) <- known[names(hints)]
  new_tool(name, attr(x, "description"), schema, run, attr(x, "annotations")$title, hints = hints)
}

# JSON Schema, as a list, of a type of 'ellmer'.
ellmer_schema <- function(type) {
  kind <- sub("^ellmer::", "", class(type)[[1L]])
  schema <- switch(kind,
    TypeBasic = list(type = attr(type, "type")),
    TypeEnum = list(type = "string", enum = as.list(attr(type, "values"))),
    TypeArray = list(type = "array", items = ellmer_schema(attr(type, "items"))),
    TypeObject = ellmer_object(type),
    TypeJsonSchema = attr(type, "json"),
    stop_load("a tool has an argument of the type ", encodeString(kind), " of 'ellmer', which is not known")
  )
  description <- attr(type, "description")
  if (is_string(description) && nzchar(description)) schema$description <- description
  schema
}

ellmer_object <- function(type) {
  properties <- attr(type, "properties")
  properties <- Filter(function(one) !inherits(one, "ellmer::TypeIgnore"), properties)
  required <- names(properties)[vapply(properties, function(one) isTRUE(attr(one, "required")), NA)]
  list(
    type = "object", properties = if (length(properties)) lapply(properties, ellmer_schema) else no_params,
    required = as.list(required), additionalProperties = isTRUE(attr(type, "additional_properties"))
  )
}

# The answer to a call. `may_fail`: whether an error of the tool is one of the request's handler, which failed_tool()
# makes an answer of. That is quicker than to catch each, and as good where nothing is around the handler.
call_tool <- function(tool, offer, req, message, is_new, may_fail) {
  if (may_fail) {
    calling$tool <- environment()
    response <- as_response(run_tool(tool, message, req))
    calling$tool <- NULL
  } else {
    response <- respond(function(req) run_tool(tool, message, req), req, tool$on_error, catches = TRUE)
  }
  answer_of_tool(offer, message$id, is_new, response)
}

run_tool <- function(tool, message, req) {
  # its arguments are not what its schema says: told to the model, as an error of the tool
  if (!is.null(message$problem)) dr_abort(422L, message$problem)
  arguments <- message$params[["arguments"]]
  tool$run(if (is.null(arguments)) no_params else arguments, req)
}

answer_of_tool <- function(offer, id, is_new, response) {
  end <- if (is_new) offer$end else "}"
  # most tools give a text or JSON
  text <- .Call(C_mcp_answer, id, response, is_new, end)
  if (is.null(text)) rpc_result(id, paste0(tool_result(response, is_new), end)) else list(text = text)
}

# The tool that has failed as its request, for failure_response(); NULL when another part of the endpoint has.
failed_tool <- function() {
  frame <- calling$tool
  calling$tool <- NULL
  if (is.null(frame)) return(NULL)
  finish <- function(response) {
    rpc_response(answer_of_tool(frame$offer, frame$message$id, frame$is_new, response))
  }
  list(on_error = frame$tool$on_error, finish = finish)
}

# The result of a call as text of JSON, but for the brace at its end: of the response that its function has given, or
# its error.
tool_result <- function(response, is_new) {
  if (!is_response(response)) return(error_result("the tool gave a promise: it must give its result"))
  if (inherits(response, "dr_stream")) return(error_result("the tool gave a stream, which a call cannot have"))
  failed <- response$status >= 400L
  if (inherits(response, "dr_mcp_content")) return(paste0("{\"content\":[", pieces_text(response), "]"))
  if (inherits(response, "dr_problem")) {
    said <- if (nzchar(response$body)) response$body else status_phrase(response$status)
    return(error_result(said))
  }
  body <- response$body
  type <- content_type_of(response)
  failure <- if (failed) ",\"isError\":true"
  if (is_json_type(type)) {
    text <- utf8_text(body)
    # before 2026 structured content was an object
    is_structured <- is_new || startsWith(trimws(text), "{")
    return(paste0(
      "{\"content\":[{\"type\":\"text\",\"text\":", quoted_json(text), "}]", failure,
      if (is_structured) paste0(",\"structuredContent\":", text)
    ))
  }
  if (is.null(body)) return(paste0("{\"content\":[]", failure))
  if (startsWith(type, "text/")) return(paste0(text_content(utf8_text(body)), failure))
  paste0("{\"content\":[", plain_json(content_of(body, type)), "]", failure)
}

error_result <- function(said) paste0(text_content(said), ",\"isError\":true")

text_content <- function(text) paste0("{\"content\":[{\"type\":\"text\",\"text\":", quoted_json(text), "}]")

json_value <- function(value) as.character(dr_to_json(value, auto_unbox = TRUE, null = "null"))
