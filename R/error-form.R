# The app's own form for errors that the engine answers by itself: the function of dr_on_error() is asked once for each
# status when the app is loaded, and the engine keeps what it answers. Not for errors of handlers: error-answer.R.
# Neighbour: serve-session.R, which gives the engine the rest of the app.

# Those whose status says what has happened. What is wrong with a malformed request, the engine says in its own words.
own_error_statuses <- c(401L, 403L, 404L, 405L, 413L, 429L, 502L, 503L, 504L)

# What clients accept that get the answer in JSON, and all others.
accepted_forms <- list(json = "application/json", others = "text/html")

# Seconds that it has for each answer: an app whose function never ends is served all the same.
own_error_time <- 2

# list(answers, problem) for the engine; `problem` says for which errors there is no answer, and why.
own_errors <- function(on_error) {
  if (is.null(on_error)) return(list(answers = list()))
  answers <- list()
  problems <- character()
  is_slow <- FALSE
  for (status in own_error_statuses) {
    began <- elapsed()
    ours <- if (is_slow) "it took too long" else tryCatch(
      own_error(on_error, status), error = function(error) valid_text(conditionMessage(error))
    )
  # once the function was too slow, it is not called again
    is_slow <- is_slow || elapsed() - began >= own_error_time
    if (is.list(ours)) answers <- c(answers, ours) else problems[[as.character(status)]] <- ours
  }
  if (!length(problems)) return(list(answers = answers))
  list(answers = answers, problem = paste0(
    "dr_on_error() has no answer to errors of the engine, ", paste(names(problems), collapse = ", "),
    ", and the standard one is sent: ", problems[[1L]]
  ))
}

# The answers to one error, for clients that accept JSON and for others. It is asked once if it does not look at what
# they accept.
own_error <- function(on_error, status) {
  setTimeLimit(elapsed = own_error_time, transient = TRUE)
  on.exit(setTimeLimit())
  looked <- FALSE
  answer_for <- function(form) {
    req <- nobodys_request(accepted_forms[[form]], function() looked <<- TRUE)
    response <- as_response(on_error(req, engine_error(status)))
    if (is_promise(response)) stop_drover("value", "a promise comes too late", call = NULL)
    headers <- check_headers(response$headers)
    list(
      status = status, json = form == "json", body = fixed_text(response$body),
      headers = unname(Map(
        function(name, value) list(name = name, value = enc2utf8(value)), names(headers), headers
      ))
    )
  }
  json <- answer_for("json")
  others <- if (looked) answer_for("others") else json
  others$json <- FALSE
  list(json, others)
}

# As dr_abort() would signal it.
engine_error <- function(status) {
  structure(
    class = c("drover_error_engine", "drover_error_http", "drover_error", "error", "condition"),
    list(message = status_phrase(status), call = NULL, status = status, headers = list())
  )
}

fixed_text <- function(body) {
  if (is.raw(body)) body <- tryCatch(rawToChar(body), error = function(error) NA_character_)
  if (is.null(body)) return("")
  text <- enc2utf8(as.character(body))
  if (is.na(text) || !validUTF8(text)) stop_drover("value", "its body is not text", call = NULL)
  text
}

# A request of no client in particular: what can be read is what it accepts; `looked()` is called when that is.
nobodys_request <- function(accept, looked) {
  req <- new.env(parent = emptyenv())
  for (field in request_fields) local({
    name <- field
    makeActiveBinding(name, function(value) {
      if (!missing(value)) stop_drover("request", paste0("`req$", name, "` cannot be set here"), call = NULL)
      if (name == "headers") {
        looked()
        return(structure(list(accept = accept), class = "dr_fields"))
      }
      stop_drover("request", paste0(
        "`req$", name, "` was read, but the engine answers without R: there is one answer for all requests"
      ), call = NULL)
    }, req)
  })
  class(req) <- "dr_request"
  req
}
