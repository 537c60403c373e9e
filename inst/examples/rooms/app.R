# A chat over WebSockets, with rooms and a list of who is there, in two worker processes: the messages of a connection
# are handled by whichever is free. So what belongs to a connection is in conn$state, and who is where is in rooms, both
# of which the server keeps; a variable of this file would be another one in each worker.
#
#   Rscript app.R                     or PORT=9000 Rscript app.R; open it in two windows
#   kill -HUP PID                     the app is loaded again, and nobody's connection ends

library(drover)

# Where this file is: `drover serve` goes there, Rscript does not.
file <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
here <- if (length(file)) dirname(file[[1L]]) else "."

app <- dr_app()

longest_name <- 30L
# So many messages within so many seconds, and one who sends more is asked to wait.
most_messages <- 10L
within_seconds <- 10

is_name <- function(x) is.character(x) && length(x) == 1L && nzchar(trimws(x)) && nchar(x) <= longest_name

# Tells all in a room who is in it. While this worker reads the list and sends it, another may do the same for somebody
# else, and the older list may be sent last: so it is read again, and sent again if it is not the same any more.
tell_members <- function(room) {
  repeat {
    members <- dr_ws_members(room)
    dr_ws_broadcast(room, list(type = "members", members = members))
    if (identical(dr_ws_members(room), members)) return(invisible())
  }
}

come <- function(conn) {
  room <- conn$params$room
  name <- dr_query(conn$request, "name")
  if (!is_name(name) || !is_name(room)) {
    return(dr_text(paste("a name and a room are needed, of at most", longest_name, "characters\n"), status = 400L))
  }
  name <- trimws(name)
  conn$state <- list(name = name, sent = numeric())
  # so that the page knows which of the members it is
  dr_ws_send(conn, list(type = "welcome", id = conn$id))
  dr_ws_join(conn, room, name)
  tell_members(room)
}

say <- function(conn, msg) {
  # bytes, and text with NUL in it, are no messages of people
  if (!is.character(msg) || !nzchar(trimws(msg))) return()
  now <- Sys.time()
  sent <- conn$state$sent
  sent <- sent[sent > as.numeric(now) - within_seconds]
  if (length(sent) >= most_messages) {
    return(dr_ws_send(conn, list(type = "refused", text = msg, why = "You are too fast: wait a little.")))
  }
  conn$state$sent <- c(sent, as.numeric(now))
  at <- format(now, "%Y-%m-%dT%H:%M:%OS3Z", tz = "UTC")
  dr_ws_broadcast(conn$params$room, list(type = "message", id = conn$id, from = conn$state$name, text = msg, at = at))
}

leave <- function(conn) tell_members(conn$params$room)

dr_ws(app, "/rooms/:room", on_connect = come, on_message = say, on_close = leave, max_message = "8kB")

# The same over plain HTTP.
dr_get(app, "/rooms", function(req) dr_ws_rooms())
dr_get(app, "/rooms/:room", function(req) list(members = dr_ws_members(req$params$room)$name))

dr_static(app, "/chat", file.path(here, "page"))
dr_get(app, "/", function(req) dr_redirect("/chat/"))

dr_serve(app, port = as.integer(Sys.getenv("PORT", "8080")), workers = 2, block = TRUE)
