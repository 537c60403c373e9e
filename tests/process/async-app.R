# The app of test-async.R: handlers that return promises. What becomes of them is left in the folder of marks.

library(drover)
# before the first request, whose time it would take
library(promises)

app <- dr_app()

source(Sys.getenv("GATES"))

# A promise that is kept with the value of `f()` after so many milliseconds.
after <- function(ms, f) {
  waited <- promises::promise(function(resolve, reject) later::later(function() resolve(TRUE), as.numeric(ms) / 1000))
  promises::then(waited, function(value) f())
}

dr_get(app, "/text", function(req) "text")
dr_get(app, "/pid", function(req) as.character(Sys.getpid()))

# The request is read after the handler has returned.
dr_get(app, "/later/<ms>/<n>", function(req) {
  note("begun", req$params$n)
  after(req$params$ms, function() {
    note("ended", req$params$n)
    dr_text(req$params$n, headers = list("X-Query" = req$query$q))
  })
})
dr_post(app, "/body/<ms>", function(req) after(req$params$ms, function() req$body))

dr_get(app, "/impatient/<ms>", function(req) {
  after(req$params$ms, function() {
    note("ended", "late")
    "late"
  })
}, timeout = 1)

dr_get(app, "/never", function(req) {
  note("begun", "never")
  promises::promise(function(resolve, reject) NULL)
})

dr_get(app, "/reject/<ms>", function(req) after(req$params$ms, function() stop("on purpose")))
dr_get(app, "/abort/<ms>", function(req) after(req$params$ms, function() dr_abort(409L, "taken")))
dr_get(app, "/stream/<ms>", function(req) {
  after(req$params$ms, function() {
    dr_stream(function(state, cancelled) list(chunk = "x", state = state + 1, done = state == 5), 1)
  })
})

# How many of these were ever under way together in this process.
open <- 0L
most <- 0L
dr_get(app, "/counted/<ms>", function(req) {
  open <<- open + 1L
  most <<- max(most, open)
  note("begun", "counted")
  after(req$params$ms, function() {
    open <<- open - 1L
    "counted"
  })
})
dr_get(app, "/most", function(req) as.character(most))

# Callbacks that take their time, or all of it.
dr_get(app, "/busy/<ms>", function(req) {
  after(50, function() {
    note("begun", "busy")
    Sys.sleep(as.numeric(req$params$ms) / 1000)
    "busy"
  })
})
dr_get(app, "/hang", function(req) {
  after(50, function() {
    note("begun", "hang")
    repeat NULL
  })
})

# So many callbacks of 10 ms that are due at the same moment.
dr_get(app, "/crowd/<n>", function(req) {
  for (i in seq_len(as.integer(req$params$n))) {
    later::later(function() {
      note("begun", "one of a crowd")
      Sys.sleep(0.01)
    }, 0.1)
  }
  "they come"
})

# A thread of compiled code resolves it, as those of other packages do. `resolve_one` is what the thread has called.
dr_get(app, "/thread/<ms>", function(req) {
  promises::promise(function(resolve, reject) {
    assign("resolve_one", function() resolve("by a thread"), envir = globalenv())
    .C("call_from_thread", as.integer(req$params$ms))
  })
})
dr_on_worker_start(app, function() dyn.load(Sys.getenv("FAULTS")))

# Middleware and error handlers that other requests meet, too.
outer <- dr_app()
dr_use(outer, function(req, nxt) {
  answer <- nxt()
  mark <- function(response) dr_set_header(response, "X-Outer", "yes")
  if (inherits(answer, "promise")) promises::then(answer, mark) else mark(answer)
})
dr_on_error(outer, function(req, err) dr_text(paste("caught:", conditionMessage(err)), status = 500L))
dr_get(outer, "/later/<ms>", function(req) after(req$params$ms, function() "later"))
dr_get(outer, "/reject/<ms>", function(req) after(req$params$ms, function() stop("on purpose")))
dr_mount(app, "/outer", outer)

app
