# WebSockets for the tests. What handlers do is noted as `notes`.
library(drover)
# before the first message, whose time it would take
library(promises)

sys.source(Sys.getenv("GATES"), globalenv())

app <- dr_app()

dr_use(app, function(req, nxt) {
  if (identical(req$headers[["x-key"]], "wrong")) return(dr_text("wrong key", 401))
  response <- nxt()
  if (grepl("^/state", req$path)) response <- dr_set_cookie(response, "seen", "yes")
  response
})

dr_get(app, "/pid", function(req) as.character(Sys.getpid()))
dr_get(app, "/torture", function(req) {
  gctorture2(53)
  "set"
})
dr_get(app, "/page", function(req) "a page")
dr_get(app, "/rooms", function(req) dr_ws_rooms())
dr_get(app, "/members/:room", function(req) dr_ws_members(req$params$room))
dr_post(app, "/tell/:room", function(req) list(told = dr_ws_broadcast(req$params$room, req$body)))

dr_ws(app, "/echo", on_message = function(conn, msg, binary) dr_ws_send(conn, msg, binary), deflate = TRUE)
dr_ws(app, "/page", on_message = function(conn, msg) dr_ws_send(conn, "a socket"))

dr_ws(app, "/state/:kind/<n:int>",
  on_connect = function(conn) {
    req <- conn$request
    if (identical(req$query[["refuse"]], "yes")) return(dr_json(list(why = "no"), 403))
    if (identical(req$query[["fail"]], "yes")) stop("not today")
    conn$state <- list(n = conn$params$n, name = req$cookies[["name"]], protocol = conn$protocol, addr = req$remote_addr)
    dr_ws_send(conn, "before the first message")
  },
  on_message = function(conn, msg) {
    conn$state$n <- conn$state$n + 1L
    if (msg == "slow") Sys.sleep(0.005)
    if (msg == "forget") conn$state <- NULL
    if (msg == "much") conn$state <- strrep("x", 1e5)
    dr_ws_send(conn, list(state = conn$state, kind = conn$params$kind, pid = Sys.getpid()))
  },
  on_close = function(conn, code, reason) {
    # what is not there leaves no gap
    note("notes", paste(c("closed", conn$params$kind, conn$state$n, code, reason), collapse = " "))
  },
  protocols = c("v2", "v1")
)

dr_ws(app, "/room/:room",
  on_connect = function(conn) dr_ws_join(conn, conn$params$room, conn$request$query[["name"]]),
  on_message = function(conn, msg) {
    room <- conn$params$room
    switch(msg,
      who = dr_ws_send(conn, dr_ws_members(room)),
      leave = dr_ws_leave(conn, room),
      others = dr_ws_broadcast(room, msg, except = conn),
      dr_ws_send(conn, list(told = dr_ws_broadcast(room, msg)))
    )
  },
  on_close = function(conn) dr_ws_broadcast(conn$params$room, "somebody left")
)

# Does what the message says.
does <- function(conn, msg, binary) {
  if (binary) return(dr_ws_send(conn, paste("no", class(msg))))
  switch(sub(" .*", "", msg),
    fail = stop("it failed"),
    pid = dr_ws_send(conn, as.character(Sys.getpid())),
    note = note("notes", "handled"),
    stand = {
      dr_ws_send(conn, "begun")
      stand_at(sub(".* ", "", msg))
      dr_ws_send(conn, "done")
    },
    flood = for (i in 1:100) dr_ws_send(conn, strrep("x", 1e5)),
    quit = tools::pskill(Sys.getpid(), 9L),
    close = {
      dr_ws_send(conn, "last")
      dr_ws_close(conn, 4001, "enough")
      dr_ws_close(conn)
      dr_ws_send(conn, "after the close")
    },
    stream = return(dr_stream(function(state, cancelled) list(done = TRUE))),
    wrong = {
      said <- vapply(list(
        quote(dr_ws_send("x", "y")), quote(dr_ws_send(conn, 1)), quote(dr_ws_send(conn, NA_character_)),
        quote(dr_ws_send(conn, `Encoding<-`("\xff", "UTF-8"))), quote(dr_ws_join(conn, "")), quote(dr_ws_close(conn, 1005)),
        quote(dr_ws_broadcast("x", c("a", "b")))
      ), function(call) tryCatch(eval(call), error = conditionMessage), "")
      dr_ws_send(conn, as.list(said))
    },
    gone = dr_ws_send(1e9, "nobody"),
    json = dr_ws_send(conn, list(a = 1, b = c("x", "y"))),
    raw = dr_ws_send(conn, as.raw(0:255)),
    bytes = dr_ws_send(conn, "text", binary = TRUE),
    later = return(once_open("later", function() dr_ws_send(conn, "later"))),
    dr_ws_send(conn, paste("no", class(msg)))
  )
}

dr_ws(app, "/does",
  on_message = does,
  on_close = function(conn, code) {
    note("notes", paste("left", code))
    if (code == 4444) stop("in on_close")
  },
  max_message = "10kB", timeout = 4
)

dr_ws(app, "/patient", on_message = does, timeout = 0)
dr_ws(app, "/few", on_message = function(conn, msg) dr_ws_send(conn, msg), max_conns = 2)
dr_ws(app, "/idle", on_message = function(conn, msg) dr_ws_send(conn, msg), idle_timeout = 1)
dr_ws(app, "/short", on_message = function(conn, msg) dr_ws_send(conn, msg), max_lifetime = 1)
dr_ws(app, "/pings", on_message = function(conn, msg) dr_ws_send(conn, msg), ping_interval = 1,
  on_close = function(conn, code) note("notes", paste("pinged", code)))
dr_ws(app, "/held", on_message = does, timeout = 0, ping_interval = 3)
# may have much waiting
dr_ws(app, "/wide",
  on_message = function(conn, msg) if (msg == "much") dr_ws_send(conn, strrep("x", 3e6)) else dr_ws_send(conn, msg),
  on_close = function(conn, code) note("notes", paste("left", code)),
  max_message = "4MB"
)
# slow enough for what was handed ahead behind it to be taken back
dr_ws(app, "/size", on_message = function(conn, msg) {
  Sys.sleep(0.007)
  dr_ws_send(conn, as.character(nchar(msg)))
})
dr_ws(app, "/own", on_message = function(conn, msg) NULL, origins = "https://app.example.com")

app
