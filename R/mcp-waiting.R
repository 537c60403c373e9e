# Questions to clients of versions with a handshake: they go out as requests in the stream of the call, and the client
# posts the answers, perhaps to another worker. The worker of the stream is free meanwhile: it looks for the answers in
# the memory that all workers share, and then runs the function again, as mcp-ask.R has it. Neighbour: mcp-rounds.R.

# How often answers are looked for, and how often something is sent meanwhile, so that no proxy thinks that the
# connection is dead: in seconds.
MCP_LOOKS <- 0.05
MCP_BEATS <- 15

# How long an answer waits for the stream that its question is in: a stream that is still there looks at once.
MCP_ANSWER_WAITS <- 60

# Most streams of a worker process that look for something again and again.
MCP_WAITING <- 256L

waiting_streams <- new.env(parent = emptyenv())
waiting_streams$n <- 0L

# The place of a stream among these: list(take, whether it has one now; leave, also of one that has none).
new_place <- function() {
  has <- FALSE
  take <- function() {
    if (!has && waiting_streams$n < MCP_WAITING) {
      has <<- TRUE
      waiting_streams$n <- waiting_streams$n + 1L
    }
    has
  }
  leave <- function() {
    if (has) waiting_streams$n <- waiting_streams$n - 1L
    has <<- FALSE
  }
  list(take = take, leave = leave)
}

# A generator whose stream leaves its place when its client has left it.
leaving <- function(place, next_chunk) {
  function(state, cancelled) {
    if (cancelled) place$leave()
    next_chunk(state, cancelled)
  }
}

too_many_wait <- function(id) {
  rpc_error(id, "internal", "too many clients wait for something in this process: try again later")
}

reply_of <- function() dr_state("drover mcp answers")

# What a client has posted, as src/rust/crates/binding/src/mcp.rs has read it. The ids of questions are sealed, so that
# nothing else gets into the memory of the workers. An error, or NULL.
take_reply <- function(offer, req, reply) {
  id <- reply[["id"]]
  at <- if (is_string(id)) .Call(C_text_open, seal_key(), question_purpose(offer, req), id)
  if (is.null(at)) {
    wrong <- "this is the answer to no question that this server has asked this client of late"
    return(rpc_error(NULL, "request", wrong))
  }
  keep_reply(at, json_value(reply[c("result", "error")]), MCP_ANSWER_WAITS)
  NULL
}

keep_reply <- function(at, text, ttl) {
  tryCatch(
    reply_of()$set(at, text, ttl = ttl),
    drover_error_argument = function(long) dr_abort(413L, "the answer is longer than `max_state_value` has it"),
    drover_error_full = function(full) dr_abort(503L, "the answer cannot be kept: the memory of `dr_state()` is full")
  )
}

question_purpose <- function(offer, req) plain_json(list("mcp question", offer$path, identity_of(req)))

# Sends questions by `send`, a function(text). Value: a function of the stream's output, which gives NULL while answers
# are missing, then list(answers), or list(problem) when there will be none.
wait_for <- function(offer, req, questions, send) {
  at <- with_names(vapply(questions, function(one) random_token(), ""), names(questions))
  since <- said <- now_in_seconds()
  for (name in names(questions)) {
    id <- .Call(C_text_seal, seal_key(), question_purpose(offer, req), at[[name]], MCP_ROUND_LASTS)
    send(paste0("{\"jsonrpc\":\"2.0\",\"id\":", quoted_json(id), ",", substring(questions[[name]]$asked, 2L)))
  }
  answers <- list()
  function(out) {
    for (name in setdiff(names(at), names(answers))) {
      text <- reply_of()$get(at[[name]])
      if (is.null(text)) next
      reply_of()$delete(at[[name]])
      reply <- dr_from_json(text, simplify = FALSE)
      if (!is.null(reply[["error"]])) {
        return(list(problem = paste("the client could not answer", encodeString(name, quote = "\""))))
      }
      answers[name] <<- reply["result"]
    }
    if (length(answers) == length(at)) return(list(answers = answers))
    now <- now_in_seconds()
    if (now - since > MCP_ROUND_LASTS) return(list(problem = "the client has not answered in time"))
    if (now - said > MCP_BEATS) {
      out$write(":\n\n")
      said <<- now
    }
    NULL
  }
}

now_in_seconds <- function() proc.time()[["elapsed"]]
