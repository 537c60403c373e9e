# The app of test-async.R: handlers that return promises. What becomes of them is left in the folder of marks.

library(drover)
# before the first request, whose time it would take
library(promises)

app <- dr_app()

sys.source(Sys.getenv("GATES"), globalenv())

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

# Kept when the test opens that gate. Noted when the handler has returned: a client that leaves before interrupts it.
dr_get(app, "/held/<gate>/<n>", function(req) {
  later::later(function() note("begun", req$params$n))
  once_open(req$params$gate, function() {
    note("ended", req$params$n)
    req$params$n
  })
})
dr_post(app, "/body", function(req) {
  note("begun", "body")
  once_open("body", function() req$body)
})
dr_get(app, "/impatient/<gate>", function(req) {
  once_open(req$params$gate, function() {
    note("ended", "late")
    "late"
  })
}, timeout = 1)

# Kept when so many have come: one after the other they would wait for ever.
come <- list()
dr_get(app, "/together/<of>/<n>", function(req) {
  all_here <- promises::promise(function(resolve, reject) come <<- c(come, resolve))
  if (length(come) == as.integer(req$params$of)) {
    for (resolve in come) resolve(TRUE)
    come <<- list()
  }
  promises::then(all_here, function(value) req$params$n)
})

# Kept when somebody asks for /go: nothing has to be done meanwhile, but for a timer that is far away.
asleep <- list()
dr_get(app, "/asleep/<n>", function(req) {
  note("begun", req$params$n)
  woken <- promises::promise(function(resolve, reject) {
    asleep <<- c(asleep, resolve)
    later::later(function() resolve(FALSE), 600)
  })
  promises::then(woken, function(value) {
    note("ended", req$params$n)
    dr_text(req$params$n, headers = list("X-Query" = req$query$q))
  })
})
dr_get(app, "/go", function(req) {
  for (resolve in asleep) resolve(TRUE)
  "gone"
})

# Never kept, in a second that it has.
dr_get(app, "/endless", function(req) {
  note("begun", "endless")
  promises::promise(function(resolve, reject) NULL)
}, timeout = 1)

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
dr_get(app, "/counted", function(req) {
  open <<- open + 1L
  most <<- max(most, open)
  note("begun", "counted")
  once_open("counted", function() {
    open <<- open - 1L
    "counted"
  })
})
dr_get(app, "/most", function(req) as.character(most))

# Callbacks that take their time, or all of it.
dr_get(app, "/busy/<gate>", function(req) {
  after(50, function() {
    stand_at(req$params$gate)
    "busy"
  })
})
hang <- function(req) {
  after(50, function() {
    note("begun", "hang")
    repeat NULL
  })
}
dr_get(app, "/hang", hang)
dr_get(app, "/hang-on", hang, timeout = 1)
dr_get(app, "/quickly", function(req) "quickly", timeout = 1)

# So many callbacks of 10 ms that are due at the same moment. The first one stands at a gate.
dr_get(app, "/crowd/<n>", function(req) {
  later::later(function() stand_at("crowd"), 0.1)
  for (i in seq_len(as.integer(req$params$n))) {
    later::later(function() {
      note("turns", "callback")
      Sys.sleep(0.01)
    }, 0.1)
  }
  "they come"
})
dr_get(app, "/turn", function(req) {
  note("turns", "request")
  "had it"
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
