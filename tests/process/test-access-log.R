# The access log of a server, however it was started: a line for each request, in a file that may be moved.

test("each request has its line, and USR1 opens a file again that was moved", function() {
  file <- tempfile("access-", fileext = ".log")
  server <- serve(access_log = file, access_log_format = "json", log = tempfile("log-", fileext = ".log"))
  for (i in 1:5) ask(server, paste0("/n/", i))
  ask(server, "/nowhere")
  lines_of <- function(file) if (file.exists(file)) lapply(readLines(file, warn = FALSE), jsonlite::fromJSON) else list()
  expect(within(function() length(lines_of(file)) >= 6), length(lines_of(file)), " lines")
  lines <- lines_of(file)
  targets <- vapply(lines, `[[`, "", "target")
  expect(identical(targets, c(paste0("/n/", 1:5), "/nowhere")), paste(targets, collapse = " "))
  expect(identical(vapply(lines, `[[`, 0L, "status"), c(rep(200L, 5), 404L)), "other statuses")
  for (line in lines[1:5]) {
    expect(line$handler > 0 && line$handler <= line$duration && line$whole, "handler ", line$handler, " of ", line$duration)
  }
  moved <- paste0(file, ".1")
  file.rename(file, moved)
  send_signal(server$pid, tools::SIGUSR1)
  expect(within(function() file.exists(file)), "the file is not opened again")
  ask(server, "/n/6")
  expect(within(function() length(lines_of(file)) == 1), length(lines_of(file)), " lines in the new file")
  expect(length(lines_of(moved)) == 6, length(lines_of(moved)), " lines in the moved one")
})

test("the last lines are written when the server ends", function() {
  file <- tempfile("access-", fileext = ".log")
  server <- serve(access_log = file)
  for (i in 1:3) ask(server, "/n/1")
  send_signal(server$pid, tools::SIGTERM)
  expect(within(function() !server$process$is_alive()), "TERM does not end it")
  lines <- readLines(file)
  pattern <- "^127[.]0[.]0[.]1 - - \\[[0-9]{2}/[A-Z][a-z]{2}/[0-9]{4}:[0-9:]{8} [+]0000\\] \"GET /n/1 HTTP/1.1\" 200 [0-9]+ \"-\" \"curl/[^\"]*\"$"
  expect(length(lines) == 3 && all(grepl(pattern, lines)), paste(lines, collapse = "\n"))
})
