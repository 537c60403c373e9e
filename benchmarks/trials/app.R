# The app of the trials, for `drover serve`. MODEL_MB in the environment: megabytes of a numeric model to load; BUSY:
# rounds of a loop that take 2 ms on this machine.

library(drover)

app <- dr_app()
model <- numeric(as.numeric(Sys.getenv("MODEL_MB", "0")) * 1e6 / 8) + 1
busy_rounds <- as.integer(Sys.getenv("BUSY", "0"))

dr_get(app, "/text", function(req) "Hello, world!")
dr_get(app, "/pid", function(req) as.character(Sys.getpid()))

dr_get(app, "/sleep/<ms>", function(req) {
  Sys.sleep(as.numeric(req$params[["ms"]]) / 1000)
  "slept"
})

# Work, and not a look at the clock: workers that share a core take longer.
dr_get(app, "/busy", function(req) {
  x <- 0
  for (i in seq_len(busy_rounds)) x <- x + i
  "done"
})

dr_post(app, "/test", function(req) {
  body <- req$json
  Sys.sleep(body$wait)
  list(n = body$n, values = stats::runif(body$n))
})

# A prediction and a full collection, in a worker that is kept for a moment so that the next request goes to another
# one.
dr_get(app, "/collect", function(req) {
  total <- sum(model)
  gc(full = TRUE)
  Sys.sleep(1)
  as.character(Sys.getpid())
})

# What attackers ask for: tests/conformance/app.R has the same paths.
dr_get(app, "/get", function(req) "got")
dr_post(app, "/echo", function(req) format(length(req$raw)))
dr_post(app, "/json", function(req) format(length(req$json)))
dr_post(app, "/form", function(req) format(length(req$form)))
dr_get(app, "/query", function(req) format(length(req$query)))
dr_get(app, "/cookies", function(req) format(length(req$cookies)))
dr_get(app, "/large", function(req) raw(1e6))
files <- file.path(tempdir(), "files")
dir.create(files)
writeBin(raw(1e6), file.path(files, "large.bin"))
writeBin(raw(2e7), file.path(files, "huge.bin"))
dr_static(app, "/files", files)

app
