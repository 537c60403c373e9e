# The Model Context Protocol over HTTP: dr_mcp(), and how a message comes in and its answer goes out (JSON-RPC in a POST
# of Streamable HTTP). Not for what messages mean: mcp-methods.R. Neighbours: mcp-answers.R, progress.R.
# https://modelcontextprotocol.io/specification

#' Offer an app's functions to language models
#'
#' Programs that run language models (assistants, editors, agents) call tools by the Model Context Protocol (MCP).
#' `dr_mcp()` adds an endpoint to an app that offers such tools: functions made by [dr_tool()], tools of the package
#' 'ellmer', and the app's own routes that say what they are for.
#'
#' The endpoint speaks Streamable HTTP of the versions 2026-07-28, 2025-11-25, 2025-06-18 and 2025-03-26. Any worker
#' process can answer any request. Calls run in the workers as requests do, with their limits, timeouts and log lines;
#' when a model's client gives up and closes the connection, `on_client_gone` decides what becomes of the call. A client
#' that asks for it is told of the progress that [dr_progress()] reports, and of what [dr_mcp_log()] says. Functions may
#' ask the client by [dr_mcp_ask()].
#'
#' Clients on the same machine may start the app themselves, by `drover mcp FILE`, and talk to it by standard input and
#' output. Authentication does not apply there unless the client has credentials, and calls that are given up are
#' interrupted.
#'
#' Arguments are checked against the tool's schema before the function is called. What is wrong with them, and what
#' [dr_abort()] says, is told to the model, which may try again; of any other error it learns only that there was one.
#'
#' What a tool returns is what a handler may return. Text stays text; JSON is given as text and as structured content;
#' images ([dr_png()]) and sound are given as such, and other bytes as an embedded resource.
#'
#' @section Routes as tools: A route becomes a tool when it has a `summary` or a `description`, without which a model
#'   could not know what it is for. Its name is its `operation_id`, or is made of method and path: `get_users_id`. Its
#'   arguments are the route's parameters and, if the body is an object, the fields of the body. Calls of it pass the
#'   middleware of the app as a request to the route would.
#'
#'   Policies are decided by the path that a client asks for, which is that of the endpoint: limits, the cache and the
#'   rest of the route's own policies do not count for a call of the tool. A route behind [dr_auth_basic()] or its like
#'   that does not cover the endpoint, too, would be open: it is an error.
#'
#' @section Access control: Pages of other sites may not call tools: as with [dr_csrf()], requests of browsers must come
#'   from the same site or from `trusted`; those of a browser on the same machine from a page of this machine or from
#'   `trusted`, as a name of another site may lead here. Put [dr_auth_bearer()] or [dr_auth_jwt()] in front of the
#'   endpoint (`routes = "/mcp"`) unless every client that reaches the server may call the tools; `req$auth` identifies
#'   the client.
#'
#' @param app An app, see [dr_app()].
#' @param path The path of the endpoint: a single string.
#' @param tools Tools: a list of what [dr_tool()] or `ellmer::tool()` gives.
#' @param routes Which routes of the app, and of what is mounted in it, become tools: `TRUE` for all that have a
#'   `summary` or a `description`, `FALSE` for none, or paths below which they are: a character vector.
#' @param name,version How the server calls itself: single strings.
#' @param instructions What a model should know before it uses the tools: a single string, or `NULL`.
#' @param resources Resources that clients may read: a list of what [dr_mcp_resource()] gives.
#' @param prompts Prompts that people may choose: a list of what [dr_mcp_prompt()] gives.
#' @param trusted Origins whose pages may call the tools, as in [dr_csrf()].
#' @inheritParams routes
#' @returns `app`, invisibly; it is changed in place.
#' @section Errors: `drover_error_argument` when an argument is not as described, or two resources or prompts have the
#'   same name; when the app is served, also when two tools have the same name, or a route that becomes a tool is behind
#'   authentication that does not cover the endpoint.
#' @seealso [dr_tool()], [dr_mcp_resource()], [dr_mcp_prompt()], [dr_mcp_ask()], [dr_progress()]
#' @examples
#' app <- dr_app()
#' dr_get(app, "/cars/<speed:dbl>", function(req) {
#'   list(distance = unname(predict(lm(dist ~ speed, cars), list(speed = req$params$speed))))
#' }, summary = "The stopping distance in feet of a car from 1920, by its speed in mph")
#'
#' roll <- dr_tool(function(sides) sample(sides, 1), "roll", "Roll a die", list(sides = dr_int(min = 2)))
#' dr_mcp(app, "/mcp", tools = list(roll))
#'
#' client <- dr_test(app)
#' call <- list(jsonrpc = "2.0", id = 1, method = "tools/list")
#' client$post("/mcp", json = call)$json$result$tools$name
#' client$stop()
#' @export
dr_mcp <- function(app, path = "/mcp", tools = list(), routes = TRUE, name = "drover",
                   version = as.character(getNamespaceVersion("drover")), instructions = NULL,
                   trusted = character(), timeout = NULL, on_client_gone = NULL, resources = list(),
                   prompts = list()) {
  check_registrar(app)
  call <- sys.call()
  # a tool is a list itself
  if (inherits(tools, "dr_tool") || is_ellmer_tool(tools)) tools <- list(tools)
  if (!is.list(tools)) stop_argument("tools", "a list of tools, see dr_tool()", tools, call)
  check_tool_routes(routes, call)
  check_string(name, "name")
  check_string(version, "version")
  check_string(instructions, "instructions", null = TRUE)
  parsed <- parse_path(path, call)
  if (length(parsed$names)) stop_argument("path", "a path without placeholders", path, call)
  offer <- new.env(parent = emptyenv())
  offer$own <- lapply(tools, as_tool, call = call)
  offer$routes <- routes
  resources <- by_names(resources, "dr_mcp_resource", "resources", "uri", call)
  is_template <- lengths(lapply(resources, `[[`, "placeholders")) > 0L
  offer$resources <- resources[!is_template]
  offer$templates <- resources[is_template]
  offer$prompts <- by_names(prompts, "dr_mcp_prompt", "prompts", "name", call)
  offer$path <- path
  offer$server <- list(name = name, version = version)
  offer$instructions <- instructions
  more <- list(timeout = timeout, on_client_gone = on_client_gone, deprecated = FALSE)
  add_route(app, "POST", path, function(req) answer_mcp(offer, req), more, call, NULL)
  add_route(app, "GET", path, function(req) answer_get(offer, req), more, call, NULL)
  add_tasks(app, offer, answer_message)
  # what it can offer is known when all routes are
  app$routes[[paste("POST", path)]][c("offer", "on_error")] <- list(offer, structure(list(), part = failed_tool))
  offer$trusted <- trusted <- check_origin_list(trusted, "trusted", call, any = FALSE)
  add_policy(app, list(csrf = list(trusted = trusted)), path, call)
}

# What dr_mcp_resource() or dr_mcp_prompt() has made, by the field `key`, which must not be there twice.
by_names <- function(given, class, arg, key, call) {
  if (inherits(given, class)) given <- list(given)
  if (!is.list(given) || !all(vapply(given, inherits, NA, class))) {
    stop_argument(arg, paste0("a list of ", arg, ", see ", class, "()"), given, call)
  }
  names(given) <- vapply(given, `[[`, "", key)
  twice <- names(given)[duplicated(names(given))]
  if (length(twice)) {
    problem <- sprintf("`%s` has two with the %s %s", arg, if (key == "uri") "URI" else key, twice[[1L]])
    stop_drover("argument", problem, call = call, argument = arg)
  }
  given
}

# The response to a POST: to one message, or in version 2025-03-26 to an array of them.
answer_mcp <- function(offer, req) {
  calling$tool <- NULL
  post <- .Call(C_mcp_receive, req, offer$checked, MCP_ALL_VERSIONS)
  if (is.character(post)) post <- list(code = "parse", said = post)
  refuse_rebound(offer, req, post$origin)
  if (!is.null(post$code)) return(refuse_post(post))
  message <- post$message
  if (post$several) return(answer_batch(offer, req, message))
  is_new <- post$is_new
  if (!isTRUE(message$asks)) {
    # a notification, or an answer to a question
    wrong <- if (!is.null(message$reply) && !is_new) take_reply(offer, req, message$reply)
    return(if (is.null(wrong)) dr_response("", 202L) else rpc_response(wrong, 400L))
  }
  answer <- NULL
  if (post$listens) {
    answer <- if (is_new) wrong_level(message)
    if (is.null(answer) && !is.null(message$events) && wants_stream(message, req, is_new)) {
      return(stream_answer(offer, req, message, is_new))
    }
  }
  if (is.null(answer)) answer <- answer_message(offer, req, message, is_new, offer$is_bare)
  if (!is.null(answer$questions)) return(stream_answer(offer, req, message, is_new, answer))
  if (!is.null(answer$stream)) return(answer$stream)
  response <- rpc_response(answer, if (is_new && !is.null(answer$code)) rpc_status(answer$code) else 200L)
  if (message$method != "initialize" || !is.null(answer$code)) return(response)
  dr_set_header(response, "Mcp-Session-Id", new_session(offer, req, message$params))
}

# The response to a POST that has no message which could be answered, or whose fields say something else.
refuse_post <- function(post) {
  if (post$code == "type") dr_abort(415L, post$said)
  data <- if (post$code == "version") list(supported = as.list(MCP_ALL_VERSIONS), requested = post$version)
  rpc_response(rpc_error(post$id, post$code, post$said, data), 400L)
}

refuse_rebound <- function(offer, req, origin) {
  if (!is.null(origin) && is_rebound(origin, req, offer$trusted)) {
    dr_abort(403L, "a page of another site may not call tools of this machine: see `trusted` of dr_mcp()")
  }
}

# The response to a GET, by which older clients have the stream of their session.
answer_get <- function(offer, req) {
  refuse_rebound(offer, req, req$headers[["origin"]])
  follow_session(offer, req)
}

# Whether a browser on this machine sends this for a page whose host name was made to lead here (DNS rebinding): to the
# browser, and to the policy, page and endpoint are of the same origin then.
is_rebound <- function(origin, req, trusted) {
  is_local <- grepl("^(127[.]|::1$)", req$remote_addr)
  is_local && !grepl("^https?://(localhost|127[.][0-9.]+|\\[::1\\])(:[0-9]+)?$", origin, ignore.case = TRUE) &&
    !any(vapply(utils::glob2rx(trusted), grepl, NA, x = origin, ignore.case = TRUE))
}

answer_batch <- function(offer, req, messages) {
  answers <- lapply(messages, function(message) {
    if (!is.null(message$refusal)) return(rpc_error(message$id, "request", message$refusal))
    if (message$asks) answer_message(offer, req, message, FALSE)
  })
  answers <- Filter(Negate(is.null), answers)
  if (!length(answers)) return(dr_response("", 202L))
  texts <- vapply(answers, `[[`, "", "text")
  rpc_response(list(text = paste0("[", paste(texts, collapse = ","), "]")))
}

# The error of a message that asks for log messages of a level that there is not; NULL otherwise.
wrong_level <- function(message) {
  level <- wanted_level(message)
  if (is.null(level) || (is_string(level) && level %in% MCP_LEVELS)) return(NULL)
  said <- paste0("the log level in `params._meta` must be one of ", paste(MCP_LEVELS, collapse = ", "))
  rpc_error(message$id, "params", said)
}

# The HTTP status that the newer versions give to an error.
rpc_status <- function(code) switch(code, internal = 200L, method = 404L, 400L)

# A call whose client wants to hear of it while it lasts gets a stream: what dr_progress() and dr_mcp_log() say, then
# the answer.
wants_stream <- function(message, req, is_new) {
  switch(message$method,
    "tools/call" = !is.null(progress_token(message)) || !is.null(level_for(message, req, is_new)),
    "prompts/get" = , "resources/read" = !is.null(level_for(message, req, is_new)), FALSE
  )
}

# NULL for none.
progress_token <- function(message) {
  meta <- message$params[["_meta"]]
  token <- if (is_object(meta)) meta[["progressToken"]]
  if (is_id(token)) token
}

is_id <- function(id) is_string(id) || (is.numeric(id) && length(id) == 1L && is.finite(id) && id == round(id))

# `asked`: what the first run has asked for, of a call that has a stream for its questions only.
stream_answer <- function(offer, req, message, is_new, asked = NULL) {
  token <- progress_token(message)
  is_over <- FALSE
  look <- NULL
  place <- new_place()
  run <- function(out) {
    send <- function(method, params) {
      out$event(plain_json(list(jsonrpc = "2.0", method = method, params = params)), event = "message")
    }
    say <- if (!is.null(token)) function(done, total, text) {
      params <- list(progressToken = token, progress = done)
      params$total <- total
      params$message <- text
      send("notifications/progress", params)
    }
    logging_to(send, level_for(message, req, is_new), {
      reporting_progress(say, answer_message(offer, req, message, is_new))
    })
  }
  # called until it is over: once, unless the client is asked
  write <- function(out) {
    answer <- if (!is.null(asked)) {
      asked
    } else if (is.null(look)) {
      run(out)
    } else {
      found <- look(out)
      if (is.null(found)) return()
      message$answers[names(found$answers)] <<- found$answers
      if (is.null(found$problem)) run(out) else rpc_error(message$id, "params", found$problem)
    }
    asked <<- NULL
    if (!is.null(answer$questions) && !place$take()) answer <- too_many_wait(message$id)
    if (is.null(answer$questions)) {
      is_over <<- TRUE
      place$leave()
      out$event(answer$text, event = "message")
    } else {
      message$answers <<- answer$answers
      look <<- wait_for(offer, req, answer$questions, function(text) out$event(text, event = "message"))
    }
  }
  new_stream(
    leaving(place, writing(write, function() is_over)), NULL, "text/event-stream", list(), MCP_LOOKS, 200L, "finish",
    event_headers
  )
}
