# The app of test-streams.R. Each generator leaves what becomes of it in the folder of marks: a line for each call that
# is of interest, in a file of its kind.

library(drover)

app <- dr_app()

sys.source(Sys.getenv("GATES"), globalenv())

# A function that notes its last call, and makes chunks by `f(state)` otherwise.
noting <- function(f, name = "cancelled") function(state, cancelled) {
  if (cancelled) note(name, format(state)) else f(state)
}

dr_get(app, "/text", function(req) "text")
dr_get(app, "/brief", function(req) "text", timeout = 1)
dr_get(app, "/pid", function(req) as.character(Sys.getpid()))

dr_get(app, "/count/<n:int>", function(req) {
  n <- req$params$n
  dr_stream(noting(function(state) list(chunk = paste0(state, "\n"), state = state + 1, done = state == n)), 1,
    content_type = "text/plain", headers = list("X-Count" = n), status = 201L)
})

dr_get(app, "/tick", function(req) {
  note("opened", "1")
  dr_stream_sse(noting(function(state) list(data = state, state = state + 1)), 1, min_interval = "100ms")
})

# Sends something, and then nothing for an hour.
dr_get(app, "/seldom", function(req) {
  dr_stream_sse(noting(function(state) list(data = state, state = state + 1), "missed"), 1, min_interval = "1h")
})

dr_get(app, "/beats", function(req) {
  dr_stream_sse(function(state, cancelled) list(data = "x"), min_interval = "1h", heartbeat = "300ms")
})
dr_get(app, "/json-lines", function(req) {
  dr_stream(function(state, cancelled) {
    list(chunk = if (state == 1) list(n = 1) else data.frame(n = 2:3), state = state + 1, done = state == 2)
  }, 1, content_type = "application/x-ndjson")
})

# Goes on until the gate is open, whatever becomes of the server.
dr_get(app, "/steady", function(req) {
  dr_stream(noting(function(state) list(chunk = "x", state = state + 1, done = is_open("steady"))), 1,
    min_interval = 0.1)
})

dr_get(app, "/endless", function(req) {
  dr_stream(noting(function(state) list(chunk = "x", state = state + 1)), 1, min_interval = 0.05)
})

dr_get(app, "/flood", function(req) {
  dr_stream(noting(function(state) {
    note("flood", "1")
    list(chunk = raw(65536), state = state + 1)
  }), 1)
})

dr_get(app, "/fail/<n:int>", function(req) {
  n <- req$params$n
  dr_stream(noting(function(state) {
    if (state == n) stop("on purpose")
    list(chunk = "one", state = state + 1)
  }, "wrongly"), 1, min_interval = 0.1)
})

dr_get(app, "/returns/<what>", function(req) {
  value <- switch(req$params$what, list = "text", chunk = list(chunk = 1), done = list(done = NA), names = list("a"))
  dr_stream(function(state, cancelled) value)
})

# The bytes of the body, in its trailers: by a function that is called, and by one that writes.
dr_get(app, "/trailers", function(req) {
  dr_stream(function(state, cancelled) {
    list(chunk = "abc", state = state + 3, done = state == 6, trailers = list("X-Bytes" = state + 3))
  }, 0, content_type = "text/plain", headers = list(Trailer = "X-Bytes"))
})

dr_get(app, "/written-trailers", function(req) {
  dr_stream_writer(function(out) {
    out$write("abc")
    out$trailers(list("X-Bytes" = "0"))
    out$trailers(list("X-Bytes" = "6", "X-Parts" = c("1", "2")))
    out$write("def")
  })
})

# Fields that cannot be trailers.
dr_get(app, "/no-trailers/<what>", function(req) {
  trailers <- switch(req$params$what,
    name = list("a b" = "1"), value = list(a = "1\r\nb: 2"), early = list("Set-Cookie" = "a=b"),
    length = list(a = strrep("a", 4092)), names = list("a"), type = list(a = TRUE)
  )
  dr_stream(function(state, cancelled) list(chunk = "abc", done = TRUE, trailers = trailers))
})

dr_get(app, "/jump", function(req) {
  dr_stream(function(state, cancelled) invokeRestart("abort"))
})

# A chunk of no bytes, one of 10 MB, one of text, and the end without a chunk.
dr_get(app, "/sizes", function(req) {
  dr_stream(function(state, cancelled) {
    switch(state,
      list(chunk = raw(), state = 2L), list(chunk = rep(as.raw(1:250), 4e4), state = 3L),
      list(chunk = "", state = 4L), list(chunk = "h\u00e9", state = 5L), list(done = TRUE)
    )
  }, 1L, content_type = "application/octet-stream")
})

dr_get(app, "/hang", function(req) {
  dr_stream(function(state, cancelled) {
    while (state == 2) Sys.sleep(0.01)
    list(chunk = "one", state = 2)
  }, 1)
})

# The second call stands at a gate.
dr_get(app, "/held", function(req) {
  dr_stream(function(state, cancelled) {
    if (!cancelled && state == 2) stand_at("held")
    list(chunk = "held\n", state = state + 1, done = state == 3)
  }, 1)
})

# Functions that write. What becomes of them is left by on.exit().
writer <- function(name, write, ...) {
  dr_stream_writer(function(out) {
    on.exit(note("written", name))
    write(out)
  }, ...)
}

dr_get(app, "/write/all", function(req) {
  writer("all", function(out) {
    out$write("h\u00e9\n")
    out$write("")
    out$write(list(n = 1L, text = "a\nb"))
    out$write(data.frame(a = 1:2, b = c("x", NA)))
    out$write(rep(as.raw(1:250), 4e4))
    out$event(list(n = 2L), event = "tick", id = 7)
  }, status = 201L, headers = list("X-Writer" = "yes"), content_type = "application/x-ndjson")
})
dr_get(app, "/write/flood", function(req) {
  writer("flood", function(out) {
    repeat {
      note("flood", "1")
      out$write(raw(65536))
    }
  })
})
# Until nobody reads; errors that a function catches do not hide that.
dr_get(app, "/write/endless", function(req) {
  writer("endless", function(out) {
    repeat {
      Sys.sleep(0.05)
      tryCatch(out$write("x"), error = function(e) note("written", "error"))
    }
  })
})
dr_get(app, "/write/tick", function(req) {
  writer("tick", function(out) {
    i <- 0
    repeat {
      i <- i + 1
      out$event(i, id = i)
      Sys.sleep(0.05)
    }
  }, content_type = "text/event-stream", on_drain = "end")
})
# Each write is at a gate.
dr_get(app, "/write/held", function(req) {
  writer("held", function(out) {
    for (gate in c("first", "second", "last")) {
      out$write("x")
      stand_at(gate)
    }
  })
})
dr_get(app, "/write/open", function(req) {
  writer("open", function(out) {
    out$write("x")
    while (out$is_open()) Sys.sleep(0.05)
  })
})
dr_get(app, "/write/fail/<how>", function(req) {
  how <- req$params$how
  writer(how, function(out) {
    out$write("one")
    # what is not on its way yet goes with the stream
    Sys.sleep(0.1)
    switch(how, stop = stop("on purpose"), type = out$write(1:3), event = out$event("x", id = "a\nb"),
      jump = invokeRestart("abort"))
  })
})
dr_get(app, "/write/fork", function(req) {
  writer("fork", function(out) {
    out$write("one ")
    child <- parallel::mcparallel(tryCatch(out$write("child"), error = conditionMessage))
    out$write(parallel::mccollect(child)[[1L]])
  })
})
kept <- NULL
dr_get(app, "/write/keep", function(req) writer("keep", function(out) kept <<- out))
dr_get(app, "/write/late", function(req) conditionMessage(tryCatch(kept$write("x"), error = identity)))

app
