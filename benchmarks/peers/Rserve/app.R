# The app of the scenarios for the HTTP mode of Rserve, with jsonlite. Arguments: PORT STATIC_DIR.

arguments <- commandArgs(trailingOnly = TRUE)
static_dir <- arguments[2]

json <- function(x) list(as.character(jsonlite::toJSON(x, auto_unbox = TRUE)), "application/json")

# Rserve calls this by its name, in the process of the connection.
.http.request <- function(url, query, body, headers) {
  if (url == "/text") {
    list("Hello, world!", "text/plain")
  } else if (url == "/json") {
    json(list(ok = TRUE))
  } else if (url == "/post") {
    body <- jsonlite::fromJSON(rawToChar(body))
    json(list(name = body$name, twice = body$x * 2))
  } else if (startsWith(url, "/user/")) {
    list(substring(url, 7L), "text/plain")
  } else if (url == "/static/file.txt") {
    list(file = file.path(static_dir, "file.txt"), "text/plain")
  } else {
    list("", "text/plain", character(), 404L)
  }
}

loadNamespace("jsonlite")
Rserve::run.Rserve(http.port = arguments[1], qap = "disable", config.file = "/dev/null")
