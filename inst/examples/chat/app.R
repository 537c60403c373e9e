# A chat with a language model: the API that clients of OpenAI speak, with and without `stream`, and a page for
# browsers. The model is a toy (model.R); put yours in its place.
#
#   drover serve app.R --workers 4             or PORT=8080 Rscript app.R; with API_KEY=secret, clients need that key
#   python3 client.py http://127.0.0.1:8080    the same API, used by the package `openai`

library(drover)

# Where this file is: `drover serve` goes there, Rscript does not.
file <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
here <- if (length(file)) dirname(file[[1L]]) else "."

model <- new.env()
source(file.path(here, "model.R"), local = model)

app <- dr_app()

# Errors have the form that clients of this API read.
dr_on_error(app, function(req, err) {
  known <- inherits(err, "drover_error_http")
  error <- list(
    message = if (known) conditionMessage(err) else "something went wrong", param = NA, code = NA,
    type = if (known && err$status < 500) "invalid_request_error" else "server_error"
  )
  if (known) dr_json(list(error = error), status = err$status, headers = err$headers)
  else dr_json(list(error = error), status = 500L)
})

dr_use(app, function(req, nxt) {
  key <- Sys.getenv("API_KEY")
  if (nzchar(key) && startsWith(req$path, "/v1/") && !identical(req$headers$authorization, paste("Bearer", key))) {
    dr_abort(401, "a valid API key is needed: Authorization: Bearer KEY", headers = list("WWW-Authenticate" = "Bearer"))
  }
  nxt()
})

now <- function() as.integer(Sys.time())
described <- list(id = "river", object = "model", created = now(), owned_by = "drover")
dr_get(app, "/v1/models", function(req) list(object = "list", data = list(described)))
dr_get(app, "/v1/models/<id>", function(req) {
  if (req$params$id != described$id) dr_abort(404, paste0("there is no model `", req$params$id, "`"))
  described
})

# A setting of a request: its default when it is not there, and an error when it is not what it must be.
setting <- function(sent, name, default, is_right, what) {
  value <- sent[[name]]
  if (is.null(value)) return(default)
  if (length(value) != 1L || is.na(value) || !is_right(value)) dr_abort(400, paste0("`", name, "` must be ", what))
  value
}

# The text of the content of a message: a string, or parts, of which those of text count.
text_of <- function(content) {
  if (is.data.frame(content)) content <- content$text[content$type %in% "text"]
  if (is.character(content)) paste(content[!is.na(content)], collapse = "\n") else NA_character_
}

# What is asked, once it is known to be right.
asked_of <- function(sent) {
  messages <- if (is.list(sent)) sent[["messages"]]
  texts <- if (is.data.frame(messages)) vapply(messages$content, text_of, "")
  if (!is.character(messages[["role"]]) || !length(texts) || anyNA(texts)) {
    dr_abort(400, "`messages` must be an array of objects with `role`, a string, and `content`, a string or parts")
  }
  questions <- texts[messages$role %in% "user"]
  if (!length(questions)) dr_abort(400, "`messages` must have one with the role `user`")
  name <- setting(sent, "model", described$id, is.character, "a string")
  if (name != described$id) dr_abort(404, paste0("there is no model `", name, "`; there is `", described$id, "`"))
  is_count <- function(x) is.numeric(x) && x >= 1 && x <= 4096 && x == round(x)
  count <- "a whole number from 1 to 4096"
  most <- setting(sent, "max_tokens", 60, is_count, count)
  list(
    prompt = length(model$tokens_of(paste(texts, collapse = " "))),
    start = model$begin(questions[[length(questions)]], setting(sent, "seed", now(), is.numeric, "a number")),
    most = setting(sent, "max_completion_tokens", most, is_count, count),
    stream = setting(sent, "stream", FALSE, is.logical, "true or false"),
    usage = isTRUE(sent[["stream_options"]]$include_usage)
  )
}

# The next token, and why there is none when there is none.
step <- function(asked, state, n) {
  if (n >= asked$most) return(list(finish = "length"))
  drawn <- model$continue(state)
  if (is.null(drawn$token)) list(finish = "stop") else drawn
}

usage_of <- function(asked, n) {
  list(prompt_tokens = asked$prompt, completion_tokens = n, total_tokens = asked$prompt + n)
}

# The whole answer at once.
whole <- function(asked, id) {
  said <- character()
  state <- asked$start
  repeat {
    drawn <- step(asked, state, length(said))
    if (!is.null(drawn$finish)) break
    said <- c(said, drawn$token)
    state <- drawn$state
  }
  message <- list(role = "assistant", content = paste(said, collapse = ""), refusal = NA)
  list(
    id = id, object = "chat.completion", created = now(), model = described$id,
    choices = list(list(index = 0L, message = message, logprobs = NA, finish_reason = drawn$finish)),
    usage = usage_of(asked, length(said))
  )
}

# Token by token. The worker is free between two of them: one worker serves many chats.
streamed <- function(asked, id) {
  created <- now()
  chunk <- function(delta, finish = NA) {
    list(
      id = id, object = "chat.completion.chunk", created = created, model = described$id,
      choices = list(list(index = 0L, delta = delta, logprobs = NA, finish_reason = finish))
    )
  }
  # an object without fields
  nothing <- structure(list(), names = character())
  dr_stream_sse(function(state, cancelled) {
    if (cancelled) return()
    switch(state$part,
      head = list(data = chunk(list(role = "assistant", content = "")), state = within_part(state, "tokens")),
      tokens = {
        drawn <- step(asked, state$model, state$n)
        if (!is.null(drawn$finish)) {
          then <- within_part(state, if (asked$usage) "usage" else "end")
          return(list(data = chunk(nothing, drawn$finish), state = then))
        }
        then <- list(part = "tokens", model = drawn$state, n = state$n + 1L)
        list(data = chunk(list(content = drawn$token)), state = then)
      },
      usage = {
        last <- chunk(nothing)
        last$choices <- list()
        last$usage <- usage_of(asked, state$n)
        list(data = last, state = within_part(state, "end"))
      },
      end = list(data = "[DONE]", done = TRUE)
    )
  }, state = list(part = "head", model = asked$start, n = 0L), min_interval = 0.02, on_drain = "finish")
}

within_part <- function(state, part) {
  state$part <- part
  state
}

dr_post(app, "/v1/chat/completions", function(req) {
  asked <- asked_of(req$json)
  id <- paste0("chatcmpl-", req$id)
  if (asked$stream) streamed(asked, id) else whole(asked, id)
})

dr_static(app, "/chat", file.path(here, "page"))
dr_get(app, "/", function(req) dr_redirect("/chat/"))

dr_serve(app, port = as.integer(Sys.getenv("PORT", "8080")), block = TRUE)
