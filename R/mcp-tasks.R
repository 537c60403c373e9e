# Calls of tools that last: a client that knows the extension io.modelcontextprotocol/tasks is answered at once, with a
# task, and asks for it later. A task is a private job (job.R), so that it outlives its client, its worker and, where
# jobs are kept in a file, the server. Neighbours: mcp-tools.R, whose dr_tool() says which tools have tasks;
# mcp-rounds.R, for calls that ask their client meanwhile.
# https://github.com/modelcontextprotocol/ext-tasks

MCP_TASKS <- "io.modelcontextprotocol/tasks"

# As capabilities have it.
MCP_TASKS_DECLARED <- list(extensions = structure(list(no_members), names = MCP_TASKS))

# How often a client is to ask, in ms.
MCP_TASK_POLL <- 1000L

#' Go on as a task
#'
#' In a function of [dr_tool()] that has tasks, with `from_start = FALSE`: the call becomes a task here, if its client
#' knows tasks. The client is told so, and the function runs again from its beginning, as a job: there [dr_mcp_ask()]
#' returns what was answered before, and this function returns at once. So the call may ask its client first, or answer
#' at once what is quick. Do nothing before it that must not be done twice.
#'
#' @returns Whether the call is a task, `TRUE` or `FALSE`, invisibly. It is `FALSE` for a client that knows no tasks,
#'   which waits; and outside a call of [dr_mcp()].
#' @seealso [dr_tool()], [dr_mcp_ask()]
#' @examples
#' fit <- dr_tool(function(rows) {
#'   if (rows < 1000) return("a small model, at once")
#'   dr_mcp_task()
#'   Sys.sleep(rows / 1000)
#'   "a large model"
#' }, "fit", "Fits a model", list(rows = dr_int(min = 1)), task = list(from_start = FALSE, timeout = "4h"))
#' dr_mcp_task()
#' @export
dr_mcp_task <- function() {
  if (is.null(calling$call)) return(invisible(FALSE))
  round <- calling$call$round
  if (isTRUE(round$message$is_task)) return(invisible(TRUE))
  may <- round$is_new && !is.null(task_of(round$offer, round$message)) && knows_tasks(round$message)
  if (!may) return(invisible(FALSE))
  round$answer <- list(becomes_task = TRUE, answers = round$known)
  calling$call$leave
}

# Registers what runs the tasks of the tools of an endpoint, below its path. `answer`: a function of the endpoint, the
# request, a message, and whether that is of a newer version.
add_tasks <- function(app, offer, answer) {
  for (tool in task_tools(offer$own)) {
    run <- function(req) run_mcp_task(offer, req, answer)
    do.call(dr_job, c(list(app, task_path(offer$path, tool$name), run, private = TRUE), tool$task$job))
  }
}

task_tools <- function(tools) Filter(function(tool) !is.null(tool$task), tools)

task_path <- function(endpoint, name) paste0(sub("/+$", "", endpoint), "/tasks/", name)

# How long tasks are kept when they are over, in seconds, by the kind of their jobs. `offer$place`: the path of the
# endpoint, with the prefix that it is mounted at.
tasks_by_kind <- function(offer) {
  tools <- task_tools(offer$tools)
  keeps <- vapply(tools, function(tool) as_seconds(tool$task$job$keep %||% formals(dr_job)$keep), 0)
  with_names(keeps, paste("POST", vapply(names(tools), task_path, "", endpoint = offer$place), recycle0 = TRUE))
}

# Whether the client of a message declares that it knows tasks.
knows_tasks <- function(message) {
  extensions <- message$params[["_meta"]][[MCP_CLIENT_CAN]][["extensions"]]
  is_object(extensions) && !is.null(extensions[[MCP_TASKS]])
}

# What a client without the extension is told.
without_extension <- function(id, said) {
  rpc_error(id, "capability", paste(said, MCP_TASKS), list(requiredCapabilities = MCP_TASKS_DECLARED))
}

# The tasks of the tool that a message calls; NULL for one without.
task_of <- function(offer, message) if (!is.null(message$tool)) offer$tools[[message$tool]]$task

# The answer to a call of a tool, which may become a task. What is wrong with its arguments is told at once. `may_fail`:
# see call_tool().
answer_call <- function(offer, req, message, is_new, may_fail) {
  if (is.null(message$tool)) {
    return(rpc_error(message$id, "params", rpc_target(offer$tools, "tool", message$params)))
  }
  tool <- offer$tools[[message$tool]]
  call <- function() answering(offer, req, message, is_new, call_tool(tool, offer, req, message, is_new, may_fail))
  task <- tool$task
  if (is.null(task) || isTRUE(message$is_task)) return(call())
  if (!is_new || !knows_tasks(message)) {
    said <- "calls of this tool are tasks: its client must declare the extension"
    if (task$required) return(without_extension(message$id, said))
  } else if (task$from_start && is.null(message$problem)) {
    return(create_task(offer, req, message, NULL))
  }
  answer <- call()
  if (isTRUE(answer$becomes_task)) create_task(offer, req, message, answer$answers) else answer
}

# `answers`: what the client has answered before.
create_task <- function(offer, req, message, answers) {
  key <- paste(task_key(req), random_token())
  head <- list(answers = answers %||% no_params)
  tryCatch({
    job <- enqueue_task(offer, message$params[["name"]], head, utf8_text(req$raw), key, req$auth)
    # it is there
    task <- list(state = job_told(job), status = "working")
    rpc_result(message$id, paste0(task_text(offer, task), result_end(offer, TRUE, type = "task")))
  }, drover_error_jobs = function(full) {
    rpc_error(message$id, "internal", "the task cannot be kept now: try again later")
  })
}

# `head`: what a later run has to know, see run_mcp_task(); `sent`: the message of the call, as it came.
enqueue_task <- function(offer, name, head, sent, key, auth, at = NULL) {
  path <- percent_encode(task_path(offer$place, name), url_bytes)
  dr_enqueue(path, body = paste0(json_value(head), "\n", sent), key = key, auth = auth, at = at)
}

# What names the tasks of a client, and of no other.
task_key <- function(req) paste("task", shared_key(plain_json(identity_of(req)), "task"))

# The handler of the jobs. Its result is a text: the status of the task in a line, and then what came of it; where the
# client is asked, what a later run has to know.
run_mcp_task <- function(offer, req, answer) {
  sent <- split_once(utf8_text(req$raw))
  message <- .Call(C_mcp_read, charToRaw(sent[[2L]]), offer$checked)
  message$id <- "0"
  message$answers <- dr_from_json(sent[[1L]], simplify = FALSE)$answers
  message$is_task <- TRUE
  given <- answer(offer, req, message, TRUE)
  if (!is.null(given$questions)) {
    asked <- lapply(given$questions, `[[`, "asked")
    later <- list(answers = given$answers %||% no_params, asked = asked, call = sent[[2L]])
    return(paste0("input_required\n", json_value(later)))
  }
  paste0(if (is.null(given$code)) "completed" else "failed", "\n", rpc_content(given))
}

# The member of a task that has what came of it.
MCP_TASK_MEMBERS <- c(completed = "result", failed = "error", input_required = "inputRequests")

# A task of the client that sends a request: list(state, of its job; status; text, see MCP_TASK_MEMBERS; later, of one
# that asks, see run_mcp_task(); last, the job of its last run; runs, how many there were); or NULL. A run that has
# asked is followed by another one, which is known by its key.
find_task <- function(offer, req, params) {
  id <- params[["taskId"]]
  state <- if (is_string(id)) job_told(id)
  is_task <- !is.null(state) && state$kind %in% names(offer$tasks)
  is_known <- is_task && startsWith(state$key %||% "", paste0(task_key(req), " "))
  if (!is_known) return(NULL)
  task <- list(state = state, last = state, runs = 1L)
  repeat {
    task$status <- task_status(task$last$state)
    if (task$last$state != "done") return(task)
    result <- job_result(task$last$id)
    # it was forgotten just now
    if (!is.null(result$problem)) return(NULL)
    result <- split_once(utf8_text(result$body))
    task$status <- result[[1L]]
    task$text <- result[[2L]]
    if (task$status != "input_required") return(task)
    task$later <- dr_from_json(task$text, simplify = FALSE)
    further <- job_told_by_key(state$kind, next_run(task))
    if (is.null(further)) {
      task$text <- questions_text(task)
      return(task)
    }
    task[c("text", "later")] <- NULL
    task$last <- further
    task$runs <- task$runs + 1L
  }
}

# What a task asks for and has not been answered yet.
questions_text <- function(task) {
  asked <- task$later$asked
  asked <- asked[vapply(names(asked), function(name) is.null(answer_to(task, name)), NA)]
  paste0("{", paste0(vapply(names(asked), quoted_json, ""), ":", unlist(asked), collapse = ","), "}")
}

# The text of an answer that has come, and waits for others.
answer_to <- function(task, name) reply_of()$get(answer_place(task, name))

answer_place <- function(task, name) paste(task$last$id, name)

# The key of the run after the last one.
next_run <- function(task) paste("after", task$runs, "of", task$state$id)

# What stands before the first line feed, and after it.
split_once <- function(text) {
  end <- regexpr("\n", text, fixed = TRUE)
  c(substr(text, 1L, end - 1L), substring(text, end + 1L))
}

task_status <- function(state) {
  switch(state, done = "completed", failed = "failed", cancelled = "cancelled", "working")
}

# A task as JSON, but for what is at the end of results.
task_text <- function(offer, task) {
  state <- task$state
  last <- task$last %||% state
  is_over <- task$status %in% c("completed", "failed", "cancelled")
  ended <- if (is_over) last$ended
  text <- plain_json(compact(list(
    taskId = state$id, status = task$status, statusMessage = task_message(task, last),
    createdAt = state$created, lastUpdatedAt = last$ended %||% last$began %||% last$created,
    pollIntervalMs = MCP_TASK_POLL
  )))
  # as long as it is not over, it is kept
  ttl <- "null"
  if (!is.null(ended)) {
    lasted <- difftime(job_time(ended), job_time(state$created), units = "secs")
    ttl <- sprintf("%.0f", 1000 * (as.numeric(lasted) + offer$tasks[[state$kind]]))
  }
  text <- paste0(substr(text, 1L, nchar(text) - 1L), ",\"ttlMs\":", ttl)
  member <- MCP_TASK_MEMBERS[task$status]
  if (is.na(member)) return(text)
  value <- task$text
  if (is.null(value)) {
    value <- plain_json(list(code = MCP_CODES[["internal"]], message = last$error %||% "it has failed"))
  }
  paste0(text, ",\"", member, "\":", value)
}

# How far it is, or why there is nothing.
task_message <- function(task, job) {
  if (task$status == "failed") return(job$error %||% dr_from_json(task$text, simplify = FALSE)$message)
  progress <- if (task$status == "working") job$progress
  if (is.null(progress)) return(NULL)
  of <- if (!is.null(progress$total)) paste(" of", format(progress$total, digits = 15L))
  done <- paste0(format(progress$done, digits = 15L), of)
  if (is.null(progress$message)) done else paste0(done, ": ", progress$message)
}

# The answer to a message that asks for a task; NULL for another method.
answer_task <- function(offer, req, message) {
  id <- message$id
  act <- switch(message$method, "tasks/get" = show_task, "tasks/update" = update_task, "tasks/cancel" = cancel_task)
  if (is.null(act) || !length(offer$tasks)) return(NULL)
  if (!knows_tasks(message)) return(without_extension(id, "a client that asks for tasks must declare the extension"))
  task <- find_task(offer, req, message$params)
  if (is.null(task)) return(rpc_error(id, "params", "there is no such task, or not any more"))
  act(offer, req, message, task)
}

show_task <- function(offer, req, message, task) rpc_result(message$id, paste0(task_text(offer, task), offer$end))

# What asks for nothing but that it is done is answered so.
task_done <- function(offer, message) rpc_result(message$id, paste0("{", substring(offer$end, 2L)))

# Answers to what a task has asked. It goes on when all are there; until then they wait in the memory of the workers.
# Those that are not asked for are of no use.
update_task <- function(offer, req, message, task) {
  given <- message$params[["inputResponses"]]
  if (!is_object(given)) return(rpc_error(message$id, "params", "`params.inputResponses` must be an object"))
  asked <- names(task$later$asked)
  for (name in intersect(names(given), asked)) {
    keep_reply(answer_place(task, name), json_value(given[name]), MCP_ROUND_LASTS)
  }
  texts <- lapply(asked, function(name) answer_to(task, name))
  if (length(asked) && !any(vapply(texts, is.null, NA))) {
    answers <- c(task$later$answers, unlist(lapply(texts, dr_from_json, simplify = FALSE), recursive = FALSE))
    follow_task(offer, task, answers, req$auth)
    for (name in asked) reply_of()$delete(answer_place(task, name))
  }
  task_done(offer, message)
}

# Has a task that asks run once more. Two that want it at once want the same.
follow_task <- function(offer, task, answers, auth, at = NULL) {
  name <- sub("^.*/", "", task$state$kind)
  enqueue_task(offer, name, list(answers = answers), task$later$call, next_run(task), auth, at)
}

cancel_task <- function(offer, req, message, task) {
  # of one that asks, the run that would follow is that which is cancelled
  asks <- task$status == "input_required"
  dr_job_cancel(if (asks) follow_task(offer, task, no_params, req$auth, at = "365d") else task$last$id)
  task_done(offer, message)
}
