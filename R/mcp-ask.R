# A call that asks its client: dr_mcp_ask(). Its handler ends there, and runs again from its beginning when the client
# calls again with the answers. Neighbours: mcp-questions.R, what can be asked; mcp-rounds.R, what is known of the
# rounds before.

# The call under way: `call`, the frame of answering(); `tool`, the frame of call_tool() while an error of its tool is
# the request's; and `log`, a function(level, data, logger) while the client listens.
calling <- new.env(parent = emptyenv())

#' Ask the client of a call
#'
#' In a function of [dr_mcp()] (a tool, a prompt or a resource): asks the person or the program that called, and returns
#' the answers. Clients can be asked if they declare that they can.
#'
#' No worker waits for the answers. The call ends with the questions; when the client calls again with the answers,
#' perhaps at another worker, or has posted them (versions before 2026-07-28), the function runs again from its
#' beginning, and `dr_mcp_ask()` returns what it has asked for before. So ask before anything is changed, and let
#' questions depend on nothing but arguments and answers. The questions of one `dr_mcp_ask()` are asked at once;
#' several calls of it are several rounds.
#'
#' Answers are checked as arguments are: those that do not fit are an error of the client's. Answers come from the
#' client all the same, which may be any program: they are no proof that a person has agreed.
#'
#' @param ... Questions, see [dr_mcp_form()], each with a name, which is used once in the function.
#' @param what What the client may be able to: `"form"`, `"url"`, `"sampling"` or `"roots"`.
#' @returns `dr_mcp_ask()`: a list of the answers, by the names of the questions; what they are is said there.
#'   `dr_mcp_can()`: whether the client of the call under way can be asked so, `TRUE` or `FALSE`; `FALSE` also where
#'   there is no such call, as for a route that is requested directly.
#' @section Errors: `drover_error_argument` when an argument is not as described; `drover_error_state` outside a call of
#'   [dr_mcp()]. A client that cannot be asked gets an error of the protocol.
#' @seealso [dr_mcp_form()], [dr_tool()]
#' @examples
#' rename <- dr_tool(function(from) {
#'   to <- dr_mcp_ask(name = dr_mcp_form(paste("What shall", from, "be called?"), list(to = dr_chr())))$name$to
#'   if (is.null(to)) "Nothing was renamed." else paste(from, "is now called", to)
#' }, "rename", "Renames something", list(from = dr_chr()))
#' rename
#' dr_mcp_can("form")
#' @export
dr_mcp_ask <- function(...) {
  call <- sys.call()
  questions <- list(...)
  names <- names(questions)
  is_right <- length(questions) && !is.null(names) && all(nzchar(names)) && !anyDuplicated(names) &&
    all(vapply(questions, inherits, NA, "dr_mcp_question"))
  if (!is_right) {
    problem <- "`...` must be questions, see dr_mcp_form(), each with a name of its own"
    stop_drover("argument", problem, call = call, argument = "...")
  }
  if (is.null(calling$call)) {
    stop_drover("state", "dr_mcp_ask() works while a client of dr_mcp() calls: see dr_mcp_can()", call = call)
  }
  answers <- round_answers(calling$call$round, questions)
  if (is.null(answers)) calling$call$leave
  answers
}

#' @rdname dr_mcp_ask
#' @export
dr_mcp_can <- function(what) {
  what <- check_choice(what, "what", names(MCP_ABILITIES), sys.call())
  !is.null(calling$call) && MCP_ABILITIES[[what]]$is_there(calling$call$round$can)
}

# The answer of a call whose function may ask: that of `expr`, unless it has asked for what is not known yet.
#
# `round`, of mcp-rounds.R, and `leave` are promises: most calls ask for nothing, and need neither. Who needs `leave`
# ends the call with `round$answer`: not by a condition, which handlers of the function could take for an error of its
# own.
answering <- function(offer, req, message, is_new, expr, round = new_round(offer, req, message, is_new),
                      leave = return(round$answer)) {
  if (is_new && has_answers(message) && !is.null(round$answer)) return(round$answer)
  before <- calling$call
  on.exit(calling$call <- before)
  calling$call <- environment()
  expr
}
