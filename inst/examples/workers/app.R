# Slow work in worker processes: requests that compute do not wait for each other, and one that crashes takes nobody
# with it.

library(drover)

app <- dr_app()

# Loaded once, before the workers are made: they all have it, and it is in memory once.
numbers <- as.numeric(seq_len(1e6))

# Opened in each worker: a place of its own to write to.
own <- new.env()
dr_on_worker_start(app, function() own$notes <- tempfile("notes-"))
dr_on_worker_stop(app, function() unlink(own$notes))

dr_get(app, "/mean", function(req) list(mean = mean(numbers)))

dr_get(app, "/wait/<seconds:dbl>", function(req) {
  Sys.sleep(req$params$seconds)
  cat("waited", req$params$seconds, "\n", file = own$notes, append = TRUE)
  list(waits = length(readLines(own$notes)))
})

# A time limit of its own. What is left to do when it is over, on.exit() does.
dr_get(app, "/endless", function(req) {
  on.exit(message("left after all"))
  repeat Sys.sleep(0.01)
}, timeout = 0.2)

# What would end an R session ends one worker; another takes its place.
dr_post(app, "/crash", function(req) tools::pskill(Sys.getpid(), tools::SIGKILL))

dr_serve(app, port = as.integer(Sys.getenv("PORT", "8080")), workers = c(2, 4), block = TRUE)
