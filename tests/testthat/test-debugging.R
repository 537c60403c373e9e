# browser(), debug() and readline() in handlers, at a console with one worker. In scripts and worker processes:
# test-faults-session.R.

browsing <- c(
  "add <- function(x) {", "  x + 1", "}",
  "look <- function(req) {", "  x <- 41", "  browser()", "  add(x)", "}",
  "dr_get(app, '/', look)",
  "dr_get(app, '/short', look, timeout = 0.3)",
  "dr_get(app, '/name', function(req) paste('Hello', readline('name? ')))",
  "dr_get(app, '/add', function(req) add(1))",
  "dr_get(app, '/plain', function(req) 'plain')"
)

# Asks, waits until the console shows `prompt`, types, and gives the answer, once all prompts are there that lines were
# typed at: one that came later would be taken for that of the next request.
asked <- function(console, server, path, ..., prompt = "Browse\\[1\\]> ") {
  before <- nchar(console$screen())
  shows <- function(pattern, times = 1L) within(function() {
    console$shows("")
    found <- gregexpr(pattern, substring(console$screen(), before + 1L))[[1L]]
    sum(found > 0L) >= times
  })
  client <- raw_client(server$port)
  client_send(client, request_bytes(path))
  expect_true(shows(prompt), info = console$screen())
  for (line in c(...)) {
    console$process$write_input(line)
    # lines wait in the terminal until R reads them; Ctrl-C, which shows nothing, is to come before the next one
    if (line == "\003") let_pass(0.3)
  }
  response <- client_response(client)
  # Ctrl-C shows nothing, and is not typed at a prompt of its own
  expect_true(shows("Browse\\[[0-9]+\\]> |name\\? ", sum(c(...) != "\003")), info = console$screen())
  response
}

# The prompt is R's again: what was typed is not run there, and it takes the next line.
expect_prompt <- function(console) {
  mark <- basename(tempfile("mark"))
  console$write(sprintf("cat(paste0('%s', '-%s'), '\\n')", mark, "typed"))
  expect_true(console$shows(paste0(mark, "-typed")), info = console$screen())
  expect_no_match(console$screen(), "Primitive\\(\"c\"\\)|object '(n|Q|ada)' not found")
}

test_that("a handler is looked at with browser() and debug(), and asks with readline()", {
  for (arguments in c("workers = 1L", "workers = 1L, block = TRUE")) {
    console <- local_console()
    server <- console$serve(browsing, arguments)
    expect_identical(asked(console, server, "/", "x <- 1\n", "c\n")$text, "2", info = arguments)
    # it says how to have clients wait on, and in no way that is deprecated
    expect_match(console$screen(), "drover: a handler asks here.*dr_serve\\(timeouts = dr_timeouts\\(timeout = 0\\)\\)")
    expect_identical(asked(console, server, "/", "n\n", "x\n", "c\n")$text, "42", info = arguments)
    expect_identical(asked(console, server, "/name", "ada\n", prompt = "name\\? ")$text, "Hello ada", info = arguments)
    # left, the handler has no answer, and the server stays
    expect_identical(asked(console, server, "/", "Q\n")$status, 500L, info = arguments)
    # nobody types anything for this one
    expect_identical(fetch(server, "/plain")$text, "plain", info = arguments)
    if (grepl("block", arguments)) {
      console$process$write_input("\003")
    } else {
      expect_prompt(console)
      console$write("debug(add)")
      # a request that is there before R has read the line is answered before
      expect_prompt(console)
      expect_identical(asked(console, server, "/add", "x\n", "c\n", prompt = "Browse\\[2\\]> ")$text, "2")
      console$write("undebug(add)")
    }
    expect_prompt(console)
    expect_true(console$process$is_alive())
  }
})

test_that("Ctrl-C while a handler asks ends it with the next line, and the prompt works on", {
  console <- local_console()
  server <- console$serve(browsing, "workers = 1L")
  expect_identical(asked(console, server, "/", "\003", "\n")$status, 500L)
  expect_identical(fetch(server, "/plain")$text, "plain")
  expect_prompt(console)
  expect_identical(asked(console, server, "/", "c\n")$text, "42")
  expect_prompt(console)
})

test_that("neither a deadline nor a client that leaves cuts what somebody looks at", {
  console <- local_console()
  server <- console$serve(browsing, "workers = 1L, timeout = 600")
  expect_identical(asked(console, server, "/short")$status, 504L)
  # what would cut it may come after the answer
  let_pass(0.3)
  console$write("cat('still', x, '\\n')")
  expect_true(console$shows("still 41"), info = console$screen())
  console$write("c")
  expect_true(within(function() identical(fetch(server, "/plain")$text, "plain")))
  # its client leaves
  client <- raw_client(server$port)
  client_send(client, request_bytes("/"))
  expect_true(console$shows("still 41.*Browse\\[1\\]> $"), info = console$screen())
  client_close(client)
  if (file.exists("/proc/net/tcp")) expect_true(within(function() open_connections(server$port) == 0))
  # and after the connection
  let_pass(0.3)
  console$write("cat('here', x, '\\n')")
  expect_true(console$shows("here 41"), info = console$screen())
  console$write("c")
  expect_true(within(function() identical(fetch(server, "/plain")$text, "plain")))
  expect_prompt(console)
})
