# The app of test-tasks.R: handlers that have other workers run functions. What becomes of them is left in the folder of
# marks.

library(drover)
library(promises)

app <- dr_app()

sys.source(Sys.getenv("GATES"), globalenv())

# A task that computes for some seconds, and says in which process.
long <- function(seconds, name = "x") {
  note("begun", paste(name, Sys.getpid()))
  on.exit(note("left", name))
  end <- Sys.time() + as.numeric(seconds)
  while (Sys.time() < end) sqrt(2)
  note("ended", name)
  Sys.getpid()
}

# One that stands at the gate of its name, and says in which process.
held <- function(name) {
  note("begun", paste(name, Sys.getpid()))
  on.exit(note("left", name))
  stand_at(name)
  note("ended", name)
  Sys.getpid()
}

or <- function(x, y) if (is.null(x)) y else x
pids <- function(values) list(here = Sys.getpid(), there = unlist(values))

dr_get(app, "/text", function(req) "text")
dr_get(app, "/pid", function(req) as.character(Sys.getpid()))
dr_get(app, "/held/<name>", function(req) {
  note("asked", Sys.getpid())
  dr_async(held, req$params$name)$then(pids)
})
dr_get(app, "/two-held", function(req) {
  promises::promise_all(.list = lapply(c("one", "other"), function(name) dr_async(held, name)))$then(pids)
})
dr_get(app, "/two/<seconds>", function(req) {
  both <- lapply(1:2, function(i) dr_async(long, req$params$seconds))
  promises::promise_all(.list = both)$then(pids)
})
# one after the other, the second begun in a callback
dr_get(app, "/chain", function(req) {
  dr_async(long, 0.01, "first")$then(function(pid) dr_async(held, "second"))$then(pids)
})
dr_get(app, "/limited", function(req) dr_async(long, Inf, "limited", timeout = 0.5))
dr_get(app, "/short", function(req) dr_async(long, Inf, "short"), timeout = 1)
dr_get(app, "/why/<what>", function(req) {
  task <- switch(req$params$what,
    stop = dr_async(function() stop(structure(
      class = c("mine", "error", "condition"), list(message = "on purpose", call = NULL, size = 42)
    ))),
    late = dr_async(long, Inf, timeout = 0.3),
    kill = dr_async(function() tools::pskill(Sys.getpid(), tools::SIGKILL)),
    jump = dr_async(function() invokeRestart("abort")),
    long = dr_async(function() raw(65 * 2^20))
  )
  task$catch(function(error) list(class = class(error)[[1L]], why = or(error$why, ""), size = or(error$size, 0)))
})
dr_get(app, "/fails", function(req) dr_async(function(x) log(x), "a word"))
dr_get(app, "/aborts", function(req) dr_async(function() dr_abort(409L, "taken")))
# responses with files: without a name, in the folder of the worker's R, somebody else's
dr_get(app, "/file/<which>", function(req) {
  dr_async(function(which) {
    if (which == "plot") return(dr_png(graphics::plot(1:3)))
    file <- if (which == "kept") Sys.getenv("GATES") else tempfile(fileext = ".csv")
    if (which != "kept") writeLines("a,b", file)
    response <- dr_file(file, delete = which == "removed")
    if (which == "listed") list(one = response, pid = Sys.getpid()) else response
  }, req$params$which)$then(function(value) if (is.null(value$one)) value else value$one)
})
# what is made in a handler, with what it sees there
dr_get(app, "/closure/<n>", function(req) {
  n <- as.numeric(req$params$n)
  dr_async(function(x) n * x, 2)
})
# `req` does not survive the way
dr_get(app, "/req", function(req) {
  dr_async(function() tryCatch(req$query$x, error = function(error) paste("no:", conditionMessage(error))))
})
dr_post(app, "/bytes", function(req) {
  dr_async(rev, req$raw)$then(function(bytes) dr_response(bytes))
})
dr_get(app, "/nested/<n>", function(req) {
  deeper <- function(n) if (n == 0) "bottom" else dr_async(deeper, n - 1)
  dr_async(deeper, as.numeric(req$params$n))
})
dr_get(app, "/promise", function(req) {
  dr_async(function() promises::promise(function(resolve, reject) later::later(function() resolve("kept"), 0.2)))
})
dr_get(app, "/unwaited", function(req) {
  dr_async(long, Inf, "unwaited")
  "answered"
})
dr_get(app, "/many/<n>", function(req) {
  all <- lapply(seq_len(as.numeric(req$params$n)), function(i) {
    dr_async(function(i) { Sys.sleep(0.05); i }, i)$catch(function(error) error$why)
  })
  promises::promise_all(.list = all)$then(function(values) table(vapply(values, class, "")) |> as.list())
})
dr_get(app, "/arguments", function(req) {
  problem <- function(expr) tryCatch({ expr; "none" }, error = function(error) conditionMessage(error))
  list(
    f = problem(dr_async("long")), timeout = problem(dr_async(long, timeout = "soon")),
    argument = problem(dr_async(identity, stop("not for others"))), long = problem(dr_async(identity, raw(65 * 2^20)))
  )
})
# fitted where the data are only symbols of the call
dr_get(app, "/model", function(req) {
  dr_async(function(data) stats::lm(dist ~ speed, data), data = datasets::cars)$then(function(model) {
    list(call = paste(deparse(model$call), collapse = ""), slope = unname(stats::coef(model)[[2]]))
  })
})

app
