# What a handler returned, as a response. The engine makes the common kinds (strings, raw, NULL, responses, plain lists)
# by itself and calls as_response() for the rest; middleware gets everything through it (app-compile.R). Only what this
# package made is a response: a list that looks like one may be what a client sent. Not for handlers: they use
# response.R.

# A plain list that has the names of a response: list(status =, body =, headers =), at least one of the first two.
is_response_list <- function(value) {
  if (!is.list(value) || is.object(value)) return(FALSE)
  names <- names(value)
  !is.null(names) && all(names %in% c("status", "body", "headers")) && !anyDuplicated(names) &&
    any(c("status", "body") %in% names)
}

# A canonical dr_response; a promise as it is; an error for what cannot be sent.
as_response <- function(value) {
  if (inherits(value, "dr_response")) return(value)
  # most often a string, which dr_text() would take three more calls to make a response of
  text <- .Call(C_plain_response, value, 200L, list(), "text/plain; charset=utf-8")
  if (!is.null(text)) return(text)
  # what follows is asked of objects
  if (is.list(value) && !is.object(value)) return(dr_json(value))
  if (is_promise(value)) return(value)
  if (is.null(value)) return(response_of(204L, NULL, list()))
  if (is.raw(value)) return(dr_response(value))
  if (inherits(value, "json")) return(dr_response(value, headers = list("Content-Type" = "application/json")))
  if (is_string(value) && !is.factor(value)) return(dr_text(value))
  if (inherits(value, "condition")) stop_returned(value)
  if (is_plot(value)) {
    stop_drover("value", "R handler returned a plot: send it with dr_png(), dr_svg() or dr_pdf()", call = NULL)
  }
  if (is_sendable(value)) return(dr_json(value))
  stop_drover("value", paste0(
    "R handler returned an unsupported value: ", describe(value),
    "; return a string, a raw vector, a response, a list, a data frame, another vector, or NULL"
  ), call = NULL)
}

# For apps with dr_app(list_responses = TRUE): lists that have the names of a response are made one. Others, and
# promises of others, stay as they are.
read_list_response <- function(value) {
  if (is_promise(value)) return(value$then(read_list_response))
  if (!is_response_list(value)) return(value)
  body <- if ("body" %in% names(value)) value$body else ""
  dr_response(body, value$status %||% 200L, value$headers %||% list())
}

# Vectors and lists have a form in JSON. Connections are integers by type, but hold what is of no use to a client.
is_sendable <- function(value) (is.atomic(value) || is.list(value)) && !isS4(value) && !inherits(value, "connection")

# A condition that was returned counts as signalled; without a status it is an error of the handler.
stop_returned <- function(condition) {
  status <- condition$status
  if (is_whole(status) && status >= 400 && status <= 599) {
    own <- setdiff(class(condition), c("drover_error_http", "drover_error", "error", "condition"))
    stop_drover(
      "http", conditionMessage(condition), status = as.integer(status), headers = check_headers(condition$headers),
      call = conditionCall(condition), class = own
    )
  }
  if (inherits(condition, "error")) stop(condition)
  stop_drover("value", paste0(
    "R handler returned an unsupported value: a condition without a status: ", conditionMessage(condition)
  ), call = conditionCall(condition))
}
