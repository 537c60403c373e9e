# The program as people call it, with the app that they have: from the words of the command to an answer.

answer_of <- function(server, path = "/") {
  ask(server, path)$body
}

# An app without library(drover), which warns while it loads and when its start hook runs.
bare_app <- function() {
  file <- tempfile("app-", fileext = ".R")
  writeLines(c(
    "app <- dr_app()", "dr_get(app, '/', function() 'bare')", "as.integer('x')",
    "dr_on_start(app, function() warning('no cache'))", "app"
  ), file)
  file
}

test("drover app.R serves an app without library(drover); what it warns of is said before it listens", function() {
  file <- bare_app()
  server <- launch(c(drover_program(), file, "--port", "0"))
  expect(identical(answer_of(server), "bare"), "another answer")
  log <- server$log()
  said <- function(pattern) which(grepl(pattern, log))
  listening <- grep("listening on", log)
  expect(any(said(paste0("warning: ", basename(file), ", line 3: NAs introduced")) < listening), toString(log))
  expect(any(said("warning: start hook: no cache") < listening), toString(log))
})

test("as valve's users call it: drover -f plumber.R -n 5 -w 3 -p PORT", function() {
  server <- launch(c(drover_program(), "-f", bare_app(), "-n", "5", "-w", "3", "-h", "127.0.0.1", "-p", "0"))
  expect(identical(answer_of(server), "bare"), "another answer")
  expect(any(grepl("threads=3, workers=1-5", server$log())), paste(server$log(), collapse = "\n"))
  expect(any(grepl("taken as valve means it: 3 threads", server$log())), paste(server$log(), collapse = "\n"))
})
