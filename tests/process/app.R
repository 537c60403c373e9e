# The app of the process tests. Its last value is the app.

library(drover)

app <- dr_app()

sys.source(Sys.getenv("GATES"), globalenv())
dyn.load(Sys.getenv("FAULTS"))

dr_get(app, "/text", function(req) "text")
dr_get(app, "/n/<n>", function(req) req$params[["n"]])
dr_get(app, "/pid", function(req) as.character(Sys.getpid()))
dr_get(app, "/temp", function(req) tempdir())
dr_get(app, "/mclapply", function(req) paste(parallel::mclapply(1:3, function(i) i^2), collapse = " "))
dr_get(app, "/random", function(req) {
  if (!is.null(req$query[["at"]])) stand_at(req$query[["at"]])
  format(stats::runif(1), digits = 15)
})

# With ?n= it answers with that.
dr_get(app, "/sleep/<ms>", function(req) {
  Sys.sleep(as.numeric(req$params[["ms"]]) / 1000)
  if (is.null(req$query[["n"]])) "slept" else req$query[["n"]]
})

# Says in marks that it has begun and how it ended.
dr_get(app, "/slow/<ms>", function(req) {
  on.exit(mark("ended"))
  mark("begun")
  Sys.sleep(as.numeric(req$params[["ms"]]) / 1000)
  mark("slept")
  "slept"
})

# Waits at a gate until the test opens it.
dr_get(app, "/held/<name>", function(req) {
  stand_at(req$params[["name"]])
  "let go"
})

dr_get(app, "/busy/<ms>", function(req) {
  end <- proc.time()[[1L]] + as.numeric(req$params[["ms"]]) / 1000
  while (proc.time()[[1L]] < end) NULL
  "done"
})

spooled <- raw(1.2e6)
dr_get(app, "/spooled", function(req) spooled)
dr_get(app, "/big", function(req) strrep("0123456789", 2e6))
dr_get(app, "/file", function(req) dr_file(req$query[["path"]]))
dr_post(app, "/upload", function(req) "received")

# Ends of a worker.
dr_get(app, "/kill", function(req) tools::pskill(Sys.getpid(), tools::SIGKILL))
dr_get(app, "/segfault", function(req) .C("crash"))
dr_get(app, "/abort", function(req) .C("give_up"))
dr_get(app, "/quit", function(req) quit("no", 3L))

dr_get(app, "/impatient/<ms>", function(req) {
  Sys.sleep(as.numeric(req$params[["ms"]]) / 1000)
  "in time"
}, timeout = 1)

dr_get(app, "/fail", function(req) stop("on purpose"))

# An error whose message takes its time, in compiled code: the handler has failed, and its answer is being made.
conditionMessage.slow_to_tell <- function(c) {
  .C("deaf_sleep", 15L)
  "told"
}
dr_get(app, "/fail-slowly", function(req) {
  stop(structure(class = c("slow_to_tell", "error", "condition"), list(message = "", call = NULL)))
})

# Hangs: one that R can interrupt, and those that it cannot. Each also as /late/NAME, with a deadline of its own.
hang <- function(name, handler) {
  dr_get(app, paste0("/", name), handler)
  dr_get(app, paste0("/late/", name), handler, timeout = 1)
}
hang("loop", function(req) {
  on.exit(mark("ended"))
  mark("begun")
  repeat NULL
})
hang("deaf", function(req) {
  mark("begun")
  .C("deaf", 100L)
})
hang("system", function(req) {
  mark("begun")
  system("sleep 100")
})
hang("stubborn", function(req) {
  mark("begun")
  repeat tryCatch(repeat NULL, interrupt = function(condition) NULL)
})
hang("stopped", function(req) {
  mark("begun")
  tools::pskill(Sys.getpid(), tools::SIGSTOP)
})

# A little less, or more, than it may take.
dr_get(app, "/brink", function(req) {
  Sys.sleep(stats::runif(1, 0.195, 0.215))
  "in time"
}, timeout = 0.2)

# Attacks on what the worker shares with the server.
dr_get(app, "/scribble/<ms>", function(req) {
  .C("scribble", as.integer(req$params[["ms"]]))
  "scribbled"
})
dr_get(app, "/babble", function(req) {
  .C("babble")
  "babbled"
})
dr_get(app, "/meddle", function(req) {
  .C("meddle", Sys.getenv("FOLDER"), 3L)
  "meddled"
})
dr_get(app, "/close", function(req) {
  .C("close_all")
  "closed"
})

# Both processes return from the handler.
dr_get(app, "/fork/<n>", function(req) {
  parallel:::mcfork()
  req$params[["n"]]
})

# A child that outlives the request.
dr_get(app, "/child", function(req) {
  system("sleep 1000", wait = FALSE)
  "started"
})

# 400 MB, all of it touched; within the cgroup of the test when there is one.
dr_get(app, "/allocate", function(req) {
  group <- Sys.getenv("MEMORY_GROUP")
  if (nzchar(group)) cat(Sys.getpid(), file = file.path(group, "cgroup.procs"))
  length(numeric(5e7) + 1)
})

# Keeps 100 MB for good.
kept <- NULL
dr_get(app, "/grow", function(req) {
  kept <<- c(kept, numeric(1.25e7) + 1)
  as.character(Sys.getpid())
})

app
