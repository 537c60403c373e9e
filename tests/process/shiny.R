# Pages of an app of Shiny, as tests of several files open them. Neighbour: websocket.R, which has the sockets.

needs_shiny <- function() if (!requireNamespace("shiny", quietly = TRUE)) skip("shiny is not installed")

shiny_file <- file.path(here, "shiny-app.R")

# A page of Shiny that is open: a socket of ws() with its `token`; `shown` are the outputs that it shows, and the
# arguments its inputs.
shiny_page <- function(server, shown, ..., path = "/websocket/") {
  page <- ws(server, path)
  page$token <- json(ws_next(page))$config$sessionId
  expect(grepl("^[0-9a-f]{32}$", page$token), "no token")
  hidden <- stats::setNames(rep(list(FALSE), length(shown)), sprintf(".clientdata_output_%s_hidden", shown))
  say(page, "init", data = c(list(.clientdata_url_search = ""), hidden, list(...)))
  page
}

say <- function(page, method, ...) {
  ws_send(page, as.character(jsonlite::toJSON(list(method = method, ...), auto_unbox = TRUE)))
}

set_inputs <- function(page, ...) say(page, "update", data = list(...))

# The first message of the server, after those before it, for which `of` gives anything.
heard <- function(page, of) {
  deadline <- Sys.time() + patience(30)
  repeat {
    expect(Sys.time() < deadline, "it is not among many messages")
    text <- ws_next(page)
    expect(is.character(text), "instead of a message came ", deparse1(text))
    said <- json(text)
    page$unread[names(said$values)] <- said$values
    found <- of(said)
    if (length(found)) return(found)
  }
}

# The value of an output that has come since it was last asked for.
output_of <- function(page, output) {
  if (is.null(page$unread[[output]])) heard(page, function(said) said$values[[output]])
  value <- page$unread[[output]]
  page$unread[[output]] <- NULL
  value
}

becomes <- function(page, output, value) {
  came <- within(function() identical(output_of(page, output), value))
  expect(came, output, " does not become ", value)
}

download <- function(server, page, ...) ask(server, paste0("/session/", page$token, "/download/data?w="), ...)
