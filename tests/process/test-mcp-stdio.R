# Tools for language models by standard input and output: `drover mcp` as its client sees it. Neighbour: test-mcp.R,
# which has the rest of the protocol.

# Starts `drover mcp` on an app, `...` are further words. A server of launch(), with say(), which sends a line: a text,
# or a message as a list; heard(), the messages so far; and hang_up(), which closes standard input.
converse <- function(app, ..., env = NULL) {
  marks <- new_marks()
  out <- tempfile("stdout-")
  command <- c(drover_program(), "mcp", app, ...)
  server <- c(
    start_program(command, c(MARKS = marks, env), out = out, ready = NULL, stdin = "|", cleanup_tree = FALSE),
    marks = marks
  )
  servers[[length(servers) + 1L]] <<- server
  lines <- function() whole_lines(out)
  say <- function(message) {
    text <- if (is.character(message)) message else drover::dr_to_json(message, auto_unbox = TRUE)
    left <- charToRaw(paste0(text, "\n"))
    expect(within(function() {
      left <<- server$process$write_input(left)
      !length(left)
    }), "it reads no more")
  }
  c(server, list(
    say = say, lines = lines,
    heard = function() lapply(lines(), drover::dr_from_json, simplify = FALSE),
    hang_up = function() close(server$process$get_input_connection())
  ))
}

request_of <- function(id, method, ...) {
  c(list(jsonrpc = "2.0", id = id, method = method), if (...length()) list(params = list(...)))
}
calling <- function(id, name, arguments = structure(list(), names = character()), ...) {
  request_of(id, "tools/call", name = name, arguments = arguments, ...)
}
cancelling <- function(id) {
  list(jsonrpc = "2.0", method = "notifications/cancelled", params = list(requestId = id, reason = "a test"))
}

# The answers to a request; one, as soon as it is there.
answers_to <- function(server, id) Filter(function(one) identical(one$id, id) && is.null(one$method), server$heard())
answer_to <- function(server, id) {
  there <- within(function() length(answers_to(server, id)) > 0L || !server$process$is_alive())
  expect(there && length(answers_to(server, id)) == 1L, "no answer to ", id, ": ",
    paste(c(server$lines(), server$log()), collapse = "\n"))
  answers_to(server, id)[[1L]]
}
said_to <- function(server, id) {
  answer <- answer_to(server, id)
  answer$result$content[[1L]]$text %||% paste("error", answer$error$code, answer$error$message)
}
`%||%` <- function(x, y) if (is.null(x)) y else x

# Those that the server has not answered when it has answered what comes later.
never_answered <- function(server, id) {
  server$say(request_of("last", "ping"))
  answer_to(server, "last")
  expect(!length(answers_to(server, id)), id, " has an answer: ", paste(server$lines(), collapse = "\n"))
}

stdio_app <- function() {
  write_app(c(
    "cat('loading by cat\\n')", "print('loading by print')", "system('echo loading by a child')",
    "app <- dr_app()",
    "add <- dr_tool(function(x, y) x + y, 'add', 'Adds', list(x = dr_int(), y = dr_int(default = 1L)))",
    "noisy <- dr_tool(function() {",
    "  cat('noise by cat\\n'); print('noise by print'); message('noise by message'); system('echo noise by a child')",
    "  warning('noise by warning')", "  'quiet'",
    "}, 'noisy', 'Prints')",
    "input <- dr_tool(function() length(readLines(file('stdin'))), 'input', 'Reads standard input')",
    "stand <- dr_tool(function(name) {",
    "  on.exit(if (!is_open(name)) mark('interrupted'))", "  stand_at(name)", "  'let go'",
    "}, 'stand', 'Stands at a gate', list(name = dr_chr()))",
    "steps <- dr_tool(function() {",
    "  dr_progress(1, 3)", "  dr_progress(2, 3)", "  stand_at('steps')", "  dr_progress(3, 3)", "  'three'",
    "}, 'steps', 'Takes steps')",
    "die <- dr_tool(function() { dr_progress(1); tools::pskill(Sys.getpid(), 9); Sys.sleep(60) }, 'die', 'Dies')",
    "broken <- dr_tool(function() dr_response('{\\n\"a\":\\n1}', headers = list('Content-Type' = 'application/json')),",
    "  'broken', 'JSON in lines')",
    "dr_mcp(app, tools = list(add, noisy, input, stand, steps, die, broken))", "app"
  ))
}

test("standard output has a line for each answer, whatever R and its children print", function() {
  server <- converse(stdio_app(), "--workers", "1")
  server$say(request_of(1L, "initialize", protocolVersion = "2025-11-25", capabilities = list(a = 1)))
  expect(answer_to(server, 1L)$result$protocolVersion == "2025-11-25", "the handshake")
  server$say(list(jsonrpc = "2.0", method = "notifications/initialized"))
  server$say(calling("n", "noisy"))
  expect(said_to(server, "n") == "quiet", said_to(server, "n"))
  # nothing of what the client says can be read by a handler
  server$say(calling("i", "input"))
  expect(said_to(server, "i") == "0", said_to(server, "i"))
  server$say(calling("b", "broken"))
  expect(said_to(server, "b") == "{\n\"a\":\n1}", said_to(server, "b"))
  server$hang_up()
  expect(identical(exit_status(server), 0L), "it has not ended in peace")
  expect(length(server$lines()) == 4L, paste(server$lines(), collapse = "\n"))
  noise <- c("loading by cat", "loading by print", "loading by a child", "noise by cat", "noise by print",
    "noise by message", "noise by a child", "noise by warning")
  for (line in noise) expect(logged(server, line), line, " is not on standard error")
}, ways = 1L)

test("requests are answered beside each other, and one that is cancelled frees its worker", function() {
  server <- converse(stdio_app(), "--workers", "1", "--timeout", "600")
  server$say(calling(1L, "stand", list(name = "first")))
  expect(marked(server, "first"), "it does not begin")
  server$say(calling(2L, "add", list(x = 1L)))
  # without a worker
  server$say("nothing")
  server$say(calling(1L, "add", list(x = 1L)))
  expect(grepl("^error -32600 .*under way", said_to(server, 1L)), said_to(server, 1L))
  server$say(cancelling(1L))
  expect(marked(server, "interrupted"), "the handler goes on")
  expect(said_to(server, 2L) == "2", said_to(server, 2L))
  # one that waits has no worker yet; the id of one that was given up may be used again
  server$say(calling(3L, "stand", list(name = "third")))
  expect(marked(server, "third"), "it does not begin")
  server$say(calling(4L, "add", list(x = 1L)))
  server$say(cancelling(4L))
  for (none in list(cancelling(99L), cancelling("3"), cancelling(list(3L)))) server$say(none)
  open_gate(server, "third")
  expect(said_to(server, 3L) == "let go", said_to(server, 3L))
  never_answered(server, 4L)
  expect(length(answers_to(server, 1L)) == 1L, "it was answered though it was cancelled")
}, ways = 1L)

test("progress comes while a call goes on, and others are answered meanwhile", function() {
  server <- converse(stdio_app(), "--workers", "2", "--timeout", "600")
  server$say(calling("s", "steps", `_meta` = list(progressToken = 7L)))
  progress <- function() {
    notes <- Filter(function(one) identical(one$method, "notifications/progress"), server$heard())
    vapply(notes, function(note) note$params$progress, 0)
  }
  expect(within(function() identical(progress(), c(1, 2))), paste(server$lines(), collapse = "\n"))
  server$say(calling("a", "add", list(x = 1L)))
  expect(said_to(server, "a") == "2" && !length(answers_to(server, "s")), "an answer too early")
  open_gate(server, "steps")
  expect(said_to(server, "s") == "three" && identical(progress(), c(1, 2, 3)), paste(server$lines(), collapse = "\n"))
  # the last line is the answer
  expect(identical(utils::tail(server$heard(), 1L)[[1L]]$id, "s"), "progress after the answer")
}, ways = 1L)

test("a worker that is killed in a call is an error of that call, and the next one works", function() {
  server <- converse(stdio_app(), "--workers", "1")
  server$say(calling(1L, "die"))
  expect(grepl("^error -32603 Bad Gateway", said_to(server, 1L)), said_to(server, 1L))
  expect(identical(answer_to(server, 1L)$error$data$status, 502L), "its status")
  server$say(calling(2L, "die", `_meta` = list(progressToken = 1L)))
  expect(said_to(server, 2L) == "error -32603 the answer broke off", said_to(server, 2L))
  server$say(calling(3L, "add", list(x = 2L)))
  expect(said_to(server, 3L) == "3", said_to(server, 3L))
}, ways = 1L)

test("version 2026-07-28 needs no handshake, and says by itself which it is", function() {
  server <- converse(stdio_app(), "--workers", "1")
  meta <- function(version) {
    fields <- list(version, structure(list(), names = character()))
    stats::setNames(fields, paste0("io.modelcontextprotocol/", c("protocolVersion", "clientCapabilities")))
  }
  server$say(request_of(1L, "server/discover", `_meta` = meta("2026-07-28")))
  expect("2026-07-28" %in% unlist(answer_to(server, 1L)$result$supportedVersions), server$lines())
  server$say(calling(2L, "add", list(x = 1L), `_meta` = meta("2026-07-28")))
  result <- answer_to(server, 2L)$result
  expect(result$resultType == "complete" && identical(result$structuredContent, 2L), server$lines()[[2L]])
  # what cannot stand in a header field arrives all the same
  server$say(calling(3L, "r\u00f6\r\nll", `_meta` = meta("2026-07-28")))
  expect(identical(answer_to(server, 3L)$error$code, -32602L), server$lines()[[3L]])
  server$say(request_of(4L, "ping", `_meta` = meta("2026-07-28")))
  expect(identical(answer_to(server, 4L)$error$code, -32601L), "ping is of older versions")
  server$say(request_of(5L, "tools/list", `_meta` = meta("1999-01-01")))
  expect(identical(answer_to(server, 5L)$error$code, -32022L), "a version that there is not")
}, ways = 1L)

test("lines that are no messages get errors, and what comes after them is answered", function() {
  server <- converse(stdio_app(), "--workers", "1", "--max-body", "1MB")
  server$say(request_of(0L, "initialize", protocolVersion = "2025-11-25"))
  answer_to(server, 0L)
  hostile <- list(
    list("garbage", -32700L), list("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\"", -32700L), list("7", -32600L),
    list("\"\\ud800\"", NULL), list(strrep("[", 1e5), -32700L),
    list(paste0("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":", strrep("{\"a\":", 1e5)), -32700L),
    list(strrep("x", 1.5e6), -32600L), list(strrep(" ", 1.5e6), -32600L),
    list("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32600L),
    list("{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}", -32600L),
    list("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600L)
  )
  for (one in hostile) {
    before <- length(server$lines())
    server$say(one[[1L]])
    shown <- substr(one[[1L]], 1L, 60L)
    expect(within(function() length(server$lines()) > before), "nothing is said to ", shown)
    answer <- server$heard()[[before + 1L]]
    expect(is.null(answer$id) && (is.null(one[[2L]]) || identical(answer$error$code, one[[2L]])), shown, ": ",
      server$lines()[[before + 1L]])
  }
  # to these nothing is said
  count <- length(server$lines())
  for (quiet in c("", "  ", "\r", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/other\"}",
                  "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}")) server$say(quiet)
  # zeros, and bytes that are no text
  server$process$write_input(as.raw(c(0x7b, 0x00, 0xff, 0x0a)))
  server$say(calling("ok", "add", list(x = 41L)))
  expect(said_to(server, "ok") == "42", said_to(server, "ok"))
  expect(within(function() length(server$lines()) == count + 2L), paste(server$lines(), collapse = "\n"))
}, ways = 1L)

test("a client that sends more than is answered is refused, and not kept", function() {
  server <- converse(stdio_app(), "--workers", "1", "--timeout", "600")
  server$say(calling("held", "stand", list(name = "held")))
  expect(marked(server, "held"), "it does not begin")
  for (i in 1:300) server$say(calling(i, "add", list(x = i)))
  refused <- function() Filter(function(one) identical(one$error$code, -32600L), server$heard())
  expect(within(function() length(refused()) == 45L), length(refused()), " are refused")
  expect(grepl("256 messages are under way", refused()[[1L]]$error$message), refused()[[1L]]$error$message)
  open_gate(server, "held")
  expect(said_to(server, "held") == "let go", said_to(server, "held"))
  expect(within(function() length(server$heard()) == 301L), "some have no answer")
}, ways = 1L)

test("at the end of standard input it answers what is under way, ends, and leaves nothing", function() {
  place <- tempfile("tmp-")
  dir.create(place)
  server <- converse(stdio_app(), "--workers", "2", env = c(TMPDIR = place, DROVER_SOCKETS = place))
  server$say(calling(1L, "stand", list(name = "held")))
  expect(marked(server, "held"), "it does not begin")
  # only its user may connect to it, and other commands leave it alone
  folder <- list.files(place, "^drover-files-", full.names = TRUE)
  expect(length(folder) == 1L && format(file.mode(folder)) == "700", "the folder: ", toString(list.files(place)))
  expect(file.exists(file.path(folder, "mcp")), "the socket: ", toString(list.files(folder)))
  shows(command("status", "--sockets", place), 4L)
  server$hang_up()
  expect(never(function() !server$process$is_alive(), 0.3), "it does not wait for a call")
  open_gate(server, "held")
  expect(identical(exit_status(server), 0L), paste(server$log(), collapse = "\n"))
  expect(said_to(server, 1L) == "let go", said_to(server, 1L))
  expect(!nrow(family()), "left: ", toString(family()$command))
  expect(!length(list.files(place)), "left: ", toString(list.files(place)))
}, ways = 1L)

test("what is under way for longer than graceful_timeout at the end of standard input is given up", function() {
  server <- converse(stdio_app(), "--workers", "1", "--timeout", "600", "--graceful-timeout", "0.5")
  server$say(calling(1L, "stand", list(name = "held")))
  expect(marked(server, "held"), "it does not begin")
  server$hang_up()
  expect(identical(exit_status(server), 0L), paste(server$log(), collapse = "\n"))
  expect(!any(grepl("let go", server$lines())), paste(server$lines(), collapse = "\n"))
}, ways = 1L)

test("a client that goes at once, a signal, and a kill end all of its processes", function() {
  # nothing was said, and the app is still loaded
  server <- converse(write_app(c("stand_at('loading')", "dr_mcp(dr_app())")))
  expect(marked(server, "loading"), "it does not load")
  server$hang_up()
  expect(identical(exit_status(server), 0L), paste(server$log(), collapse = "\n"))
  for (how in c(tools::SIGTERM, tools::SIGINT, tools::SIGKILL)) {
    server <- converse(stdio_app(), "--workers", "2")
    server$say(calling(1L, "add", list(x = 1L)))
    expect(said_to(server, 1L) == "2", said_to(server, 1L))
    send_signal(server$pid, how)
    expect(server_ended(server), "signal ", how)
    if (how != tools::SIGKILL) expect(identical(exit_status(server), 0L), "the status after signal ", how)
    expect(within(function() !nrow(family())), "left after signal ", how, ": ", toString(family()$command))
  }
}, ways = 1L)

test("a client that reads no more ends the program", function() {
  piped <- processx::process$new("sh", c("-c", "\"$@\" | head -n 1", "sh", drover_program(), "mcp", stdio_app()),
    stdin = "|", stdout = "|", stderr = NULL, cleanup_tree = FALSE,
    env = c("current", R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep), MARKS = new_marks()))
  message <- paste0(drover::dr_to_json(request_of(1L, "ping"), auto_unbox = TRUE), "\n")
  # an error when it has ended already
  say <- function() tryCatch(piped$write_input(message), error = function(e) NULL)
  # the input stays open: what ends it is that it cannot write
  expect(within(function() {
    say()
    !piped$is_alive()
  }), "it goes on")
}, ways = 1L)

test("the app is loaded anew after HUP, and its tools are the new ones", function() {
  file <- tempfile("app-", fileext = ".R")
  write <- function(name, path) write_app(sprintf(
    "dr_mcp(dr_app(), '%s', list(dr_tool(function() '%s', '%s', 'A tool')))", path, name, name), file)
  write("old", "/mcp")
  server <- converse(file, "--workers", "1")
  server$say(calling(1L, "old"))
  expect(said_to(server, 1L) == "old", said_to(server, 1L))
  write("new", "/other/p\u00e4th")
  send_signal(server$pid, tools::SIGHUP)
  id <- 1L
  expect(within(function() {
    id <<- id + 1L
    server$say(calling(id, "new"))
    identical(said_to(server, id), "new")
  }), paste(server$log(), collapse = "\n"))
}, ways = 1L)

test("an app without dr_mcp() offers its routes, before those that would answer in its place", function() {
  server <- converse(write_app(c(
    "app <- dr_app()",
    "dr_use(app, function(req, nxt) { if (identical(req$path, '/closed')) dr_abort(403, 'closed') else nxt() })",
    "dr_any(app, '/*path', function(req) 'all')",
    "dr_get(app, '/sum/<a:int>', function(a, b) a + b, params = list(b = dr_int()), summary = 'Sums')",
    "dr_get(app, '/closed', function(req) 'open', summary = 'Closed')"
  )), "--workers", "1")
  server$say(calling(1L, "get_sum_a", list(a = 1L, b = 2L)))
  expect(said_to(server, 1L) == "3", said_to(server, 1L))
  wrong <- function(lines, said, ...) {
    ran <- command("mcp", "--list", write_app(lines), ...)
    shows(ran, 1L, NULL, paste0("^drover: .*", said))
    expect(!length(ran$out), paste(ran$out, collapse = "\n"))
  }
  wrong("dr_get(dr_app(), '/x', function(req) 1)", "it offers no tools: it has no dr_mcp\\(\\), and no route with a")
  wrong("dr_post(dr_get(dr_app(), '/x', identity, summary = 'X'), '/mcp', identity)", "its route POST /mcp is not that")
  several <- "app <- dr_mcp(dr_mcp(dr_app(), '/a'), '/b')"
  wrong(several, "it has dr_mcp\\(\"/a\"\\) and dr_mcp\\(\"/b\"\\): say by --endpoint which one is meant")
  wrong(several, "no endpoint has the path /c: it has", "--endpoint", "/c")
  wrong("stop('not today')", "cannot load .*not today")
  # the same when it is to be served, and nothing is said to the client
  server <- converse(write_app(several))
  server$say(request_of(1L, "ping"))
  expect(identical(exit_status(server), 1L) && !length(server$lines()), paste(server$lines(), collapse = "\n"))
  expect(logged(server, "say by --endpoint which one is meant"), paste(server$log(), collapse = "\n"))
}, ways = 1L)

test("what middleware answers in place of the endpoint is an error of the call", function() {
  said <- function(middleware) {
    server <- converse(write_app(c(
      sprintf("app <- dr_use(dr_app(), function(req, nxt) %s)", middleware), "dr_mcp(app)"
    )), "--workers", "1")
    server$say(request_of(1L, "ping"))
    said_to(server, 1L)
  }
  closed <- said("dr_abort(403, 'closed today')")
  expect(closed == "error -32603 Forbidden: closed today", closed)
  other <- said("list(error = 'closed today')")
  expect(other == "error -32603 the app's answer is no message", other)
}, ways = 1L)

test("authentication is for clients that come over a network, unless there are credentials", function() {
  app <- write_app(c(
    "app <- dr_app()",
    "dr_auth_bearer(app, tokens = c(ada = 't-123456789012345678901234'))",
    "who <- dr_tool(function(req) paste('user', req$auth$user), 'who', 'Who asks')",
    "dr_get(app, '/secret', function(req) 'secret', summary = 'A secret')",
    "dr_mcp(app, tools = list(who))", "app"
  ))
  who <- function(credentials = NULL) {
    server <- converse(app, "--workers", "1", env = c(DROVER_CREDENTIALS = credentials))
    server$say(calling(1L, "who"))
    list(said = said_to(server, 1L), log = server$log())
  }
  expect(who()$said == "user ", who()$said)
  right <- who("Authorization: Bearer t-123456789012345678901234")
  expect(right$said == "user ada", right$said)
  expect(!any(grepl("DROVER_CREDENTIALS", right$log)), "the variable is said to mean nothing")
  wrong <- who("Authorization: Bearer other")$said
  expect(wrong == "error -32603 Unauthorized: the app does not take these credentials", wrong)
  refused <- command("mcp", app, env = c(DROVER_CREDENTIALS = "secret-word"))
  shows(refused, 2L, NULL, "must be a header field such as")
  # a route behind a policy that is not that of the endpoint is a secret only for others
  apart <- write_app(c(
    "app <- dr_get(dr_app(), '/inner/secret', function(req) 'secret', summary = 'A secret')",
    "dr_auth_bearer(app, tokens = c(ada = 't-123456789012345678901234'), routes = '/inner')", "dr_mcp(app)", "app"
  ))
  shows(command("mcp", "--list", apart), 0L, "^tool  get_inner_secret +A secret$")
  with <- command("mcp", "--list", apart, env = c(DROVER_CREDENTIALS = "Authorization: Bearer x"))
  shows(with, 1L, NULL, "GET /inner/secret is behind a policy of who may ask")
}, ways = 1L)

test("settings of a server that listens are not those of drover mcp", function() {
  folder <- tempfile("app-")
  dir.create(folder)
  app <- write_app("dr_mcp(dr_app(), tools = list(dr_tool(function() 'here', 'here', 'Here')))", file.path(folder, "app.R"))
  writeLines(c(
    "host = \"192.0.2.1\"", "port = 1", "admin = \"192.0.2.1:2\"", "allowed_hosts = \"shop.example\"", "errors = \"text\"",
    "workers = 1", "[tls]", "tls_cert = \"/none.pem\"", "tls_key = \"/none.key\""
  ), file.path(folder, "drover.toml"))
  server <- converse(app, env = c(PORT = "many", DROVER_HOST = "192.0.2.1"))
  server$say(calling(1L, "here"))
  expect(said_to(server, 1L) == "here", said_to(server, 1L))
  expect(logged(server, "at standard input and output \\(workers=1\\)"), paste(server$log(), collapse = "\n"))
  shows(command("mcp", app, "--port", "80"), 2L, NULL, "unexpected argument '--port'")
}, ways = 1L)

test("drover mcp --list shows tools, their arguments and what they are for", function() {
  app <- file.path(tools_example, "app.R")
  ran <- command("mcp", "--list", app)
  shows(ran, 0L, c(
    "^tool  summarise_cars     column           Mean and standard deviation of a column",
    "^tool  bootstrap_mean     column, rounds[?]  A confidence", "^tool  stopping_distance  speed            The stopping"
  ))
  expect(length(ran$out) == 4L && !length(ran$err), paste(c(ran$out, ran$err), collapse = "\n"))
  listed <- jsonlite::fromJSON(command("mcp", "--list", "--json", app)$out, simplifyVector = FALSE)$tools
  expect(listed[[2L]]$name == "histogram_cars" && listed[[2L]]$inputSchema$properties$bins$maximum == 50L, "the JSON")
  titled <- write_app(c("print('noise')", "f <- function() 1", "dr_mcp(dr_app(), tools = list(",
    "  dr_tool(f, 'a', 'First line\\nsecond', title = 'A title')))"))
  ran <- command("mcp", "--list", titled)
  shows(ran, 0L, "^tool  a    A title: First line$", "noise")
  shows(command("mcp", "--list", write_app("dr_mcp(dr_app())")), 1L, NULL, "it offers no tools, resources or prompts$")
  shows(command("mcp", "--list", "missing.R"), 4L, NULL, "cannot read missing.R")
  shows(command("mcp", "--json", app), 2L, NULL, "--list")
}, ways = 1L)

# What tests/process/mcp-client.py prints.
python_use <- function(marks, mode, ..., env = NULL) {
  python <- file.path(root, ".cache/mcp/bin/python")
  if (!file.exists(python)) skip("the package mcp could not be fetched")
  ran <- processx::run(python, c(file.path(here, "mcp-client.py"), mode, marks, ...), error_on_status = FALSE,
    timeout = patience(120), env = c("current", R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep),
      MARKS = marks, LD_LIBRARY_PATH = "", env))
  told <- strsplit(ran$stdout, "\n")[[1L]]
  wanted <- c(
    paste("version:", if (mode == "auto") "2026-07-28" else "2025-11-25"),
    "tools: ['add', 'broken', 'die', 'input', 'noisy', 'stand', 'steps']", "sum: 3", "meanwhile: 7",
    "steps: three [1.0, 2.0, 3.0]", "given up: CancelledError", "died: -32603", "died: -32603", "afterwards: 11", "closed"
  )
  expect(identical(told, wanted) && ran$status == 0L, paste(c(told, ran$stderr), collapse = "\n"))
}

for (mode in c("auto", "legacy")) local({
  mode <- mode
  test(paste("the package mcp starts its server, calls, hears, gives up, and loses workers, mode", mode), function() {
    python_use(new_marks(), mode, drover_program(), "mcp", stdio_app(), "--workers", "2", "--timeout", "600")
  }, ways = 1L)
})
