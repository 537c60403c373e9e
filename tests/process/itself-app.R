# Handlers that ask their own server, and wait for its answer.

library(drover)
sys.source(Sys.getenv("GATES"), globalenv())

app <- dr_app()
dr_get(app, "/", function(req) "fine")
dr_get(app, "/self/:n", function(req) {
  mark(paste0("asks-", req$params$n))
  if (req$params$n == "b") stand_at("both")
  asked <- socketConnection("127.0.0.1", sub(".*:", "", req$headers$host), open = "r+b", blocking = TRUE, timeout = 60)
  on.exit(close(asked))
  writeLines("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r", asked)
  paste(readLines(asked), collapse = "\n")
})
app
