# A system without pidfd_open(2): kernels before 5.4, and sandboxes.

# A program that runs another on such a system: a `wrapper`.
without_pidfd <- function() {
  wrapper <- compile(file.path(here, "no-pidfd.c"))
  if (system2(wrapper, "true", stderr = FALSE) == 77L) skip("this system has no filters for system calls")
  wrapper
}

test("without pidfd_open() the start fails, and says what to do", function() {
  app <- write_app(c("app <- dr_app()", "dr_get(app, '/', function(req) 'ok')", "app"))
  wrapper <- without_pidfd()
  session <- write_app(sprintf("dr_run(%s, port = 0L, workers = c(1L, 1L))", deparse(app)))
  commands <- list(command_of(app), c(file.path(R.home("bin"), "Rscript"), "--vanilla", session))
  for (command in commands) {
    ran <- run_to_end(c(wrapper, command))
    said <- paste(ran$log, collapse = "\n")
    expect(!ran$status %in% c(NA, 0L), "exit status ", ran$status)
    for (words in c("Linux has since 5.4", "dr_serve\\(workers = 1\\)")) expect(grepl(words, said), "it says ", said)
  }
})

test("without pidfd_open() a session serves by itself", function() {
  app <- write_app(c("app <- dr_app()", "dr_get(app, '/', function(req) 'ok')", "app"))
  server <- starts[["the session"]](app, wrapper = without_pidfd())
  expect(ask(server, "/")$body == "ok", "no answer")
})
