# Questions to clients of versions with a handshake, in the stream of the call, and their log levels. Neighbours:
# test-mcp-ask.R, for the newer version; test-mcp.R.

waiting_app <- function() {
  file <- tempfile(fileext = ".R")
  writeLines(c(
    "library(drover)", "app <- dr_app()",
    "year <- dr_mcp_form('Which year?', list(year = dr_int(min = 1900)))",
    "plan <- dr_tool(function(what) {",
    "  dr_progress(1, 2)",
    "  first <- dr_mcp_ask(year = year, words = dr_mcp_sampling('Say it', 10))",
    "  second <- dr_mcp_ask(sure = dr_mcp_form(paste('Sure of', first$year$year), list(ok = dr_lgl())))",
    "  dr_mcp_log('warning', 'planned')",
    "  paste(what, first$year$year, first$words$text, second$sure$ok)",
    "}, 'plan', 'Plans', list(what = dr_chr()))",
    "free <- dr_tool(function() 'free', 'free', 'Asks nothing')",
    "dr_mcp(app, tools = list(plan, free))", "app"
  ), file)
  file
}

# A client of version 2025-11-25 after its handshake: a list of call(message, ...), which answers as tell() does, and
# open(message), whose stream is read by events(), a function of no arguments.
greeted_client <- function(server, can = list(elicitation = no_fields, sampling = no_fields)) {
  hello <- list(jsonrpc = "2.0", id = 0L, method = "initialize",
    params = list(protocolVersion = "2025-11-25", capabilities = can, clientInfo = list(name = "t", version = "1")))
  head <- ask(server, "/mcp", "-i", "--json", drover::dr_to_json(hello, auto_unbox = TRUE))$body
  session <- regmatches(head, regexec("mcp-session-id: ([^\r\n]+)", head, ignore.case = TRUE))[[1L]][[2L]]
  fields <- c("-H", paste("Mcp-Session-Id:", session), "-H", "MCP-Protocol-Version: 2025-11-25",
    "-H", "Accept: application/json, text/event-stream")
  list(
    session = session,
    call = function(message, ...) do.call(tell, c(list(server, message), fields, list(...))),
    open = function(message) {
      open_events(fields, "--json", drover::dr_to_json(message, auto_unbox = TRUE), paste0(server$url, "/mcp"))
    }
  )
}

# A stream that curl reads, by these words: list(client, events, a function of no arguments that gives those so far).
open_events <- function(...) {
  out <- tempfile("events-")
  client <- start_client("curl", c("-s", "-N", "-o", out, ...))
  list(client = client, events = function() {
    if (!file.exists(out)) return(list())
    lines <- grep("^data: .*}$", whole_lines(out), value = TRUE)
    lapply(sub("^data: ", "", lines), drover::dr_from_json, simplify = FALSE)
  })
}

no_fields <- structure(list(), names = character())

reply_to <- function(question, result) list(jsonrpc = "2.0", id = question$id, result = result)

# The questions among events, and the answer that ends a stream.
questions_in <- function(events) Filter(function(one) !is.null(one$id) && !is.null(one$method), events)
answer_in <- function(events) Filter(function(one) !is.null(one$result) || !is.null(one$error), events)

test_every_worker("an older client is asked in the stream of its call, whose worker is free", function(start) {
  server <- start(waiting_app())
  client <- greeted_client(server)
  say <- function(question, result) client$call(reply_to(question, result))
  stream <- client$open(call_of("plan", list(what = "trip"), `_meta` = list(progressToken = "p")))
  expect(within(function() length(questions_in(stream$events())) == 2L), "no questions")
  asked <- questions_in(stream$events())
  expect(identical(vapply(asked, `[[`, "", "method"), c("elicitation/create", "sampling/createMessage")), "others")
  expect(stream$events()[[1L]]$method == "notifications/progress", "no progress")
  # with one worker, too
  expect(identical(client$call(call_of("free"))$json$result$content[[1L]]$text, "free"), "the worker waits")
  said <- list(role = "assistant", model = "m", content = list(type = "text", text = "hello"))
  expect(say(asked[[2L]], said)$status == "202", "an answer was refused")
  expect(say(asked[[1L]], list(action = "accept", content = list(year = 2027L)))$status == "202", "another one")
  expect(within(function() length(questions_in(stream$events())) == 3L), "no second round")
  sure <- questions_in(stream$events())[[3L]]
  expect(sure$params$message == "Sure of 2027", "another second question")
  say(sure, list(action = "accept", content = list(ok = TRUE)))
  expect(within(function() length(answer_in(stream$events())) == 1L), "no answer")
  answer <- answer_in(stream$events())[[1L]]
  expect(identical(answer$result$content[[1L]]$text, "trip 2027 hello TRUE") && answer$id == 7L, "another answer")
})

test("a question that is open while the app is loaded anew is answered, by older clients and newer ones", function() {
  server <- serve(waiting_app(), workers = 2)
  client <- greeted_client(server)
  stream <- client$open(call_of("plan", list(what = "trip")))
  expect(within(function() length(questions_in(stream$events())) == 2L), "no questions")
  newer <- function(...) {
    can <- list(elicitation = no_fields, sampling = no_fields)
    meta <- list(`io.modelcontextprotocol/protocolVersion` = NEWEST, `io.modelcontextprotocol/clientCapabilities` = can)
    call <- call_of("plan", list(what = "tour"), `_meta` = meta, ...)
    do.call(tell, c(list(server, call, "-H", "Mcp-Name: plan"), newest_fields("tools/call")))$json$result
  }
  asked <- newer()
  send_signal(server$pid, tools::SIGHUP)
  expect(logged(server, "reloaded: "), "it does not reload")
  said <- list(role = "assistant", model = "m", content = list(type = "text", text = "hello"))
  year <- list(action = "accept", content = list(year = 2027L))
  questions <- questions_in(stream$events())
  client$call(reply_to(questions[[2L]], said))
  client$call(reply_to(questions[[1L]], year))
  expect(within(function() length(questions_in(stream$events())) == 3L), "no second round")
  sure <- list(action = "accept", content = list(ok = TRUE))
  client$call(reply_to(questions_in(stream$events())[[3L]], sure))
  expect(within(function() length(answer_in(stream$events())) == 1L), "no answer")
  expect(answer_in(stream$events())[[1L]]$result$content[[1L]]$text == "trip 2027 hello TRUE", "another answer")
  again <- newer(requestState = asked$requestState, inputResponses = list(year = year, words = said))
  last <- newer(requestState = again$requestState, inputResponses = list(sure = sure))
  expect(identical(last$content[[1L]]$text, "tour 2027 hello TRUE"), drover::dr_to_json(last, auto_unbox = TRUE))
})

test("answers of older clients that do not fit, that are errors, and that nothing has asked for", function() {
  server <- serve(waiting_app(), workers = 2)
  client <- greeted_client(server)
  end_of <- function(reply) {
    stream <- client$open(call_of("plan", list(what = "trip")))
    expect(within(function() length(questions_in(stream$events())) == 2L), "no questions")
    asked <- questions_in(stream$events())
    client$call(reply_to(asked[[2L]], list(role = "assistant", model = "m", content = list(type = "text", text = "x"))))
    client$call(reply(asked[[1L]]))
    expect(within(function() length(answer_in(stream$events())) == 1L), "no end")
    answer_in(stream$events())[[1L]]$error
  }
  wrong <- end_of(function(question) reply_to(question, list(action = "accept", content = list(year = 1L))))
  expect(wrong$code == -32602L && grepl("wrong answer to \"year\": /year must be at least 1900", wrong$message),
    wrong$message)
  wrong <- end_of(function(question) reply_to(question, 7L))
  expect(grepl("it must be an object", wrong$message), wrong$message)
  wrong <- end_of(function(question) {
    list(jsonrpc = "2.0", id = question$id, error = list(code = -1L, message = "no"))
  })
  expect(grepl("the client could not answer \"year\"", wrong$message), wrong$message)
  for (id in list("forged", strrep("A", 90), 7L)) {
    answer <- client$call(reply_to(list(id = id), list(action = "accept")))
    expect(answer$status == "400" && grepl("no question", answer$json$error$message), answer$body)
  }
  # what it was not said to be able to, it is not asked; nor without a session, a stream, or as one of several
  unable <- greeted_client(server, list(sampling = no_fields))$call(call_of("plan", list(what = "trip")))
  expect(identical(unable$json$error$code, -32021L) && grepl("form", unable$json$error$message), unable$body)
  plain <- tell(server, call_of("plan", list(what = "trip")), "-H", "Accept: text/event-stream")
  expect(identical(plain$json$error$code, -32021L), plain$body)
  forged <- tell(server, call_of("plan", list(what = "trip")), "-H", "Accept: text/event-stream",
    "-H", paste0("Mcp-Session-Id: ", client$session, "x"))
  expect(identical(forged$json$error$code, -32021L), forged$body)
  batch <- tell(server, list(call_of("plan", list(what = "trip")), call_of("free")),
    "-H", paste("Mcp-Session-Id:", client$session), "-H", "Accept: text/event-stream")$json
  expect(identical(batch[[1L]]$error$code, -32021L) && length(batch) == 2L, "a question in a batch")
}, ways = 1L)

test("an older client of standard input is asked, too", function() {
  client <- converse(waiting_app())
  can <- list(elicitation = no_fields, sampling = no_fields)
  client$say(request_of(1L, "initialize", protocolVersion = "2025-11-25", capabilities = can))
  expect(within(function() length(client$heard()) == 1L), "no greeting")
  client$say(calling(7L, "plan", list(what = "trip")))
  expect(within(function() length(questions_in(client$heard())) == 2L), "no questions")
  for (question in questions_in(client$heard())) {
    client$say(reply_to(question, if (question$method == "elicitation/create") {
      list(action = "accept", content = list(year = 2027L))
    } else {
      list(role = "assistant", model = "m", content = list(type = "text", text = "hello"))
    }))
  }
  expect(within(function() length(questions_in(client$heard())) == 3L), "no second round")
  client$say(reply_to(questions_in(client$heard())[[3L]], list(action = "accept", content = list(ok = FALSE))))
  expect(within(function() length(answer_in(client$heard())) == 2L), "no answer")
  said <- answer_in(client$heard())[[2L]]
  expect(identical(said$result$content[[1L]]$text, "trip 2027 hello FALSE"), "another answer")
}, ways = 1L)

test("the log level of an older client is that of its session, at every worker", function() {
  file <- tempfile(fileext = ".R")
  writeLines(c(
    "library(drover)", "app <- dr_app()",
    "talk <- dr_tool(function() c(dr_mcp_log('info', 'a'), dr_mcp_log('error', 'b')), 'talk', 'Talks')",
    "dr_mcp(app, tools = list(talk))", "app"
  ), file)
  server <- serve(file, workers = 2)
  client <- greeted_client(server)
  other <- greeted_client(server)
  level <- function(client, level) {
    client$call(list(jsonrpc = "2.0", id = 1L, method = "logging/setLevel", params = list(level = level)))
  }
  told <- function(client) client$call(call_of("talk"))$body
  expect(grepl("[false,false]", told(client), fixed = TRUE), "a message before a level")
  expect(identical(level(client, "error")$json$result, no_fields), "no level")
  for (i in 1:4) expect(grepl("\"data\":\"b\".*\\[false,true\\]", told(client)), "another level: ", told(client))
  level(client, "debug")
  for (i in 1:4) expect(grepl("[true,true]", told(client), fixed = TRUE), "the level stayed")
  expect(grepl("[false,false]", told(other), fixed = TRUE), "the level of another session")
  expect(identical(level(client, "loud")$json$error$code, -32602L), "a level that there is not")
  alone <- tell(server, list(jsonrpc = "2.0", id = 1L, method = "logging/setLevel", params = list(level = "info")))
  expect(grepl("Mcp-Session-Id", alone$json$error$message), alone$body)
}, ways = 1L)
