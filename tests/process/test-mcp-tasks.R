# Calls of tools that become tasks: asked for again and again, cancelled, asking their clients; and what outlives whom.
# Neighbours: test-mcp.R, test-mcp-ask.R and test-mcp-stdio.R, whose functions are used; test-jobs.R, for the jobs below
# them.

lasting_app <- function() {
  file <- tempfile(fileext = ".R")
  writeLines(c(
    "library(drover)", "app <- dr_app()", "sys.source(Sys.getenv('GATES'), globalenv())",
    "fit <- dr_tool(function(name, req) {",
    "  on.exit(note('left', name))",
    "  dr_progress(1, 2, 'half')",
    "  note('ran', name)",
    "  stand_at(name)",
    "  list(name = name, pid = Sys.getpid(), user = req$auth$user)",
    "}, 'fit', 'Fits', list(name = dr_chr()), task = TRUE)",
    "two <- function(name) dr_mcp_form(name, list(x = dr_int()))",
    "sum <- dr_tool(function(start) {",
    "  first <- dr_mcp_ask(a = two('A'), b = two('B'))",
    "  second <- dr_mcp_ask(c = two('C'))",
    "  note('added', start)",
    "  start + first$a$x + first$b$x + second$c$x",
    "}, 'sum', 'Sums', list(start = dr_int()), task = list(keep = '1h'))",
    "fails <- dr_tool(function() stop('a secret'), 'fails', 'Fails', task = TRUE)",
    "picky <- dr_tool(function() dr_mcp_ask(said = dr_mcp_sampling('Hello?', 10)), 'picky', 'Asks', task = TRUE)",
    "late <- dr_tool(function() repeat sqrt(2), 'late', 'Never ends', task = list(timeout = 0.3))",
    "quick <- dr_tool(function() 'at once', 'quick', 'Quick')",
    "only <- dr_tool(function() 'only', 'only', 'Only as a task', task = list(required = TRUE))",
    "grow <- dr_tool(function(n) {",
    "  if (n < 0) dr_abort(422, 'nothing to grow')",
    "  more <- dr_mcp_ask(more = two('More?'))$more$x",
    "  if (n + more < 10) return('small')",
    "  note('asked', n)",
    "  paste(dr_mcp_task(), n + more, dr_mcp_ask(last = two('Last?'))$last$x)",
    "}, 'grow', 'Grows', list(n = dr_int()), task = list(from_start = FALSE))",
    "if (nzchar(Sys.getenv('ASK_KEYS'))) {",
    "  dr_auth_key(app, keys = c(ann = strrep('a', 24), bob = strrep('b', 24)), routes = '/mcp')",
    "}",
    "sub <- dr_app()",
    "dr_mcp(if (nzchar(Sys.getenv('MOUNTED'))) sub else app,",
    "  tools = list(fit, sum, fails, picky, late, quick, only, grow))",
    "if (nzchar(Sys.getenv('MOUNTED'))) dr_mount(app, '/sub', sub)",
    "app"
  ), file)
  file
}

extension <- "io.modelcontextprotocol/tasks"
knows_tasks <- list(elicitation = empty_object, extensions = stats::setNames(list(empty_object), extension))

# list(start, ask, get, update, cancel): functions of a client. `can`: what it declares.
task_client <- function(server, can = knows_tasks, path = "/mcp", fields = character()) {
  ask_2026 <- function(method, name, params) {
    about <- list("io.modelcontextprotocol/protocolVersion" = "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities" = can)
    message <- list(jsonrpc = "2.0", id = 7L, method = method, params = c(params, list(`_meta` = about)))
    said <- c("MCP-Protocol-Version: 2026-07-28", paste("Mcp-Method:", method), paste("Mcp-Name:", name), fields)
    do.call(tell, c(list(server, message, path = path), as.vector(rbind("-H", said))))
  }
  of_task <- function(method) function(task, ...) {
    answer <- ask_2026(method, task, list(taskId = task, ...))
    answer$json$result %||% answer$json
  }
  list(
    call = function(name, arguments = empty_object) {
      ask_2026("tools/call", name, list(name = name, arguments = arguments))
    },
    get = of_task("tasks/get"), update = of_task("tasks/update"), cancel = of_task("tasks/cancel")
  )
}

# Has a task begin: its identifier.
begin_task <- function(client, ...) {
  answer <- client$call(...)
  result <- answer$json$result
  expect(identical(result$resultType, "task") && identical(result$status, "working"), "no task: ", answer$body)
  expect(is.null(result$ttlMs) && "ttlMs" %in% names(result) && result$pollIntervalMs == 1000, "no times: ", answer$body)
  expect(all(grepl("^2.*T.*Z$", c(result$createdAt, result$lastUpdatedAt))), "no times: ", answer$body)
  result$taskId
}

# Waits until a task has this status: it.
task_that_is <- function(client, task, status) {
  last <- NULL
  is_so <- within(function() {
    last <<- client$get(task)
    last$status %in% status
  })
  expect(is_so, "it is not ", status, " but ", drover::dr_to_json(last, auto_unbox = TRUE))
  expect(identical(last$resultType, "complete") && identical(last$taskId, task), "another task: ", last$taskId)
  last
}

# two workers, as one that runs a task answers nothing meanwhile
test("a call becomes a task, which is asked for until it has its result", function() {
  server <- serve(lasting_app(), workers = 2)
  client <- task_client(server)
  task <- begin_task(client, "fit", list(name = "one"))
  expect(marked(server, "one"), "it does not begin")
  expect(within(function() identical(client$get(task)$statusMessage, "1 of 2: half")), "no progress is told")
  open_gate(server, "one")
  last <- task_that_is(client, task, "completed")
  expect(last$result$structuredContent$name == "one" && is.null(last$result$isError), "another result")
  expect(last$ttlMs > 86400000 && is.null(last$statusMessage), "another time: ", last$ttlMs)
  # what cannot be a task, and clients that know none, get their answer at once
  expect(identical(text_of(client$call("quick")), "at once"), "a tool without tasks has one")
  wrong <- client$call("fit", list(name = 7L))$json$result
  expect(isTRUE(wrong$isError) && identical(wrong$resultType, "complete"), "wrong arguments begin a task")
  open_gate(server, "two")
  plain <- task_client(server, list(elicitation = empty_object))
  direct <- plain$call("fit", list(name = "two"))$json$result
  expect(direct$structuredContent$name == "two" && identical(direct$resultType, "complete"), "no direct answer")
  expect(noted(server, "ran") == 2, "it ran ", noted(server, "ran"), " times")
  refused <- plain$call("only")$json$error
  expect(refused$code == -32021 && identical(names(refused$data$requiredCapabilities$extensions), extension),
    "a client that knows no tasks is not refused")
  expect(text_of(list(json = task_that_is(client, begin_task(client, "only"), "completed"))) == "only", "another result")
  # clients of older versions know nothing of them either
  open_gate(server, "three")
  older <- tell(server, call_of("fit", list(name = "three")))
  expect(older$json$result$structuredContent$name == "three", "older: ", older$body)
})

test_every_worker("a task asks its client, which answers in as many messages as it likes", function(start) {
  server <- start(lasting_app())
  client <- task_client(server)
  task <- begin_task(client, "sum", list(start = 1L))
  asked <- task_that_is(client, task, "input_required")
  expect(setequal(names(asked$inputRequests), c("a", "b")), "it asks for ", names(asked$inputRequests))
  expect(asked$inputRequests$a$params$message == "A" && is.null(asked$ttlMs), "another question")
  done <- client$update(task, inputResponses = list(a = accepted(x = 10L), unknown = accepted(x = 1L)))
  expect(identical(done$resultType, "complete") && is.null(done$status), "no acknowledgement: ", drover::dr_to_json(done))
  # what is missing is asked for, and the task waits for it
  left <- client$get(task)
  expect(left$status == "input_required" && identical(names(left$inputRequests), "b"), "it asks for other things")
  client$update(task, inputResponses = list(b = accepted(x = 100L)))
  expect(within(function() identical(names(client$get(task)$inputRequests), "c")), "it does not go on")
  client$update(task, inputResponses = list(c = accepted(x = 1000L)))
  # of no use any more
  client$update(task, inputResponses = list(a = accepted(x = 7L)))
  last <- task_that_is(client, task, "completed")
  expect(identical(last$result$content[[1L]]$text, "1111"), "another sum: ", last$result$content[[1L]]$text)
  expect(noted(server, "added") == 1, "it was added ", noted(server, "added"), " times")
  # one that the workers' memory has no room for
  task <- begin_task(client, "sum", list(start = 1L))
  task_that_is(client, task, "input_required")
  long <- client$update(task, inputResponses = list(a = accepted(x = 1L, more = strrep("x", 1e5))))
  expect(identical(long$status, 413L) && grepl("max_state_value", long$detail), drover::dr_to_json(long))
  expect(setequal(names(client$get(task)$inputRequests), c("a", "b")), "it is kept in part")
  # an answer that does not fit is the end of it, as the same question is not asked again
  task <- begin_task(client, "sum", list(start = 1L))
  task_that_is(client, task, "input_required")
  client$update(task, inputResponses = list(a = accepted(x = "ten"), b = accepted(x = 1L)))
  failed <- task_that_is(client, task, "failed")
  expect(failed$error$code == -32602 && identical(failed$statusMessage, failed$error$message), "another error")
  expect(grepl("wrong answer to \"a\"", failed$error$message), failed$error$message)
  # what is asked before there is a task is asked in the call
  call <- caller_2026(server, knows_tasks)
  first <- call("grow", list(n = 1L))$json$result
  expect(first$resultType == "input_required" && is.null(first$taskId), "it is a task at once")
  grow <- function(n, more) {
    call("grow", list(n = n), requestState = first$requestState, inputResponses = list(more = accepted(x = more)))$json
  }
  expect(identical(grow(1L, 1L)$result$content[[1L]]$text, "small"), "it is a task though it is small")
  answer <- grow(1L, 20L)
  begun <- answer$result
  expect(identical(begun$resultType, "task") && is.null(begun$requestState), "no task: ", drover::dr_to_json(answer))
  asked <- task_that_is(client, begun$taskId, "input_required")
  expect(identical(names(asked$inputRequests), "last"), "it asks for what it knows")
  client$update(begun$taskId, inputResponses = list(last = accepted(x = 3L)))
  last <- task_that_is(client, begun$taskId, "completed")
  expect(identical(last$result$content[[1L]]$text, "TRUE 21 3"), last$result$content[[1L]]$text)
  # the call, the task, and the task with its answer
  expect(noted(server, "asked") == 3, "it was run ", noted(server, "asked"), " times")
  unaware <- caller_2026(server)
  text <- text_of(unaware("grow", list(n = 20L), inputResponses = list(more = accepted(x = 1L), last = accepted(x = 2L))))
  expect(identical(text, "FALSE 21 2"), "a client that knows no tasks gets ", text)
  # a question to a client that cannot be asked is an error
  task <- begin_task(client, "picky")
  expect(task_that_is(client, task, "failed")$error$code == -32021, "it asks all the same")
})

test("tasks are cancelled, whether they run, wait or ask; errors tell no more than they may", function() {
  server <- serve(lasting_app(), workers = 2)
  client <- task_client(server)
  task <- begin_task(client, "fit", list(name = "one"))
  expect(marked(server, "one"), "it does not begin")
  expect(identical(client$cancel(task)$resultType, "complete"), "it is not acknowledged")
  expect(is.null(task_that_is(client, task, "cancelled")[["result"]]), "it has a result")
  expect(within(function() noted(server, "left") == 1), "it is not interrupted")
  task <- begin_task(client, "sum", list(start = 1L))
  task_that_is(client, task, "input_required")
  client$cancel(task)
  task_that_is(client, task, "cancelled")
  client$update(task, inputResponses = list(a = accepted(x = 1L), b = accepted(x = 1L)))
  # that would have begun by now
  task_that_is(client, begin_task(client, "sum", list(start = 2L)), "input_required")
  expect(client$get(task)$status == "cancelled" && noted(server, "added") == 0, "it goes on")
  failed <- task_that_is(client, begin_task(client, "fails"), "completed")
  expect(isTRUE(failed$result$isError) && !grepl("secret", failed$result$content[[1L]]$text), "the error is told")
  late <- task_that_is(client, begin_task(client, "late"), "failed")
  expect(late$error$code == -32603 && grepl("too long", late$error$message), late$error$message)
  expect(client$cancel(task)$resultType == "complete", "a second time is an error")
})

test("tasks belong to their client, and the jobs below them to nobody outside", function() {
  server <- serve(lasting_app(), workers = 2, env = c(ASK_KEYS = "yes"))
  of <- function(letter, ...) task_client(server, fields = paste("X-Api-Key:", strrep(letter, 24)), ...)
  ann <- of("a")
  bob <- of("b")
  task <- begin_task(ann, "fit", list(name = "one"))
  expect(marked(server, "one"), "it does not begin")
  for (answer in list(bob$get(task), bob$cancel(task), bob$update(task, inputResponses = empty_object),
    ann$get(strrep("0", 32)), ann$get("x"))) {
    expect(identical(answer$error$code, -32602L) && grepl("no such task", answer$error$message), "it is told")
  }
  unaware <- of("a", can = empty_object)$get(task)
  expect(identical(unaware$error$code, -32021L), "a client that knows no tasks is told")
  expect(identical(names(unaware$error$data$requiredCapabilities$extensions), extension), "not which extension")
  wrong <- ann$update(task)
  expect(identical(wrong$error$code, -32602L) && grepl("inputResponses", wrong$error$message), "no answers are taken")
  for (path in paste0(c("/mcp/tasks/fit", "/mcp/tasks/fit/", "/MCP/tasks/FIT/"), c("", task, task))) {
    for (method in c("GET", "POST", "DELETE", "OPTIONS")) {
      answer <- ask(server, path, "-X", method, "-H", paste("X-Api-Key:", strrep("a", 24)))
      expect(answer$status == "404", method, " ", path, " got ", answer$status)
    }
  }
  expect(!grepl("tasks", ask(server, "/openapi.json")$body), "it is described")
  open_gate(server, "one")
  expect(task_that_is(ann, task, "completed")$result$structuredContent$user == "ann", "another user")
  # a tool is found where its endpoint is mounted
  mounted <- serve(lasting_app(), workers = 1, env = c(MOUNTED = "yes"))
  open_gate(mounted, "one")
  there <- task_client(mounted, path = "/sub/mcp")
  expect(task_that_is(there, begin_task(there, "fit", list(name = "one")), "completed")$result$structuredContent$name ==
    "one", "another result")
}, ways = 1L)

test("a client that has started the app by itself has tasks, too", function() {
  server <- converse(lasting_app(), "--workers", "2")
  can <- list("io.modelcontextprotocol/protocolVersion" = "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities" = knows_tasks)
  number <- 0L
  tell_it <- function(method, ...) {
    number <<- number + 1L
    server$say(request_of(number, method, ..., `_meta` = can))
    answer_to(server, number)
  }
  begun <- tell_it("tools/call", name = "sum", arguments = list(start = 1L))$result
  expect(identical(begun$resultType, "task"), "no task")
  is_now <- function(status) {
    within(function() identical(tell_it("tasks/get", taskId = begun$taskId)$result$status, status))
  }
  expect(is_now("input_required"), "it does not ask")
  answered <- tell_it("tasks/update", taskId = begun$taskId,
    inputResponses = list(a = accepted(x = 1L), b = accepted(x = 1L)))
  expect(identical(answered$result$resultType, "complete"), "no acknowledgement")
  expect(within(function() identical(names(tell_it("tasks/get", taskId = begun$taskId)$result$inputRequests), "c")),
    "it does not go on")
  tell_it("tasks/cancel", taskId = begun$taskId)
  expect(is_now("cancelled"), "it is not cancelled")
  server$hang_up()
  expect(identical(exit_status(server), 0L), "it has not ended in peace")
}, ways = 1L)

test("a task outlives its worker and, kept in a file, the server", function() {
  file <- store_file()
  # one is kept free of jobs
  server <- serve(lasting_app(), workers = 3, jobs_store = file)
  client <- task_client(server)
  task <- begin_task(client, "fit", list(name = "one"))
  asking <- begin_task(client, "sum", list(start = 1L))
  expect(marked(server, "one"), "it does not begin")
  send_signal(as.integer(mark_text(server, "one")), tools::SIGKILL)
  expect(within(function() noted(server, "ran") == 2), "it is not run again")
  expect(client$get(task)$status == "working", "it is over")
  task_that_is(client, asking, "input_required")
  send_signal(server$pid, tools::SIGKILL)
  expect(within(function() !is_alive(server$pid)), "it lives")
  again <- serve(lasting_app(), workers = 3, jobs_store = file)
  open_gate(again, "one")
  client <- task_client(again)
  expect(task_that_is(client, task, "completed")$result$structuredContent$name == "one", "another result")
  expect(setequal(names(task_that_is(client, asking, "input_required")$inputRequests), c("a", "b")), "other questions")
  client$update(asking, inputResponses = list(a = accepted(x = 1L), b = accepted(x = 1L)))
  expect(within(function() identical(names(client$get(asking)$inputRequests), "c")), "it does not go on")
}, ways = 1L)
