# Programs that start servers of httpuv. While a file is loaded, what they start is only noted, and they go on: where
# one waits for requests, or ends, its app is served. Neighbours: load-runs.R; load-rook.R, the same for programs of
# Rook; rook-app.R, such an app.

note_httpuv <- function() {
  start <- function(by) function(host, port, app, ...) start_httpuv(httpuv_server(app, host, port, by))
  while_loading("httpuv", "startServer", start("startServer()"))
  while_loading("httpuv", "startDaemonizedServer", start("startDaemonizedServer()"))
  while_loading("httpuv", "startPipeServer", function(name, mask, app, ...) {
    start_httpuv(httpuv_server(app, name, NULL, "startPipeServer()"))
  })
  while_loading("httpuv", "runServer", function(host, port, app, ...) {
    start_httpuv(httpuv_server(app, host, port, "runServer()"))
    register_httpuv()
  })
  while_loading("httpuv", "stopAllServers", function() for (one in loading$servers) one$stop())
  while_loading("httpuv", "service", function(...) register_httpuv(), otherwise = TRUE)
  # a thread of httpuv's, which looks whether a port is free, would be in the way of forks, and the port is not used
  while_loading("httpuv", "randomPort", function(min = 1024L, ...) as.integer(min))
}

# The loop of a program that serves by callbacks.
note_later <- function() {
  waits <- function(timeoutSecs = 0, ...) if (timeoutSecs > 0) register_httpuv()
  while_loading("later", "run_now", waits, otherwise = TRUE)
}

start_httpuv <- function(one) {
  if (is.null(loading$servers)) notice_waits(register_httpuv)
  loading$servers <- c(loading$servers, list(one))
  one
}

# What startServer() gives: of the class that httpuv's functions look for, with the methods that it has there. `given`:
# the app.
httpuv_server <- function(given, host, port, by) {
  self <- new.env(parent = emptyenv())
  running <- TRUE
  changes <- function(what, change) {
    if (is_loading()) return(change())
    log_line("warn", paste(what, "of a server of httpuv was called: it has no effect on drover, which serves its app"))
  }
  set_paths <- function(what, change) changes(what, function() given <<- with_static(given, "staticPaths", change))
  list2env(list(
    app = function() given, by = by,
    stop = function() changes("stop()", function() running <<- FALSE),
    isRunning = function() running, getHost = function() host, getPort = function() port,
    getStaticPaths = function() as.list(member(given, "staticPaths")),
    setStaticPath = function(..., .list = NULL) {
      set_paths("setStaticPath()", function(paths) utils::modifyList(paths, c(list(...), as.list(.list))))
    },
    removeStaticPath = function(path) {
      set_paths("removeStaticPath()", function(paths) paths[setdiff(names(paths), path)])
    },
    getStaticPathOptions = function() member(given, "staticPathOptions"),
    setStaticPathOption = function(...) {
      set <- function(options) utils::modifyList(options, list(...))
      changes("setStaticPathOption()", function() given <<- with_static(given, "staticPathOptions", set))
    }
  ), self)
  class(self) <- c("WebServer", "Server")
  self
}

# An app of httpuv with other folders, or options of these. The rest is looked up in the app for each request, as the
# functions of an object may change.
with_static <- function(given, what, change) {
  later <- function(name) if (is.function(member(given, name))) function(...) member(given, name)(...)
  functions <- c("call", "onHeaders", "onWSOpen")
  lists <- c("staticPaths", "staticPathOptions")
  parts <- c(with_names(lapply(functions, later), functions), with_names(lapply(lists, member, x = given), lists))
  parts[[what]] <- change(as.list(parts[[what]]))
  compact(parts)
}

# Where a program waits for requests, the app of the server that it has started is registered. `at_end`: the program has
# come to its end: then one that it has stopped counts, too, as it could not know whether there was something to wait
# for. What has neither a function for requests nor one for WebSockets only looks whether a port is free.
register_httpuv <- function(at_end = FALSE) {
  if (!is.null(loading$registered)) return()
  servers <- Filter(function(one) is_httpuv_app(one$app()), loading$servers)
  running <- Filter(function(one) one$isRunning(), servers)
  if (at_end && !length(running)) running <- last_of(servers, 1L)
  if (!length(running)) return()
  if (length(running) > 1L) {
    ports <- vapply(running, function(one) toString(one$getPort()), "")
    stop_load(
      "it starts ", length(running), " servers of httpuv, on the ports ", and_list(ports),
      ": drover serves one app of a file. Make a file of each, or one app of all, by dr_mount()"
    )
  }
  one <- running[[1L]]
  register_app(as_app(one$app()), NULL, NULL, c("host", if (!is.null(one$getPort())) "port"), one$by)
}
