# Tools for language models: the example by the official client, every version, calls that are wrong, clients that
# leave.

tools_example <- file.path(root, "inst/examples/tools")

# The result of a message of JSON-RPC: list(status, json).
tell <- function(server, message, ..., path = "/mcp") {
  body <- if (is.character(message)) message else drover::dr_to_json(message, auto_unbox = TRUE)
  answer <- ask(server, path, "--json", body, ...)
  c(answer, list(json = tryCatch(drover::dr_from_json(answer$body, simplify = FALSE), error = function(e) NULL)))
}

call_of <- function(name, arguments = structure(list(), names = character()), ...) {
  list(jsonrpc = "2.0", id = 7L, method = "tools/call", params = list(name = name, arguments = arguments, ...))
}

# The example's client, told where its server is.
use_example <- function(mode, ..., env = NULL) {
  python <- file.path(root, ".cache/mcp/bin/python")
  if (!file.exists(python)) skip("the package mcp could not be fetched")
  client <- c(file.path(tools_example, "client.py"), "--mode", mode, ...)
  libraries <- paste(.libPaths(), collapse = .Platform$path.sep)
  ran <- processx::run(python, client, error_on_status = FALSE, timeout = patience(60),
    env = c("current", LD_LIBRARY_PATH = "", R_LIBS = libraries, env))
  told <- strsplit(ran$stdout, "\n")[[1L]]
  wanted <- c(
    paste("version:", if (mode == "auto") "2026-07-28" else "2025-11-25"),
    "server: cars | Facts on cars of 1920 and 1974. Distances are in feet, speeds in mph.",
    "tool: summarise_cars ['column']", "tool: histogram_cars ['bins', 'column']",
    "tool: bootstrap_mean ['column', 'rounds']", "tool: stopping_distance ['speed']",
    "distance: 65.0", "summary: 32 146.6875", "picture: image/png b'PNG'", "interval: True",
    "progress: [(100.0, 300.0, 'resampling'), (200.0, 300.0, 'resampling'), (300.0, 300.0, 'resampling')]"
  )
  expect(identical(told[seq_along(wanted)], wanted), paste(c(told, ran$stderr), collapse = "\n"))
  expect(grepl("^refused: True /column must be one of", told[length(wanted) + 1L]), told[length(wanted) + 1L])
}

for (mode in c("auto", "legacy")) local({
  mode <- mode
  app <- file.path(tools_example, "app.R")
  test(paste("the package mcp uses the tools of the example, mode", mode), function() {
    server <- serve(app, workers = 2, env = with_usual_packages)
    use_example(mode, paste0(server$url, "/mcp"))
  }, ways = 1L)
  test(paste("the package mcp uses the tools of the example by TLS, mode", mode), function() {
    server <- serve(app, workers = 2, tls_cert = pem("server.pem"), tls_key = pem("server.key"),
      env = with_usual_packages)
    use_example(mode, sprintf("https://localhost:%d/mcp", server$port), env = c(SSL_CERT_FILE = pem("ca.pem")))
  }, ways = 1L)
  test(paste("the package mcp starts the example by itself, mode", mode), function() {
    use_example(mode, drover_program(), "mcp", app)
  }, ways = 1L)
})

# `door`: whether there is middleware in front of the endpoint.
mcp_app <- function(door = FALSE) {
  file <- tempfile(fileext = ".R")
  writeLines(c(
    "library(drover)",
    "app <- dr_app()",
    if (door) c(
      "dr_use(app, function(req, nxt) { if (identical(req$headers$`x-door`, 'shut')) dr_abort(403, 'shut') else nxt() })",
      "dr_use(app, function(req, nxt) tryCatch(nxt(), error = function(e) stop('an error of a tool has come to it')))"
    ),
    "dr_on_error(app, function(req, condition) dr_text('as the app has it', max(condition$status, 400L)))",
    "maybe <- dr_tool(function(x, y = 'usual') paste(x, y), 'maybe', 'Maybe', list(x = dr_int(), y = dr_chr(required = FALSE)))",
    "add <- dr_tool(function(x, y) x + y, 'add', 'Adds', list(x = dr_int(), y = dr_int(default = 1L)))",
    "type <- dr_tool(function(x) class(x), 'type', 'Class of x', list(x = dr_date()))",
    "fail <- dr_tool(function() stop('secret-7'), 'fail', 'Fails')",
    "no <- dr_tool(function() dr_abort(409, 'come back tomorrow'), 'no', 'Says no')",
    "who <- dr_tool(function(req) paste(req$method, req$remote_addr), 'who', 'Who asks')",
    "bytes <- dr_tool(function() as.raw(0:3), 'bytes', 'Bytes')",
    "nothing <- dr_tool(function() NULL, 'nothing', 'Nothing')",
    "slow <- dr_tool(function() for (i in seq_len(1e9)) { Sys.sleep(0.05); dr_progress(i) }, 'slow', 'Slow')",
    "dr_post(app, '/sum/<a:int>', function(a, times, body) list(sum = sum(body$numbers) * times + a),",
    "  params = list(times = dr_int(default = 1L, max = 3)),",
    "  body = dr_schema(numbers = dr_array(dr_dbl(), max_items = 3)), summary = 'Sums')",
    "dr_get(app, '/plain/<id>', function(req) paste('plain', req$params$id, req$method, req$path),",
    "  description = 'A handler without types')",
    "dr_get(app, '/silent', function(req) 'not for models')",
    "sub <- dr_app()",
    "dr_get(sub, '/here', function(req) list(query = req$query$q), params = list(q = dr_chr(required = FALSE)),",
    "  operation_id = 'mounted', summary = 'In a mounted app')",
    "dr_mount(app, '/sub', sub)",
    "dr_mcp(app, tools = list(add, type, fail, no, who, bytes, nothing, slow, maybe))",
    "app"
  ), file)
  file
}

test_every_worker("values of calls have their types, and errors tell no more than they may", function(start) {
  for (door in c(FALSE, TRUE)) expect_calls(start(mcp_app(door)), door)
})

expect_calls <- function(server, door) {
  listed <- tell(server, list(jsonrpc = "2.0", id = "a", method = "tools/list"))
  names <- vapply(listed$json$result$tools, `[[`, "", "name")
  expect(setequal(names, c("add", "type", "fail", "no", "who", "bytes", "nothing", "slow", "maybe", "post_sum_a",
    "get_plain_id", "mounted")), paste(names, collapse = " "))
  expect(identical(listed$json$id, "a"), "another id")
  text <- function(...) {
    answer <- tell(server, call_of(...))
    paste(c(if (isTRUE(answer$json$result$isError)) "error:", answer$json$result$content[[1L]]$text), collapse = " ")
  }
  expect(text("add", list(x = 2L)) == "3", text("add", list(x = 2L)))
  expect(text("maybe", list(x = 2L)) == "2 usual", text("maybe", list(x = 2L)))
  expect(text("maybe", list(y = "z", x = 2L)) == "2 z", text("maybe", list(y = "z", x = 2L)))
  expect(text("type", list(x = "2026-11-25")) == "Date", text("type", list(x = "2026-11-25")))
  expect(text("add", list(x = 2.5)) == "error: /x must be a whole number, not 2.5", text("add", list(x = 2.5)))
  expect(grepl("^error: .*x", text("add")), text("add"))
  said <- text("fail")
  expect(grepl("^error: ", said) && !grepl("secret", said), said)
  expect(logged(server, "secret-7"), "the error is not in the log")
  expect(text("no") == "error: come back tomorrow", text("no"))
  expect(grepl("^POST 127", text("who")), text("who"))
  expect(text("post_sum_a", list(a = 1L, numbers = list(1, 2), times = 2L)) == "{\"sum\":7}",
    text("post_sum_a", list(a = 1L, numbers = list(1, 2), times = 2L)))
  expect(grepl("^error: ", text("post_sum_a", list(a = 1L, numbers = list(1, 2, 3, 4)))), "four numbers passed")
  expect(grepl("^error: ", text("post_sum_a", list(a = "x", numbers = list(1)))), "a string passed for a number")
  expect(text("get_plain_id", list(id = "7")) == "plain 7 GET /plain/7", text("get_plain_id", list(id = "7")))
  expect(text("mounted", list(q = "x")) == "{\"query\":\"x\"}", text("mounted", list(q = "x")))
  blob <- tell(server, call_of("bytes"))$json$result$content[[1L]]
  expect(identical(blob$type, "resource") && identical(blob$resource$blob, "AAECAw=="), "other bytes")
  expect(identical(blob$resource$uri, "result:content"), "a URI that validators refuse: ", blob$resource$uri)
  expect(identical(tell(server, call_of("nothing"))$json$result$content, list()), "NULL has content")
  if (!door) {
    # what is no call's is answered as the app's errors are
    wrong <- ask(server, "/mcp", "-d", "{}", "-H", "Content-Type: text/plain")
    return(expect(wrong$status == "415" && wrong$body == "as the app has it", paste(wrong$status, wrong$body)))
  }
  # the middleware of the app is in front of the endpoint
  expect(ask(server, "/mcp", "--json", "{}", "-H", "X-Door: shut")$status == "403", "middleware was passed by")
}

test("messages that are none, of the wrong kind, or for nobody", function() {
  server <- serve(mcp_app(), workers = 1)
  code <- function(message, ...) tell(server, message, ...)$json$error$code
  expect(identical(code("{"), -32700L), "no JSON")
  for (wrong in c("7", "null", "[]", "{}", "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
                  "{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}",
                  "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[1]}")) {
    answer <- tell(server, wrong)
    expect(answer$status == "400" && identical(answer$json$error$code, -32600L), wrong, ": ", answer$body)
  }
  request <- function(method, ...) {
    c(list(jsonrpc = "2.0", id = 1L, method = method), if (...length()) list(params = list(...)))
  }
  expect(identical(code(request("resources/hide", a = 1)), -32601L), "a method that there is not")
  expect(identical(code(call_of("nobody<script>")), -32602L), "a tool that there is not")
  expect(identical(code(request("tools/call", name = "add", arguments = list(1L))), -32602L), "arguments in an array")
  expect(identical(tell(server, request("ping"))$json$result, structure(list(), names = character())), "ping")
  expect(tell(server, list(jsonrpc = "2.0", method = "notifications/initialized"))$status == "202", "a notification")
  expect(ask(server, "/mcp", "-d", "x=1")$status == "415", "a form was taken")
  expect(ask(server, "/mcp")$status == "405", "GET was taken")
  expect(ask(server, "/mcp", "--json", "{}", "-H", "Sec-Fetch-Site: cross-site")$status == "403", "another site's page")
  expect(ask(server, "/mcp", "--json", "{}", "-H", "Origin: https://evil.example")$status == "403", "another origin")
  greeted <- function(version) {
    asked <- request("initialize", protocolVersion = version, capabilities = list(a = 1))
    tell(server, asked)$json$result$protocolVersion
  }
  expect(greeted("2025-06-18") == "2025-06-18" && greeted("1999-01-01") == "2025-11-25", "another version")
  old <- tell(server, request("ping"), "-H", "MCP-Protocol-Version: 1999-01-01")
  expect(old$status == "400" && identical(old$json$error$code, -32022L), "an unknown version: ", old$body)
  expect(identical(old$json$id, 1L), "an error that is for no request: ", old$body)
  batch <- list(request("ping"), list(jsonrpc = "2.0", method = "notifications/initialized"), request("nothing", a = 1))
  answers <- tell(server, batch)$json
  expect(length(answers) == 2L && identical(answers[[2L]]$error$code, -32601L), "another batch")
  expect(tell(server, batch, "-H", "MCP-Protocol-Version: 2025-11-25")$status == "400", "a batch in a later version")
}, ways = 1L)

test("hostile messages have one clear error each, and the next one is answered", function() {
  server <- serve(mcp_app(), workers = 1)
  call <- function(params, id = "1") sprintf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\",\"params\":%s}", id, params)
  refused <- function(body, code, says) {
    answer <- tell(server, body)
    is_right <- identical(answer$json$error$code, code) && grepl(says, answer$json$error$message)
    expect(is_right, substr(body, 1L, 80L), ": ", answer$body)
  }
  nested <- function(depth) paste0(strrep("[", depth), strrep("]", depth))
  refused(call(sprintf("{\"name\":\"add\",\"arguments\":{\"x\":%s}}", nested(100))), -32700L, "nested too deep")
  refused(nested(5e4), -32700L, "nested too deep")
  # of two values, what stands before this server may have read the other one
  refused(call("{\"name\":\"no\",\"name\":\"add\",\"arguments\":{\"x\":1}}"), -32700L, "not JSON that can be read: .*name")
  refused(call("{\"name\":\"a\\u0000b\"}"), -32700L, "NUL")
  refused(call("{\"name\":\"a\"}", "\"\\ud800\""), -32700L, "not JSON")
  # names that only begin like those that are meant
  refused(call("{\"names\":\"add\",\"arguments\":{\"x\":1}}"), -32602L, "`params.name` must be")
  refused(call("{\"name\":\"add\",\"arguments\":[1]}"), -32602L, "`params.arguments` must be an object")
  refused(call("{\"name\":[\"add\"]}"), -32602L, "`params.name` must be")
  answer <- tell(server, call("{\"name\":\"add\",\"arguments\":{\"x\":1},\"_meta\":\"x\"}"))
  expect(identical(answer$json$result$content[[1L]]$text, "2"), "`_meta` that is none: ", answer$body)
  answer <- tell(server, call("{\"name\":\"add\",\"argument\":{\"x\":1},\"argumentsX\":{\"x\":1}}"))
  expect(isTRUE(answer$json$result$isError) && grepl("x", answer$json$result$content[[1L]]$text), answer$body)
  ping <- "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
  refused(paste0("[", paste(rep(ping, 101L), collapse = ","), "]"), -32600L, "at most 100 messages at a time, not 101")
  # ids come back as they were meant
  for (id in c("7", "-7", "9007199254740993", "\"</script>\\u00e9\"")) {
    answer <- tell(server, call("{\"name\":\"add\",\"arguments\":{\"x\":2147483646}}", id))
    wanted <- if (startsWith(id, "\"")) "</script>\u00e9" else id
    given <- sub("^.*\"id\":(.*),\"result\".*$", "\\1", answer$body)
    expect(identical(if (is.character(answer$json$id)) answer$json$id else given, wanted), answer$body)
    expect(identical(answer$json$result$content[[1L]]$text, "2147483647"), answer$body)
  }
}, ways = 1L)

test("version 2026-07-28: what a message says and its header fields must agree", function() {
  server <- serve(mcp_app(), workers = 1)
  meta <- list("io.modelcontextprotocol/protocolVersion" = "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities" = structure(list(), names = character()))
  fields <- function(method, name = NULL, version = "2026-07-28") {
    named <- if (!is.null(name)) paste("Mcp-Name:", name)
    as.vector(rbind("-H", c(paste("MCP-Protocol-Version:", version), paste("Mcp-Method:", method), named)))
  }
  say <- function(message, fields) do.call(tell, c(list(server, message), as.list(fields)))
  call <- call_of("add", list(x = 1L), `_meta` = meta)
  answer <- say(call, fields("tools/call", "add"))
  result <- answer$json$result
  expect(answer$status == "200" && result$resultType == "complete" && result$content[[1L]]$text == "2", answer$body)
  expect(identical(result$structuredContent, 2L), "a number is no structured content: ", answer$body)
  for (wrong in list(fields("tools/call"), fields("tools/call", "fail"), fields("tools/list", "add"))) {
    answer <- say(call, wrong)
    expect(answer$status == "400" && identical(answer$json$error$code, -32020L), answer$body)
  }
  answer <- say(call, fields("tools/call", "=?base64?YWRk?="))
  expect(answer$status == "200", "a wrapped name: ", answer$body)
  answer <- say(call_of("add", list(x = 1L)), fields("tools/call", "add"))
  expect(answer$status == "400" && identical(answer$json$error$code, -32602L), "without _meta: ", answer$body)
  discover <- list(jsonrpc = "2.0", id = 1L, method = "server/discover", params = list(`_meta` = meta))
  found <- say(discover, fields("server/discover"))
  expect("2026-07-28" %in% unlist(found$json$result$supportedVersions), found$body)
  gone <- say(list(jsonrpc = "2.0", id = 1L, method = "ping", params = list(`_meta` = meta)), fields("ping"))
  expect(gone$status == "404" && identical(gone$json$error$code, -32601L), gone$body)
}, ways = 1L)

test_every_worker("progress comes as a stream, and a client that leaves it frees the worker", function(start) {
  # nothing but the end of the client ends the call
  server <- start(mcp_app(), timeout = 600)
  call <- drover::dr_to_json(call_of("slow", `_meta` = list(progressToken = "p")), auto_unbox = TRUE)
  out <- tempfile("progress-")
  client <- start_client("curl", c("-s", "-N", "-o", out, "-H", "Accept: application/json, text/event-stream",
    "--json", call, paste0(server$url, "/mcp")))
  body <- function() if (file.exists(out)) readChar(out, file.size(out), useBytes = TRUE) else ""
  expect(within(function() grepl("\"progressToken\":\"p\",\"progress\":2}", body(), fixed = TRUE)), body())
  client$kill()
  # what is read of the request is read while the stream goes on
  asked <- call_of("who", `_meta` = list(progressToken = "p"))
  told <- tell(server, asked, "-H", "Accept: text/event-stream")$body
  expect(grepl("\"text\":\"POST (127|unix)", told), told)
  # one that asks for nothing gets none
  answer <- tell(server, call_of("add", list(x = 1L)))
  expect(identical(answer$json$result$content[[1L]]$text, "2"), "the worker is not free: ", answer$body)
})

test_every_worker("resources, prompts and completion, in pages", function(start) {
  file <- tempfile(fileext = ".R")
  writeLines(c(
    "library(drover)", "app <- dr_app()",
    "many <- lapply(1:150, function(i) dr_mcp_resource(paste0('many://', i), paste('number', i), paste0('n', i)))",
    "bytes <- dr_mcp_resource('bytes://x.y', as.raw(0:3), 'bytes', mime_type = 'application/x-bytes')",
    "car <- dr_mcp_resource('cars://{name}/facts', function(name) {",
    "  if (name == 'broken') stop('secret-8')",
    "  if (!name %in% rownames(datasets::mtcars)) dr_abort(404, 'no such car')",
    "  as.list(datasets::mtcars[name, 1:2])",
    "}, 'car', 'A car', complete = list(name = function(typed) grep(typed, rownames(datasets::mtcars), value = TRUE)))",
    "ask <- dr_mcp_prompt(function(column, times) {",
    "  list(paste(column, times), dr_mcp_content('so be it', 'x://y' = list(a = 1), role = 'assistant'))",
    "}, 'ask', 'Asks', list(column = dr_factor(names(datasets::mtcars)), times = dr_chr(required = FALSE, default = 'once')))",
    "fails <- dr_mcp_prompt(function() stop('secret-9'), 'fails', 'Fails')",
    "several <- dr_tool(function() dr_mcp_content('a', dr_png(graphics::plot(1)), 'x://z' = as.raw(1)), 'several', 'Several')",
    "dr_mcp(app, tools = list(several), resources = c(many, list(bytes, car)), prompts = list(ask, fails))", "app"
  ), file)
  server <- start(file)
  say <- function(method, ...) tell(server, list(jsonrpc = "2.0", id = 1L, method = method, params = list(...)))$json
  first <- say("resources/list", a = 1)$result
  expect(length(first$resources) == 100L && identical(first$resources[[1L]]$uri, "many://1"), "another first page")
  second <- say("resources/list", cursor = first$nextCursor)$result
  expect(length(second$resources) == 51L && is.null(second$nextCursor), "another second page")
  for (wrong in list("3", "-1", "x", 2L)) {
    expect(identical(say("resources/list", cursor = wrong)$error$code, -32602L), "cursor ", wrong, " is one")
  }
  templates <- say("resources/templates/list", a = 1)$result$resourceTemplates
  expect(identical(templates[[1L]]$uriTemplate, "cars://{name}/facts"), "another template")
  read <- function(uri) say("resources/read", uri = uri)
  expect(identical(read("many://7")$result$contents[[1L]]$text, "number 7"), "another text")
  content <- read("bytes://x.y")$result$contents[[1L]]
  expect(identical(content[c("mimeType", "blob")], list(mimeType = "application/x-bytes", blob = "AAECAw==")), "bytes")
  content <- read("cars://Fiat%20128/facts")$result$contents[[1L]]
  expect(identical(content[2:3], list(mimeType = "application/json", text = "{\"mpg\":32.4,\"cyl\":4}")), "a template")
  for (none in c("bytes://xzy", "cars:///facts", "cars://a/b/facts", "cars://%zz/facts", "cars://%00/facts",
                 "cars://%ff/facts", "cars://nothing/facts", "")) {
    answer <- read(none)
    expect(identical(answer$error$code, -32002L) && identical(answer$error$data$uri, none), "read: ", none)
  }
  failed <- read("cars://broken/facts")$error
  expect(failed$code == -32603L && !grepl("secret", failed$message) && logged(server, "secret-8"), failed$message)
  messages <- say("prompts/get", name = "ask", arguments = list(column = "mpg"))$result$messages
  expect(identical(vapply(messages, `[[`, "", "role"), c("user", "assistant", "assistant")), "other roles")
  expect(identical(messages[[1L]]$content$text, "mpg once"), "another message")
  expect(identical(messages[[3L]]$content$resource$text, "{\"a\":1}"), "another resource")
  wrong <- say("prompts/get", name = "ask", arguments = list(column = "none"))$error
  expect(wrong$code == -32602L && grepl("/column must be one of", wrong$message), wrong$message)
  expect(identical(say("prompts/get", name = "fails")$error$code, -32603L), "an error is none")
  kinds <- vapply(tell(server, call_of("several"))$json$result$content, `[[`, "", "type")
  expect(identical(kinds, c("text", "image", "resource")), "other content: ", kinds)
  complete <- function(ref, name, value) {
    say("completion/complete", ref = ref, argument = list(name = name, value = value))$result$completion
  }
  ask <- list(type = "ref/prompt", name = "ask")
  expect(identical(complete(ask, "column", "D")$values, list("disp", "drat")), "values of a factor")
  expect(identical(complete(ask, "times", "o")$values, list()), "values of a string")
  car <- list(type = "ref/resource", uri = "cars://{name}/facts")
  expect(identical(complete(car, "name", "Fiat")$values, list("Fiat 128", "Fiat X1-9")), "values of a function")
  nothing <- say("completion/complete", ref = list(type = "ref/prompt", name = "none"),
    argument = list(name = "a", value = ""))
  expect(identical(nothing$error$code, -32602L), "a prompt that there is not")
})

test("a page whose name was made to lead to this machine may not call, but for trusted ones", function() {
  file <- tempfile(fileext = ".R")
  writeLines(c("library(drover)", "app <- dr_app()", "dr_mcp(app, trusted = 'https://*.example.org')", "app"), file)
  server <- serve(file, workers = 1)
  ping <- list(jsonrpc = "2.0", id = 1L, method = "ping")
  from <- function(origin) {
    tell(server, ping, "-H", paste("Origin:", origin), "-H", paste0("Host: ", sub("^.*//", "", origin)))$status
  }
  expect(from("http://evil.example") == "403", "a name of another site")
  expect(from("http://localhost.evil.example") == "403", "a name that begins like this machine's")
  expect(from("http://localhost:99") == "200" && from("http://127.0.0.1") == "200", "a page of this machine")
  expect(from("https://app.example.org") == "200", "a trusted one")
}, ways = 1L)

test("a route behind a policy of who may ask is not offered without it", function() {
  app <- function(routes) {
    file <- tempfile(fileext = ".R")
    writeLines(c(
      "library(drover)", "app <- dr_app()",
      "dr_get(app, '/inner/secret', function(req) 'secret', summary = 'A secret')",
      sprintf("dr_auth_key(app, keys = c(me = 'k-123456789012345678901234'), routes = %s)", routes),
      "dr_mcp(app)", "app"
    ), file)
    file
  }
  ended <- run_to_end(c(drover_program(), "serve", app("'/inner'"), "--port", "0"))
  said <- paste(ended$log, collapse = "\n")
  expect(ended$status != 0L && grepl("GET /inner/secret", said) && grepl("dr_mcp(\"/mcp\")", said, fixed = TRUE), said)
  server <- serve(app("c('/inner', '/mcp')"), workers = 1)
  expect(ask(server, "/mcp", "--json", "{}")$status == "401", "without a key")
}, ways = 1L)
