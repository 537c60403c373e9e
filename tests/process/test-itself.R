# Handlers that ask their own server: what only workers could answer that wait for that very answer is told so at once,
# and nothing else is.

itself_app <- file.path(here, "itself-app.R")
is_told <- function(text) grepl("the R process that would answer has made this request, and waits", text, fixed = TRUE)

test_every_worker("a worker that asks itself is told so, and serves on", function(start) {
  server <- start(itself_app)
  answer <- ask(server, "/self/a")
  expect(answer$status == "200" && grepl("503", answer$body) && is_told(answer$body), "another answer: ", answer$body)
  expect(logged(server, "GET / 503 .*serve with more .workers."), "the log does not say what to do")
  expect(ask(server, "/")$body == "fine", "it does not go on")
})

test("with two workers that ask themselves, only what both wait for is told so", function() {
  server <- serve(itself_app, workers = 2L)
  answer <- ask(server, "/self/a")
  expect(grepl("fine$", answer$body), "the other worker did not answer: ", answer$body)
  # one waits at the gate while the other's request waits for it
  held <- ask_until_begun(server, "/self/b", "asks-b")
  other <- ask_until_begun(server, "/self/c", "asks-c")
  open_gate(server, "both")
  for (answer in list(held(), other())) expect(is_told(answer$body), "another answer: ", answer$body)
  expect(ask(server, "/")$body == "fine", "they do not go on")
})
