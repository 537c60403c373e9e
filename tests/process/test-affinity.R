# Clients that stay with a worker, by a cookie that names it.

# The app's workers say who they are, and stand at gates.
app_that_tells <- function() {
  write_app(c(
    "app <- dr_app()", "dr_get(app, '/pid', function(req) as.character(Sys.getpid()))",
    "dr_get(app, '/held/<name>', function(req) { stand_at(req$params$name); as.character(Sys.getpid()) })", "app"
  ))
}

# What a response has a client keep: `drover-worker=...`, or none.
worker_cookie <- function(answer) {
  field <- grep("^set-cookie: drover-worker=", answer$head, ignore.case = TRUE, value = TRUE)
  sub("^[^:]*: ([^;]*);.*", "\\1", field)
}

test("a client with the cookie has the worker that it had, waits for it, and no other is asked", function() {
  server <- serve(app_that_tells(), workers = 3, affinity = "cookie")
  first <- ask(server, "/pid")
  cookie <- worker_cookie(first)
  expect(length(cookie) == 1L, "no cookie: ", paste(first$head, collapse = "\n"))
  expect(any(grepl("; Path=/; HttpOnly; SameSite=Lax", first$head)), paste(first$head, collapse = "\n"))
  with_cookie <- function(path, value = cookie, ...) ask(server, path, "-H", paste("Cookie: a=b;", value), ...)
  for (i in 1:10) {
    again <- with_cookie("/pid")
    expect(again$body == first$body && !length(worker_cookie(again)), "another worker, or another cookie")
  }
  held <- ask_later(server, "/held/one", "-H", paste("Cookie:", cookie))
  expect(marked(server, "one") && mark_text(server, "one") == first$body, "another worker has it")
  waits <- ask_later(server, "/pid", "-H", paste("Cookie:", cookie))
  others <- vapply(1:5, function(i) ask(server, "/pid")$body, "")
  expect(!any(others == first$body), "it is asked while it is busy")
  expect(!is_over(waits), "another worker has answered")
  # a cookie that is not the server's counts for nothing
  forged <- sub("=.*", paste0("=", strrep("A", nchar(cookie) - nchar("drover-worker="))), cookie)
  got <- with_cookie("/pid", forged)
  expect(got$body != first$body && length(worker_cookie(got)) == 1L, "a forged cookie counts")
  open_gate(server, "one")
  expect(held()$body == first$body && waits()$body == first$body, "another worker")
  # its worker has gone
  send_signal(as.integer(first$body), tools::SIGKILL)
  expect(within(function() !as.integer(first$body) %in% workers(server)), "it does not end")
  moved <- with_cookie("/pid")
  expect(moved$status == "200" && moved$body != first$body, "nobody has it")
  cookie <- worker_cookie(moved)
  expect(length(cookie) == 1L && with_cookie("/pid", cookie)$body == moved$body, "it does not stay with the next one")
})

test("WebSockets of an app of httpuv are with the worker that had the page, and a server with one sets no cookie", function() {
  app <- file.path(here, "httpuv-sockets-app.R")
  server <- serve(app, workers = 3)
  pages <- lapply(1:6, function(i) ask(server, "/pid"))
  for (page in pages) {
    socket <- ws(server, "/does", paste("Cookie:", worker_cookie(page)))
    ws_send(socket, "pid")
    expect(identical(ws_next(socket), page$body), "another worker than ", page$body)
  }
  server <- serve(app, workers = 1)
  expect(!length(worker_cookie(ask(server, "/pid"))), "a cookie of the only worker")
  server <- serve(app, workers = "1-2")
  expect(length(worker_cookie(ask(server, "/pid"))) == 1L, "no cookie of the first of several workers")
  server <- serve(app, workers = 2, affinity = "none")
  expect(!length(worker_cookie(ask(server, "/pid"))), "a cookie that is not wanted")
  server <- serve(app_that_tells(), workers = 2)
  expect(!length(worker_cookie(ask(server, "/pid"))), "a cookie of an app that needs none")
})
