# An app that is put together from the parts of the package Rook, as it is: drover serve app.R.

library(Rook)

greet <- function(env) {
  request <- Request$new(env)
  response <- Response$new()
  name <- c(request$GET()$name, request$POST()$name, "you")[[1L]]
  response$header("X-Path", request$path_info())
  response$set_cookie("name", name)
  response$write("Hello, ")
  response$write(paste0(name, "!\n"))
  response$finish()
}

count <- function(env) {
  sent <- Request$new(env)$POST()$file
  text <- paste(sent$filename, "has", length(readLines(sent$tempfile)), "lines\n")
  list(status = 200L, headers = list("Content-Type" = "text/plain"), body = text)
}

Builder$new(
  Static$new(urls = "/style", root = "public"),
  Brewery$new(url = "/pages", root = "."),
  URLMap$new(
    "^/hello" = greet,
    "^/count" = count,
    "^/old" = Redirect$new("/hello"),
    "^/rows" = App$new(function(env) {
      list(status = 200L, headers = list("Content-Type" = "text/plain"), body = paste0("row ", 1:3, "\n"))
    }),
    ".*" = File$new(root = "public")
  )
)
