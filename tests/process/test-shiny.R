# Apps of Shiny, by the protocol of its pages: a session over a WebSocket, and what it fetches over HTTP.

response_of_call <- function(page, tag) {
  heard(page, function(said) if (identical(said$response$tag, tag)) said$response$value)
}

test_every_worker("a page is served, and its outputs follow its inputs, timers and promises", function(start) {
  needs_shiny()
  server <- start(shiny_file)
  page <- ask(server, "/")
  files <- unlist(regmatches(page$body, gregexpr("[a-z0-9/.-]+[.](js|css)(?=\")", page$body, perl = TRUE)))
  expect(page$status == "200" && any(grepl("shiny.min.js$", files)), "no page: ", page$status)
  for (file in files) expect(ask(server, paste0("/", file))$status == "200", "there is no ", file)
  # among them links to files of other packages of Debian's
  shared <- system.file("www", "shared", package = "shiny")
  files <- list.files(shared, "[.](js|css|woff2)$", recursive = TRUE)
  linked <- nzchar(Sys.readlink(file.path(shared, files))) & file.exists(file.path(shared, files))
  for (file in c("shiny.min.js", files[linked])) {
    expect(ask(server, paste0("/shared/", file))$status == "200", "Shiny's own files are not there: ", file)
  }
  expect(ask(server, "/nothing")$status == "404", "something at /nothing")
  client <- shiny_page(server, c("greeting", "ticks", "kept"), name = "Ada")
  # it says TRUE, which a page does not take of a plain socket
  expect(heard(client, function(said) said$allowReconnect) == "force", "the page would not come back")
  expect(output_of(client, "greeting") == "Hello, Ada!", "another value at the start")
  set_inputs(client, name = "Grace")
  becomes(client, "greeting", "Hello, Grace!")
  # nothing but time passes
  first <- as.integer(output_of(client, "ticks"))
  becomes(client, "ticks", as.character(first + 3L))
  set_inputs(client, promise = "word")
  becomes(client, "kept", "kept word")
  set_inputs(client, later = "word")
  becomes(client, "kept", "later")
  expect(ws_leave(client) == 1000, "another code")
  expect(noted_line(server, "^ended Grace$"), "the session does not end: ", toString(notes(server)))
})

test_every_worker("files go up and down for the session that they belong to, and for no other", function(start) {
  needs_shiny()
  server <- start(shiny_file)
  ada <- shiny_page(server, c("data", "file", "greeting"), name = "Ada")
  grace <- shiny_page(server, c("data", "greeting"), name = "Grace")
  expect(ada$token != grace$token, "two sessions have one token")
  becomes(ada, "greeting", "Hello, Ada!")
  becomes(grace, "greeting", "Hello, Grace!")
  expect(download(server, ada)$body == "data of Ada" && download(server, grace)$body == "data of Grace", "other data")
  expect(grepl("data.csv", field(download(server, ada), "content-disposition")), "no name")
  # longer than a body may be by default, and JSON that drover's own readers would refuse
  sent <- tempfile()
  writeLines(c(strrep("[", 2e6), "last"), sent)
  files <- list(list(name = "up.json", size = file.size(sent), type = "application/json"))
  say(ada, "uploadInit", args = list(files), tag = 1L)
  job <- response_of_call(ada, 1L)
  sends <- c("--data-binary", paste0("@", sent), "-H", "Content-Type: application/octet-stream")
  up <- ask(server, paste0("/", job$uploadUrl), sends)
  expect(up$status == "200" && up$body == "OK", "not taken: ", up$status, " ", up$body)
  say(ada, "uploadEnd", args = list(job$jobId, "file"), tag = 2L)
  file <- output_of(ada, "file")
  expect(startsWith(file, "up.json [[") && endsWith(file, "|last"), "another file: ", substr(file, 1, 50))
  expect(ask(server, paste0("/session/", strrep("0", 32), "/download/data"))$status == "404", "an unknown session")
  expect(ask(server, paste0("/", job$uploadUrl), "--data-binary", "again")$status == "404", "an upload that is over")
  writeLines(strrep("x", 6e6), sent)
  expect(ask(server, paste0("/", job$uploadUrl), sends)$status == "413", "more than Shiny takes")
  ws_leave(ada)
  expect(noted_line(server, "^ended Ada$"), "the session does not end")
  expect(download(server, ada)$status == "404", "a session that has ended still gives data")
})

test_every_worker("errors of an app end no worker, and their messages stay in the log", function(start) {
  needs_shiny()
  server <- start(shiny_file)
  client <- shiny_page(server, c("wrong", "greeting"), name = "Ada", wrong = TRUE)
  told <- heard(client, function(said) said$errors$wrong$message)
  expect(!grepl("secret", told), "the client was told: ", told)
  expect(logged(server, "a secret of the app"), "it is not in the log")
  set_inputs(client, quit = TRUE)
  expect(logged(server, "stopApp\\(\\) was called"), "stopApp() is not told")
  set_inputs(client, name = "Grace")
  becomes(client, "greeting", "Hello, Grace!")
  other <- shiny_page(server, c("greeting", "pid"), name = "Eve")
  set_inputs(client, fail = TRUE)
  expect(is.numeric(ws_code(client)), "the session of an observer that fails goes on")
  expect(logged(server, "another secret"), "the observer's error is not in the log")
  set_inputs(other, name = "Eva")
  becomes(other, "greeting", "Hello, Eva!")
  for (sent in c("{", "{\"method\":\"init\"}", "\u0001\u0002", "[]")) {
    hostile <- ws(server, "/websocket/")
    ws_next(hostile)
    ws_send(hostile, sent)
  }
  set_inputs(other, name = "Ewa")
  becomes(other, "greeting", "Hello, Ewa!")
})

# Pages until both workers have some.
pages_of_both <- function(server, shown) {
  pages <- list()
  while (length(unique(vapply(pages, `[[`, "", "pid"))) < 2L && length(pages) < 20L) {
    page <- shiny_page(server, c("pid", shown), name = paste0("n", length(pages)))
    page$pid <- output_of(page, "pid")
    pages <- c(pages, page)
  }
  expect(length(unique(vapply(pages, `[[`, "", "pid"))) == 2L, "all sessions are with one worker")
  pages
}

test("with two workers, each request finds the worker of its session", function() {
  needs_shiny()
  server <- serve(shiny_file, workers = 2, sessions_per_worker = 0)
  pages <- pages_of_both(server, c("random", "widget", "data"))
  randoms <- vapply(pages, output_of, "", "random")
  expect(!anyDuplicated(randoms) && !anyDuplicated(sub(".* ", "", randoms)), "tokens or random numbers come twice")
  for (i in seq_along(pages)) {
    name <- paste0("n", i - 1L)
    for (again in 1:4) {
      got <- download(server, pages[[i]])
      expect(got$status == "200" && got$body == paste("data of", name), "session ", i, " got ", got$status, " ", got$body)
      # one worker knows its folder, and the other may be asked for it
      widget <- ask(server, paste0("/widget", name, "-1.0/widget.js"))
      expect(widget$body == "the widget", "no files of a widget: ", widget$status)
    }
  }
  # the worker of the first is killed: its clients are told, those of the other go on
  is_of <- vapply(pages, `[[`, "", "pid") == pages[[1L]]$pid
  send_signal(as.integer(pages[[1L]]$pid), tools::SIGKILL)
  expect(identical(ws_code(pages[[1L]]), 1012), "another code")
  expect(download(server, pages[[1L]])$status == "404", "a session that is lost")
  other <- which(!is_of)[[1L]]
  expect(download(server, pages[[other]])$status == "200", "the other worker's session is lost, too")
  again <- shiny_page(server, "greeting", name = "back")
  becomes(again, "greeting", "Hello, back!")
})

# A page with the process that computes for it.
page_with_pid <- function(server, name) {
  page <- shiny_page(server, c("pid", "greeting", "data"), name = name)
  page$process <- as.integer(output_of(page, "pid"))
  becomes(page, "greeting", paste0("Hello, ", name, "!"))
  page
}

test("at a reload sessions go on in their processes until their visitors leave, and new ones begin in others", function() {
  needs_shiny()
  server <- serve(shiny_file, workers = 1)
  page <- page_with_pid(server, "Ada")
  for (generation in 2:3) {
    send_signal(server$pid, tools::SIGHUP)
    expect(logged(server, sprintf("generation %d serves", generation)), "it is not reloaded")
    set_inputs(page, name = paste("Ada", generation))
    becomes(page, "greeting", sprintf("Hello, Ada %d!", generation))
    answer <- download(server, page)
    expect(grepl("data of Ada", answer$body), "nothing of a session from before: ", answer$status, " ", answer$body)
  }
  other <- page_with_pid(server, "Grace")
  expect(other$process != page$process, "a new session is in the old process")
  expect(!any(grepl("^ended", notes(server))), "told of an end: ", toString(notes(server)))
  close(page$con)
  expect(noted_line(server, "^ended Ada 3$"), "not told: ", toString(notes(server)))
  expect(within(function() !page$process %in% workers(server)), "the process is left")
  expect(within(function() length(zygotes(server)) == 1L || is_spawned()), "its zygote is left")
  expect(download(server, page)$status == "404", "a session that has ended")
  set_inputs(other, name = "Grace too")
  becomes(other, "greeting", "Hello, Grace too!")
  # one whose process dies is told to come back
  send_signal(server$pid, tools::SIGHUP)
  expect(logged(server, "generation 4 serves"), "it is not reloaded")
  send_signal(other$process, tools::SIGKILL)
  expect(identical(ws_code(other), 1012), "another code")
})

test("a server that ends does not wait for sessions from before a reload", function() {
  needs_shiny()
  server <- serve(shiny_file, workers = 1)
  page <- page_with_pid(server, "Ada")
  send_signal(server$pid, tools::SIGHUP)
  expect(logged(server, "generation 2 serves"), "it is not reloaded")
  send_signal(server$pid, tools::SIGTERM)
  expect(ws_code(page) %in% c(1001, 1012), "another code")
  expect(identical(exit_status(server), 0L) || style != styles[[1L]], "another status")
  expect(noted_line(server, "^ended Ada$"), "not told: ", toString(notes(server)))
})

test("a folder with ui.R and server.R, a program that calls runApp(), and an app below a path", function() {
  needs_shiny()
  folder <- tempfile("shiny-")
  for (one in c("R", "www")) dir.create(file.path(folder, one), recursive = TRUE)
  writeLines("shout <- function(x) paste0(toupper(x), '!')", file.path(folder, "R", "shout.R"))
  writeLines("a picture", file.path(folder, "www", "picture.txt"))
  writeLines("greeting <- 'hi'", file.path(folder, "global.R"))
  writeLines("fluidPage(textOutput('said'), title = greeting)", file.path(folder, "ui.R"))
  writeLines("function(input, output) output$said <- renderText(shout(greeting))", file.path(folder, "server.R"))
  server <- launch(command_of(folder, workers = 1), env = with_usual_packages)
  expect(!is.null(server$url), paste(c("it does not listen:", server$log()), collapse = "\n"))
  expect(grepl("<title>hi</title>", ask(server, "/")$body, fixed = TRUE), "no page")
  expect(ask(server, "/picture.txt")$body == "a picture", "nothing of www")
  becomes(shiny_page(server, "said"), "said", "HI!")

  program <- tempfile("runs-", fileext = ".R")
  writeLines(c(
    "library(shiny)", "app <- shinyApp(fluidPage('run'), function(input, output) output$said <- renderText('run'))",
    "runApp(app, port = 1)"
  ), program)
  server <- launch(command_of(program, workers = 1), env = with_usual_packages)
  expect(!is.null(server$url), paste(c("it does not listen:", server$log()), collapse = "\n"))
  expect(any(grepl("of runApp\\(\\) .* not used: `port`", server$log())), "not told what is not used")
  becomes(shiny_page(server, "said"), "said", "run")

  program <- write_app(c(
    "below <- shiny::shinyApp(shiny::fluidPage('below'), function(input, output) {",
    "  output$said <- shiny::renderText('below')",
    "})",
    "app <- dr_mount(dr_app(), '/shiny', below)",
    "dr_get(app, '/', function(req) 'beside')"
  ))
  server <- launch(command_of(program, workers = 1), env = with_usual_packages)
  expect(!is.null(server$url), paste(c("it does not listen:", server$log()), collapse = "\n"))
  expect(ask(server, "/")$body == "beside", "the rest of the app")
  expect(grepl("below", ask(server, "/shiny/")$body), "no page")
  expect(ask(server, "/shiny/shared/shiny.min.js")$status == "200", "no files of Shiny")
  becomes(shiny_page(server, "said", path = "/shiny/websocket/"), "said", "below")
})

test("what is wrong with an app of Shiny is told when it is loaded", function() {
  needs_shiny()
  told <- function(lines) {
    file <- tempfile("wrong-", fileext = ".R")
    writeLines(lines, file)
    paste(run_to_end(command_of(file, workers = 1))$log, collapse = "\n")
  }
  expect(grepl("line 2", told(c("library(shiny)", "shinyApp(ui = ))"))), "no line for what does not parse")
  expect(grepl("no such thing", told(c("library(shiny)", "stop('no such thing')", "shinyApp(1, 2)"))), "no message")
  two <- c(
    "one <- function() shiny::shinyApp(shiny::fluidPage(), function(input, output) NULL)",
    "dr_mount(dr_mount(drover::dr_app(), '/a', one()), '/b', one())"
  )
  expect(grepl("another app of Shiny runs in this process", told(two)), "two apps of Shiny are not refused")
  # as where it is not installed: what is found first cannot be loaded
  library <- tempfile("library-")
  dir.create(file.path(library, "shiny"), recursive = TRUE)
  writeLines(c("Package: shiny", "Version: 0.0.1"), file.path(library, "shiny", "DESCRIPTION"))
  env <- c(R_LIBS = paste(c(library, .libPaths()), collapse = .Platform$path.sep))
  told <- paste(run_to_end(command_of(shiny_file, workers = 1), env = env)$log, collapse = "\n")
  expect(grepl("the package 'shiny' is not installed", told), "not told: ", told)
})

test_every_worker("files of resource paths are those that they link to, as in Shiny's own server", function(start) {
  needs_shiny()
  folder <- tempfile("resources-")
  dir.create(folder)
  outside <- tempfile("outside-", fileext = ".txt")
  writeLines("linked", outside)
  file.symlink(outside, file.path(folder, "in.txt"))
  writeLines("own", file.path(folder, "own file.txt"))
  server <- start(write_app(c(
    "library(shiny)", sprintf("addResourcePath('files', '%s')", folder),
    "shinyApp(fluidPage('page'), function(input, output, session) NULL)"
  )))
  expect(ask(server, "/files/in.txt")$body == "linked", "the link is not followed")
  expect(ask(server, "/files/own%20file.txt")$body == "own", "no file")
  expect(ask(server, "/files/none.txt")$status == "404" && ask(server, "/files/..%2fpasswd")$status == "404", "another file")
  expect(grepl("page", ask(server, "/")$body), "no page")
})
