# What a call knows of the rounds before it, in which it asked its client: the server keeps nothing of them. Their
# answers come back in `requestState`, which the server has sealed, and those of the last round in `inputResponses`.
# Not for what is asked: mcp-questions.R. Neighbour: mcp-ask.R.

# How long a client may take for its answers, in seconds: a person may be asked.
MCP_ROUND_LASTS <- 3600

# `can`: what the client declares, of which older versions pay for finding out when it is needed; `answers`: what it
# has answered, by the names of questions; `known`: those of them that were asked for in this run, and fit. `answer`:
# what the call is answered with if it cannot go on. `is_kept`: whether the server keeps what is asked, as it does for
# older versions (mcp-waiting.R) and for tasks (mcp-tasks.R).
new_round <- function(offer, req, message, is_new) {
  params <- message$params
  round <- new.env(parent = emptyenv())
  round$offer <- offer
  round$req <- req
  round$message <- message
  round$is_new <- is_new
  round$is_kept <- !is_new || isTRUE(message$is_task)
  if (is_new) {
    round$can <- params[["_meta"]][[MCP_CLIENT_CAN]]
  } else {
    # one of several messages has no stream of its own to be asked in
    may_wait <- !is.null(message$events)
    delayedAssign("can", if (may_wait) session_abilities(offer, req), assign.env = round)
  }
  if (round$is_kept) {
    round$answers <- message$answers
    return(round)
  }
  if (!has_answers(message)) return(round)
  given <- params[["inputResponses"]]
  state <- params[["requestState"]]
  if (!is.null(given) && !is_object(given)) {
    round$answer <- rpc_error(message$id, "params", "`params.inputResponses` must be an object")
    return(round)
  }
  before <- if (!is.null(state)) opened_state(round, state)
  if (is.null(before) && !is.null(state)) {
    round$answer <- rpc_error(message$id, "params", paste0(
      "`params.requestState` is not what this server gave to this client for this very call within the last ",
      MCP_ROUND_LASTS / 60, " minutes: call again without it"
    ))
    return(round)
  }
  before[names(given)] <- given
  round$answers <- before
  round
}

# Whether a message of a version without a handshake has answers to what it was asked before.
has_answers <- function(message) {
  !is.null(message$params[["inputResponses"]]) || !is.null(message$params[["requestState"]])
}

# The answers to these questions; NULL if the call ends here, with round$answer.
round_answers <- function(round, questions) {
  id <- round$message$id
  is_known <- names(questions) %in% names(round$answers)
  read <- list()
  for (name in names(questions)[is_known]) {
    given <- round$answers[[name]]
    one <- if (is_object(given)) questions[[name]]$read(given) else list(problem = "it must be an object")
    if (!is.null(one$problem)) {
      which <- encodeString(name, quote = "\"")
      wrong <- paste0("the client has given a wrong answer to ", which, ": ", one$problem)
      round$answer <- rpc_error(id, "params", wrong)
      return(NULL)
    }
    read[name] <- list(one$value)
    round$known[name] <- list(given)
  }
  if (all(is_known)) return(read[names(questions)])
  round$answer <- asking_answer(round, questions[!is_known])
  NULL
}

# What a client is asked, or told that it cannot be. Where the server keeps that: list(questions, answers).
asking_answer <- function(round, questions) {
  id <- round$message$id
  needs <- unique(vapply(questions, `[[`, "", "needs"))
  missing <- Filter(function(need) !MCP_ABILITIES[[need]]$is_there(round$can), needs)
  if (length(missing)) {
    needed <- Reduce(utils::modifyList, lapply(missing, function(need) MCP_ABILITIES[[need]]$needed))
    said <- paste0(
      "this asks the client, which must declare that it can be asked", if (!round$is_new) {
        ", send the `Mcp-Session-Id` of its handshake, and accept text/event-stream"
      }, ": ", and_list(missing)
    )
    return(rpc_error(id, "capability", said, list(requiredCapabilities = needed)))
  }
  if (round$is_kept) return(list(questions = questions, answers = round$known))
  state <- .Call(C_text_seal, seal_key(), round_purpose(round), json_value(round$known %||% no_params), MCP_ROUND_LASTS)
  if (is.null(state)) return(rpc_error(id, "params", "the answers so far are too long to go on with"))
  asked <- paste0(vapply(names(questions), quoted_json, ""), ":", vapply(questions, `[[`, "", "asked"), collapse = ",")
  rpc_result(id, paste0(
    "{\"inputRequests\":{", asked, "},\"requestState\":", quoted_json(state), round$offer$asked_end
  ))
}

# NULL for what was not sealed for this call.
opened_state <- function(round, state) {
  text <- if (is_string(state)) .Call(C_text_open, seal_key(), round_purpose(round), state)
  if (!is.null(text)) dr_from_json(text, simplify = FALSE)
}

# What a state is for, without which it does not open: one function, its arguments, and one client.
round_purpose <- function(round) {
  params <- round$message$params
  target <- c(params[["name"]], params[["uri"]])
  arguments <- params[["arguments"]]
  plain_json(list(
    "mcp round", round$offer$path, round$message$method, target, json_value(in_order(arguments)),
    identity_of(round$req)
  ))
}

# A value of JSON whose objects have their members in one order: clients may send them in another one each time.
in_order <- function(value) {
  if (!is.list(value)) return(value)
  if (is_object(value)) value <- value[order(names(value), method = "radix")]
  lapply(value, in_order)
}
