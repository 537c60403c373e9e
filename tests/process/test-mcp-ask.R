# Calls that ask their client, and log messages: several rounds at any worker, states that are forged, answers that do
# not fit. Neighbour: test-mcp.R.

asking_app <- function() {
  file <- tempfile(fileext = ".R")
  writeLines(c(
    "library(drover)", "app <- dr_app()",
    "year <- dr_mcp_form('Which year?', list(year = dr_int(min = 1900), since = dr_date(required = FALSE)))",
    "plan <- dr_tool(function(what) {",
    "  first <- dr_mcp_ask(year = year)$year",
    "  if (is.null(first)) return('no year')",
    "  sure <- tryCatch(dr_mcp_ask(sure = dr_mcp_form(paste('Sure of', first$year), list(ok = dr_lgl()))),",
    "    error = function(e) 'swallowed', condition = function(c) 'swallowed')$sure",
    "  paste(what, class(first$year), first$year, class(first$since), isTRUE(sure$ok), Sys.getpid())",
    "}, 'plan', 'Plans', list(what = dr_chr()))",
    "other <- dr_tool(function(what) dr_mcp_ask(year = year)$year$year, 'other', 'Other', list(what = dr_chr()))",
    "visit <- dr_tool(function() if (dr_mcp_can('url')) dr_mcp_ask(go = dr_mcp_url('https://a.example/', 'Go'))$go,",
    "  'visit', 'Visits')",
    "words <- dr_tool(function() dr_mcp_ask(a = dr_mcp_sampling('Say it', 10), b = dr_mcp_roots()), 'words', 'Words')",
    "talk <- dr_tool(function() c(dr_mcp_log('info', list(n = 1L), 'talk'), dr_mcp_log('error', 'bad')), 'talk', 'Talks')",
    "manual <- dr_mcp_resource('asks://manual', function() dr_mcp_ask(year = year)$year$year, 'manual')",
    "dr_get(app, '/year', function() c(dr_mcp_can('form'), dr_mcp_ask(year = year)), summary = 'Asks')",
    "if (nzchar(Sys.getenv('ASK_KEYS'))) {",
    "  dr_auth_key(app, keys = c(ann = strrep('a', 24), bob = strrep('b', 24)), routes = '/mcp')",
    "}",
    "dr_mcp(app, tools = list(plan, other, visit, words, talk), resources = list(manual))", "app"
  ), file)
  file
}

empty_object <- structure(list(), names = character())

# A function(name, arguments, ...) that calls a tool in version 2026-07-28; `...` are further members of `params`.
caller_2026 <- function(server, can = list(elicitation = empty_object, sampling = empty_object, roots = empty_object)) {
  function(name, arguments = empty_object, ..., method = "tools/call", fields = character(), meta = list()) {
    about <- c(list("io.modelcontextprotocol/protocolVersion" = "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities" = can), meta)
    target <- if (method == "resources/read") list(uri = name) else list(name = name, arguments = arguments)
    message <- list(jsonrpc = "2.0", id = 7L, method = method, params = c(target, list(...), list(`_meta` = about)))
    said <- c("MCP-Protocol-Version: 2026-07-28", paste("Mcp-Method:", method), paste("Mcp-Name:", name), fields)
    do.call(tell, c(list(server, message), as.vector(rbind("-H", said))))
  }
}

accepted <- function(...) list(action = "accept", content = list(...))
text_of <- function(answer) answer$json$result$content[[1L]]$text

test_every_worker("a tool asks in rounds, which any worker answers", function(start) {
  server <- start(asking_app())
  call <- caller_2026(server)
  first <- call("plan", list(what = "trip"))
  result <- first$json$result
  expect(first$status == "200" && result$resultType == "input_required", first$body)
  asked <- result$inputRequests$year
  expect(asked$method == "elicitation/create" && asked$params$message == "Which year?", first$body)
  expect(identical(asked$params$requestedSchema$properties$year$type, "integer"), first$body)
  second <- call("plan", list(what = "trip"), requestState = result$requestState,
    inputResponses = list(year = accepted(year = 2027L, since = "2026-01-02"), none = 7L))$json$result
  expect(second$inputRequests$sure$params$message == "Sure of 2027", "another second question")
  # answers of the first round are in the state; every worker opens it
  told <- lapply(1:6, function(i) {
    text_of(call("plan", list(what = "trip"), requestState = second$requestState,
      inputResponses = list(sure = accepted(ok = TRUE))))
  })
  expect(all(grepl("^trip integer 2027 Date TRUE [0-9]+$", told)), unlist(told))
  for (action in c("decline", "cancel")) {
    said <- text_of(call("plan", list(what = "trip"), inputResponses = list(year = list(action = action))))
    expect(identical(said, "no year"), said)
  }
  read <- call("asks://manual", method = "resources/read")
  expect(read$json$result$resultType == "input_required", "a resource: ", read$body)
  read <- call("asks://manual", method = "resources/read", inputResponses = list(year = accepted(year = 1999L)))
  expect(identical(read$json$result$contents[[1L]]$text, "1999"), "a resource: ", read$body)
  # a route that is a tool asks; requested directly it cannot
  routed <- call("get_year")
  expect(identical(names(routed$json$result$inputRequests), "year"), routed$body)
  expect(ask(server, "/year")$status == "500" && logged(server, "dr_mcp_can"), "a route asked without a call")
})

test("answers that do not fit, and clients that cannot be asked", function() {
  server <- serve(asking_app(), workers = 1)
  call <- caller_2026(server)
  refused <- function(answer, code, says) {
    is_right <- answer$status == "400" && identical(answer$json$error$code, code) && grepl(says, answer$json$error$message)
    expect(is_right, says, ": ", answer$body)
  }
  year <- function(given) call("other", list(what = "x"), inputResponses = list(year = given))
  refused(year(12345L), -32602L, "wrong answer to \"year\": it must be an object")
  refused(year(list(1L)), -32602L, "it must be an object")
  refused(year(list(action = "maybe")), -32602L, "`action` must be")
  refused(year(list(action = list("accept"))), -32602L, "`action` must be")
  refused(year(list(action = "accept", content = list(1L))), -32602L, "`content` must be an object")
  refused(year(accepted(year = "2027")), -32602L, "/year must be a whole number")
  refused(year(accepted(year = 1L)), -32602L, "/year must be at least 1900")
  refused(year(list(action = "accept")), -32602L, "year")
  refused(call("other", list(what = "x"), inputResponses = list(1L)), -32602L, "`params.inputResponses` must be an object")
  words <- function(a, b) call("words", inputResponses = list(a = a, b = b))
  said <- list(role = "assistant", model = "m", content = list(type = "text", text = "it"))
  here <- list(roots = list(list(uri = "file:///a", name = "a"), list(uri = "file:///b")))
  refused(words(list(model = "m"), here), -32602L, "answer to \"a\": `content` must be")
  refused(words(said[1:2], here), -32602L, "`content` must be")
  refused(words(said, list(roots = list("file:///a"))), -32602L, "answer to \"b\": `roots` must be")
  answer <- drover::dr_from_json(text_of(words(said, here)))
  expect(identical(answer$a$text, "it") && identical(answer$b$uri, c("file:///a", "file:///b")), "other words")
  deep <- sprintf("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"inputResponses\":%s}}",
    paste0(strrep("[", 200), strrep("]", 200)))
  expect(identical(tell(server, deep)$json$error$code, -32700L), "deep JSON")
  # what a client does not declare is not asked
  unable <- caller_2026(server, empty_object)
  answer <- unable("other", list(what = "x"))
  refused(answer, -32021L, "form")
  expect(identical(names(answer$json$error$data$requiredCapabilities), "elicitation"), answer$body)
  for (can in list("x", list(elicitation = "x"))) {
    refused(caller_2026(server, can)("other", list(what = "x")), if (is.list(can)) -32021L else -32602L, "clientCap|form")
  }
  expect(identical(call("visit")$json$result$content, list()), "a client without the mode was sent to a page")
  modes <- caller_2026(server, list(elicitation = list(url = empty_object)))
  sent <- modes("visit")$json$result$inputRequests$go$params
  expect(identical(sent$url, "https://a.example/") && sent$mode == "url", "another page")
  expect(identical(text_of(modes("visit", inputResponses = list(go = list(action = "accept")))), "true"), "no consent")
  refused(modes("other", list(what = "x")), -32021L, "form")
  # older versions have no such results
  old <- tell(server, call_of("other", list(what = "x")))
  expect(identical(old$json$error$code, -32021L), old$body)
}, ways = 1L)

test("a state opens for its call and its client only", function() {
  server <- serve(asking_app(), workers = 2, env = c(ASK_KEYS = "yes"))
  call <- caller_2026(server)
  of <- function(key) paste("X-API-Key:", strrep(key, 24))
  given <- list(year = accepted(year = 2027L))
  plan <- function(state, name = "plan", what = "trip", key = "a") {
    call(name, list(what = what), requestState = state, inputResponses = given, fields = of(key))
  }
  state <- call("plan", list(what = "trip"), fields = of("a"))$json$result$requestState
  expect(plan(state)$json$result$resultType == "input_required", "its own state was refused")
  changed <- sub("^.", if (startsWith(state, "A")) "B" else "A", state)
  wrong <- list(
    forged = plan(changed), longer = plan(paste0(state, "-TAMPERED")), empty = plan(""), none = plan(list(1L)),
    long = plan(strrep("A", 1e5)), tool = plan(state, name = "other"), arguments = plan(state, what = "another trip"),
    client = plan(state, key = "b")
  )
  for (what in names(wrong)) {
    answer <- wrong[[what]]
    expect(answer$status == "400" && identical(answer$json$error$code, -32602L), what, ": ", answer$body)
    expect(grepl("requestState", answer$json$error$message), what, ": ", answer$body)
  }
}, ways = 1L)

test_every_worker("log messages reach the clients that ask for them, of their level", function(start) {
  server <- start(asking_app())
  call <- caller_2026(server)
  from <- function(level) list("io.modelcontextprotocol/logLevel" = level)
  streams <- "Accept: application/json, text/event-stream"
  told <- call("talk", meta = from("debug"), fields = streams)$body
  events <- lapply(sub("^data: ", "", grep("^data: ", strsplit(told, "\n")[[1L]], value = TRUE)), drover::dr_from_json,
    simplify = FALSE)
  expect(length(events) == 3L && all(vapply(events[1:2], `[[`, "", "method") == "notifications/message"), told)
  expect(identical(events[[1L]]$params, list(level = "info", logger = "talk", data = list(n = 1L))), told)
  expect(identical(events[[2L]]$params, list(level = "error", data = "bad")), told)
  expect(identical(events[[3L]]$result$content[[1L]]$text, "[true,true]"), told)
  expect(grepl("[false,true]", call("talk", meta = from("warning"), fields = streams)$body, fixed = TRUE), "the level")
  # without a level, or without a stream, there are none
  expect(identical(text_of(call("talk", fields = streams)), "[false,false]"), "a message that was not asked for")
  expect(identical(text_of(call("talk", meta = from("debug"))), "[false,false]"), "a message without a stream")
  answer <- call("talk", meta = from("loud"), fields = streams)
  expect(answer$status == "400" && grepl("debug, info", answer$json$error$message), answer$body)
})
