# The app of the scenarios for httpuv, with jsonlite. Arguments: PORT STATIC_DIR.

library(httpuv)

arguments <- commandArgs(trailingOnly = TRUE)

answer <- function(body, type = "text/plain; charset=utf-8") {
  list(status = 200L, headers = list("Content-Type" = type), body = body)
}

json <- function(x) answer(as.character(jsonlite::toJSON(x, auto_unbox = TRUE)), "application/json")

call <- function(req) {
  path <- req$PATH_INFO
  if (path == "/text") {
    answer("Hello, world!")
  } else if (path == "/json") {
    json(list(ok = TRUE))
  } else if (path == "/post") {
    body <- jsonlite::fromJSON(rawToChar(req$rook.input$read()))
    json(list(name = body$name, twice = body$x * 2))
  } else if (startsWith(path, "/user/")) {
    answer(substring(path, 7L))
  } else {
    list(status = 404L, headers = list(), body = "")
  }
}

runServer("127.0.0.1", as.integer(arguments[1]), list(
  call = call,
  staticPaths = list("/static" = staticPath(arguments[2], indexhtml = FALSE))
))
