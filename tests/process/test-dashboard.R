# /__drover__/: what the server tells of itself, who gets it, and what may be done there. The page itself is in
# tests/browser. And `drover status --watch`, which shows the same.

dashboard_app <- function() write_app(c(
  "app <- dr_app()",
  "dr_get(app, '/text', function(req) 'text')",
  "dr_get(app, '/fail', function(req) stop('it broke: <b>', req$query$x))",
  "dr_get(app, '/wait/<n>', function(req) {",
  "  stand_at('go')",
  "  'waited'",
  "})",
  "dr_get(app, '/crash', function(req) tools::pskill(Sys.getpid(), tools::SIGKILL))",
  "app"
))

# The next message of the stream of events.
next_message <- function(admin) {
  client <- start_client("curl", c("-sN", "--max-time", "60", paste0(admin$url, "/__drover__/events")), stdout = "|")
  on.exit(client$kill())
  data <- character()
  within(function() {
    data <<- c(data, grep("^data: ", client$read_output_lines(), value = TRUE))
    length(data) > 0L || !client$is_alive()
  })
  expect(length(data) > 0L, "no event comes")
  jsonlite::fromJSON(sub("^data: ", "", data[[1L]]), simplifyVector = FALSE)
}

# Waits until a message is so, and returns it.
message_with <- function(admin, what, is_so) {
  message <- NULL
  found <- within(function() {
    message <<- next_message(admin)
    is_so(message)
  })
  expect(found, what, ": ", jsonlite::toJSON(message, auto_unbox = TRUE))
  message
}

token_file <- function(token = "correct-horse-battery") {
  file <- tempfile("token-")
  writeLines(token, file)
  file
}

post <- function(admin, path, token = NULL, ...) {
  fields <- if (!is.null(token)) c("-H", paste("Authorization: Bearer", token))
  ask(admin, paste0("/__drover__/", path), "-X", "POST", fields, ...)
}

test_every_worker("the server tells how it is, on the address for whoever runs it and nowhere else", function(start) {
  server <- start(dashboard_app(), admin = "127.0.0.1:0")
  admin <- admin_of(server)
  for (path in c("/__drover__/", "/__drover__/events", "/__drover__/reload")) {
    expect(ask(server, path)$status == "404", path, " is where clients of the app are")
  }
  page <- ask(admin, "/__drover__/")
  expect(page$status == "200" && grepl("<title>drover</title>", page$body), "no page: ", page$status, " ", page$body)
  policy <- field(page, "content-security-policy")
  expect(grepl("default-src 'none'", policy) && !grepl("unsafe", policy), "policy: ", policy)
  expect(field(page, "x-frame-options") == "DENY", "it may be framed")
  expect(field(ask(admin, "/__drover__"), "location") == "__drover__/", "without the last slash")
  expect(ask(admin, "/__drover__/none")$status == "404", "a file that there is none of")
  expect(ask(admin, "/__drover__/", "-d", "x")$status == "405", "POST of the page")
  # a name that may be anybody's, pointed to this machine
  expect(ask(admin, "/__drover__/events", "-H", "Host: evil.example")$status == "403", "another name")

  expect(ask(server, "/fail?x=1")$status == "500", "it does not fail")
  waiting <- ask_later(server, "/wait/%3Cb%3E?secret=1")
  expect(marked(server, "go"), "the request does not begin")
  message <- message_with(admin, "nothing runs", function(message) length(message$snapshot$workers[[1L]]$runs) > 0L)
  snapshot <- message$snapshot
  running <- snapshot$workers[[1L]]$runs[[1L]]
  expect(running$path == "/wait/%3Cb%3E" && running$method == "GET", "another request: ", running$path)
  expect(running$route == "/wait/<n>" && nchar(running$id) == 16L, "another route: ", running$route)
  expect(snapshot$workers[[1L]]$state == "busy" && snapshot$workers[[1L]]$memory > 1e7, "another worker")
  error <- snapshot$errors[[length(snapshot$errors)]]
  expect(grepl("it broke: <b>1", error$message, fixed = TRUE), "another error: ", error$message)
  expect(length(error$calls) > 0L && nchar(error$request) == 16L, "no calls")
  expect(snapshot$figures$by_status[["5xx"]] == 1L, "the error is not counted")
  expect(!message$actions, "actions are on")
  later <- message_with(admin, "it does not last", function(message) {
    runs <- message$snapshot$workers[[1L]]$runs
    length(runs) > 0L && runs[[1L]]$seconds > running$seconds + 0.5
  })
  open_gate(server, "go")
  expect(waiting()$body == "waited", "the request was lost")
  message_with(admin, "it still runs", function(message) length(message$snapshot$workers[[1L]]$runs) == 0L)
})

test("several look at once, who reads nothing holds nobody up, and the end of the server ends all streams", function() {
  server <- serve(dashboard_app(), workers = 1L, admin = "127.0.0.1:0", threads = 2L, graceful_timeout = 600)
  admin <- admin_of(server)
  port <- as.integer(sub(".*:", "", admin$url))
  mute <- socketConnection("127.0.0.1", port, open = "r+b", blocking = TRUE)
  on.exit(close(mute))
  writeBin(charToRaw("GET /__drover__/events HTTP/1.1\r\nHost: localhost\r\n\r\n"), mute)
  streams <- lapply(1:3, function(i) {
    start_client("curl", c("-sN", "--max-time", "300", paste0(admin$url, "/__drover__/events")), stdout = "|")
  })
  had <- integer(3L)
  enough <- within(function() {
    for (i in 1:3) had[[i]] <<- had[[i]] + sum(grepl("^data: ", streams[[i]]$read_output_lines()))
    all(had >= 3L)
  })
  expect(enough, "events: ", toString(had))
  expect(ask(server, "/text")$body == "text", "the app does not answer")
  send_signal(server$pid, tools::SIGTERM)
  expect(identical(exit_status(server), 0L), "streams keep it from ending")
  for (stream in streams) {
    stream$wait(patience(30) * 1000)
    expect(identical(stream$get_exit_status(), 0L), "a stream was broken off: ", stream$get_exit_status())
  }
}, ways = 1)

test("a worker that dies is replaced, and both are told", function() {
  server <- serve(dashboard_app(), workers = 1L, admin = "127.0.0.1:0")
  admin <- admin_of(server)
  before <- next_message(admin)$snapshot$workers[[1L]]$pid
  ask(server, "/crash")
  message <- message_with(admin, "no other worker", function(message) {
    workers <- message$snapshot$workers
    length(workers) == 1L && workers[[1L]]$pid != before && workers[[1L]]$state == "idle"
  })
  expect(message$snapshot$figures$restarts$signal == 1L, "no restart is counted")
  expect(any(vapply(message$snapshot$errors, function(error) grepl(before, error$message), NA)), "no error is told")
}, ways = 1)

test_every_worker("actions need the token, POST, and no other site", function(start) {
  token <- "correct-horse-battery"
  server <- start(dashboard_app(), admin = "127.0.0.1:0", admin_token = token_file(token))
  admin <- admin_of(server)
  message <- next_message(admin)
  expect(message$actions, "actions are off")
  generation <- message$snapshot$workers[[1L]]$generation
  refused <- list(
    "401" = post(admin, "reload"), "401" = post(admin, "reload", "correct-horse-battery2"),
    "401" = post(admin, "restart/1", ""),
    "405" = ask(admin, "/__drover__/reload", "-H", paste("Authorization: Bearer", token)),
    "403" = post(admin, "reload", token, "-H", "Sec-Fetch-Site: cross-site"),
    "403" = post(admin, "reload", token, "-H", "Origin: http://evil.example"),
    "404" = ask(admin, "/__drover__/restart/x")
  )
  for (i in seq_along(refused)) {
    expect(refused[[i]]$status == names(refused)[[i]], i, ": ", refused[[i]]$status, " ", refused[[i]]$body)
  }
  expect(ask(server, "/__drover__/reload", "-X", "POST", "-H", paste("Authorization: Bearer", token))$status == "404",
    "clients of the app reload it")
  expect(next_message(admin)$snapshot$workers[[1L]]$generation == generation, "it was reloaded")
  answer <- post(admin, "reload", token)
  if (identical(start, starts[["the session"]])) {
    expect(answer$status == "409" && grepl("dr_reload", answer$body), "the session: ", answer$status, " ", answer$body)
    return()
  }
  expect(answer$status == "202", "reload: ", answer$status, " ", answer$body)
  reloaded <- message_with(admin, "no reload", function(message) {
    workers <- message$snapshot$workers
    length(workers) == 1L && workers[[1L]]$generation == generation + 1L && workers[[1L]]$state == "idle"
  })
  pid <- reloaded$snapshot$workers[[1L]]$pid
  expect(post(admin, paste0("restart/", pid), token)$status == "202", "restart")
  message <- message_with(admin, "no other worker", function(message) {
    workers <- message$snapshot$workers
    length(workers) == 1L && workers[[1L]]$pid != pid && workers[[1L]]$state == "idle"
  })
  expect(message$snapshot$figures$restarts$asked == 1L, "it is not counted")
  expect(ask(server, "/text")$body == "text", "it does not serve")
})

test("without a token actions are off, and one that is none is an error", function() {
  server <- serve(dashboard_app(), workers = 1L, admin = "127.0.0.1:0")
  answer <- post(admin_of(server), "reload", "correct-horse-battery")
  expect(answer$status == "403" && grepl("admin_token", answer$body), answer$status, " ", answer$body)
  for (file in c(token_file("short"), tempfile("none-"))) {
    ran <- run_to_end(command_of(dashboard_app(), admin = "127.0.0.1:0", admin_token = file))
    expect(identical(ran$status, 2L) && any(grepl("admin_token: ", ran$log)), paste(ran$log, collapse = "\n"))
  }
}, ways = 1)

test("where the pages were not built the server says why", function() {
  library <- tempfile("library-")
  dir.create(library)
  file.copy(system.file(package = "drover"), library, recursive = TRUE)
  web <- file.path(library, "drover/web")
  unlink(file.path(web, "*"), recursive = TRUE)
  writeLines("npm was not found when the package was built", file.path(web, "missing.txt"))
  command <- command_of(dashboard_app(), workers = 1L, admin = "127.0.0.1:0")
  server <- launch(c(file.path(library, "drover/bin/drover"), command[-1L]))
  expect(!is.null(server$url), paste(server$log(), collapse = "\n"))
  page <- ask(admin_of(server), "/__drover__/")
  expect(page$status == "404" && page$body == "this page is not here: npm was not found when the package was built",
    page$status, " ", page$body)
  expect(next_message(admin_of(server))$snapshot$workers[[1L]]$alive, "the stream is not there either")
}, ways = 1)

test("drover status --watch shows a server again and again, in a pipe and at a terminal", function() {
  runtime <- runtime_folder()
  server <- launch(command_of(dashboard_app(), workers = 1L, admin = "127.0.0.1:0"), env = runtime)
  expect(!is.null(server$url), paste(server$log(), collapse = "\n"))
  ask(server, "/fail?x=%1B%5B2J")
  waiting <- ask_later(server, "/wait/1")
  expect(marked(server, "go"), "the request does not begin")
  environment <- c("current", R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep), TERM = "xterm", runtime)
  # in a pipe: blocks, until it is told to end
  start_watch <- function(stderr) {
    processx::process$new(drover_program(), c("status", "--watch"), stdout = "|", stderr = stderr, env = environment)
  }
  watch <- start_watch("2>&1")
  lines <- character()
  shown <- within(function() {
    lines <<- c(lines, watch$read_output_lines())
    sum(grepl("requests/s", lines)) >= 2L
  })
  expect(shown, paste(lines, collapse = "\n"))
  expect(sum(grepl(paste0("^", server$url), lines)) >= 3L, "not a block for each look")
  expect(any(grepl("busy .*GET /wait/1 for ", lines)), paste(lines, collapse = "\n"))
  expect(any(grepl("^  .* GET /fail 500 it broke: <b>", lines)), "the error is not there")
  expect(!any(grepl("\033", lines, fixed = TRUE)), "a pipe gets orders for terminals")
  send_signal(watch$get_pid(), tools::SIGINT)
  watch$wait(patience(30) * 1000)
  expect(identical(watch$get_exit_status(), 0L), "Ctrl-C: status ", watch$get_exit_status())
  for (key in c("q", "^C")) {
    ran <- processx::run("python3", c(
      file.path(here, "keyboard.py"), "q ends", key, drover_program(), "status", "--watch"
    ), env = environment, timeout = 90)
    expect(grepl("status 0, terminal as before", ran$stdout, fixed = TRUE), key, ": ", ran$stdout)
    expect(grepl("\033[?1049l", ran$stdout, fixed = TRUE), "the other screen stays")
  }
  # the server ends: so does this, with an error
  open_gate(server, "go")
  waiting()
  watch <- start_watch("|")
  expect(within(function() length(watch$read_output_lines()) > 0L), "nothing is shown")
  send_signal(server$pid, tools::SIGTERM)
  watch$wait(patience(30) * 1000)
  expect(identical(watch$get_exit_status(), 1L), "status ", watch$get_exit_status())
  expect(grepl("has ended", watch$read_all_error()), "no word")
}, ways = 1)
