# The log as people and programs read it.

failing_app <- function() {
  write_app(c("app <- dr_app()", "dr_get(app, '/', function(req) stop('first line\\nsecond line'))", "app"))
}

test_every_way("at a terminal the log is for people: local time, colours, one line under the other", function(start) {
  begun <- Sys.time()
  variables <- c("env", "TZ=Asia/Kathmandu", "TERM=xterm", "NO_COLOR=")
  server <- start(failing_app(), wrapper = c(terminal(), variables))
  expect(ask(server, "/")$status == "500")
  expect(logged(server, "ERROR.* GET / 500 first line\r?$"), "no line of the error")
  lines <- sub("\r$", "", server$log())
  at <- grep("GET / 500 first line$", lines)
  # the hour may have changed since
  hours <- paste(format(c(begun, Sys.time()), "%Y-%m-%d %H:", tz = "Asia/Kathmandu"), collapse = "|")
  wanted <- paste0("^\033\\[2m(", hours, ").* drover\033\\[0m \033\\[1;31mERROR\033\\[0m id=")
  expect(grepl(wanted, lines[at]), encodeString(lines[at]))
  expect(logged(server, "^    second line call=") && logged(server, "^    `GET /`\\(req\\)"), toString(lines))
})

test_every_way("in a file or a pipe a record is a line, and has no colours", function(start) {
  file <- tempfile("log-")
  for (log in c(file, "stderr")) {
    server <- start(failing_app(), log = log, wrapper = c("env", "TERM=xterm", "NO_COLOR="))
    expect(ask(server, "/")$status == "500")
    lines <- function() if (log == "stderr") server$log() else if (file.exists(log)) readLines(log) else character()
    pattern <- "^[-0-9]+T[0-9:.]+Z drover ERROR id=[0-9a-f]{16} 127.0.0.1 GET / 500 first line\\\\nsecond line call=.* trace=`GET /`\\(req\\) > "
    expect(within(function() any(grepl(pattern, lines()))), paste(lines(), collapse = "\n"))
    expect(!any(grepl("\033", lines())), "colours in ", log)
  }
})
