# The progress of a long computation, as Server-Sent Events, and a page that shows it. Each event has the number of its
# step as its id. A browser whose stream has ended comes back with the last id that it saw, and the computation goes on
# there: in another worker, after a reload, or in a server that was started anew.
#
#   Rscript app.R                     or PORT=9000 Rscript app.R
#   kill -HUP PID                     the app is loaded again: the stream ends, and the page goes on by itself

library(drover)

# Where this file is: `drover serve` goes there, Rscript does not.
file <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
here <- if (length(file)) dirname(file[[1L]]) else "."

app <- dr_app()

# One step of an estimate of pi: of so many points in a square, those within the circle. It needs nothing of other
# steps, so any worker can do it, and it has a seed of its own: done again, it comes out the same. Steps that build on
# each other would keep their state in a file or a database, by the number of the step.
points <- 100000L
count_inside <- function(step) {
  set.seed(step)
  sum(stats::runif(points)^2 + stats::runif(points)^2 < 1)
}

# A whole number that a client has sent, as text; `default` when it has sent none.
whole_number <- function(sent, default, name, least) {
  if (is.null(sent)) return(default)
  if (!grepl("^[0-9]{1,4}$", sent) || as.integer(sent) < least) {
    dr_abort(400, sprintf("%s must be a whole number from %d to 9999", name, least))
  }
  as.integer(sent)
}

# The step that the client has seen last, 0 for none. `EventSource` sends the header field when it comes back by itself;
# it cannot when a page makes a new one, which has `after` in the query.
last_seen <- function(req) {
  last <- dr_header(req, "last-event-id")
  if (is.null(last)) last <- dr_query(req, "after")
  whole_number(last, 0L, "the last event", 0L)
}

dr_get(app, "/pi", function(req) {
  steps <- whole_number(dr_query(req, "steps"), 100L, "`steps`", 1L)
  last <- last_seen(req)
  # this tells a browser not to come back
  if (last >= steps) return(dr_response("", status = 204L))
  dr_stream_sse(function(state, cancelled) {
    if (cancelled) return()
    list(
      data = list(step = state, steps = steps, points = points, inside = count_inside(state)), event = "step",
      id = state, retry = 500, state = state + 1L, done = state == steps
    )
  }, state = last + 1L, min_interval = 0.03)
})

dr_static(app, "/progress", file.path(here, "page"))
dr_get(app, "/", function(req) dr_redirect("/progress/"))

dr_serve(app, port = as.integer(Sys.getenv("PORT", "8080")), workers = 2, block = TRUE)
