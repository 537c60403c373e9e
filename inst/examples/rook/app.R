# An app of httpuv, as it is: drover serve app.R. A function of `req` alone would do as well.

notes <- c("Write it down")

text <- function(body, status = 200L) {
  list(status = status, headers = list("Content-Type" = "text/plain; charset=utf-8"), body = paste0(body, "\n"))
}

list(
  # before anything is done with the body
  onHeaders = function(req) {
    if (identical(req$HTTP_X_BLOCKED, "yes")) text("not you", 403L)
  },
  call = function(req) {
    switch(paste(req$REQUEST_METHOD, req$PATH_INFO),
      "GET /" = text(notes[[1L]]),
      "POST /echo" = text(toupper(req$rook.input$read_lines(1L))),
      "GET /page" = list(status = 200L, headers = list("Content-Type" = "text/html"), body = c(file = "www/page.html")),
      "GET /cookies" = list(
        status = 204L, headers = list("Set-Cookie" = "a=1", "Set-Cookie" = "b=2"), body = NULL
      ),
      "GET /later" = promises::then(promises::promise_resolve("later"), text),
      text(paste("nothing at", req$PATH_INFO), 404L)
    )
  },
  staticPaths = list("/assets" = "www")
)
