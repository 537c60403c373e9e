# Programs that start servers of httpuv. While a file is loaded, what they start is only noted, and they go on: where one
# waits for requests, or ends, its app is served. Neighbours: load-runs.R; load-rook.R, the same for programs of Rook;
# rook-app.R, such an app.

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

# While a file is loaded, `replacement` is called in the place of a function of another package, which handlers may call
# as it is. `otherwise`: that is called, too, when `replacement` comes back.
while_loading <- function(package, name, replacement, otherwise = FALSE) {
  own <- get(name, asNamespace(package))
  force(replacement)
  stand_in(package, name, function(...) {
    if (!is_loading()) return(own(...))
    value <- replacement(...)
    if (otherwise) own(...) else invisible(value)
  })
}

start_httpuv <- function(one) {
  if (is.null(loading$servers)) notice_waits(register_httpuv)
  loading$servers <- c(loading$servers, list(one))
  one
}

# What startServer() gives: of the class that httpuv's functions look for, with the methods that it has there.
httpuv_server <- function(app, host, port, by) {
  self <- new.env(parent = emptyenv())
  running <- TRUE
  served <- function(what) {
    log_line("warn", paste(what, "of a server of httpuv was called: it has no effect on drover, which serves its app"))
  }
  change <- function(what, how) if (is_loading()) app <<- how() else served(what)
  list2env(list(
    app = function() app, by = by,
    stop = function() if (is_loading()) running <<- FALSE else served("stop()"),
    isRunning = function() running, getHost = function() host, getPort = function() port,
    getStaticPaths = function() as.list(member(app, "staticPaths")),
    setStaticPath = function(..., .list = NULL) change("setStaticPath()", function() {
      with_static_paths(app, function(paths) utils::modifyList(paths, c(list(...), as.list(.list))))
    }),
    removeStaticPath = function(path) change("removeStaticPath()", function() {
      with_static_paths(app, function(paths) paths[setdiff(names(paths), path)])
    }),
    getStaticPathOptions = function() member(app, "staticPathOptions"),
    setStaticPathOption = function(...) change("setStaticPathOption()", function() {
      app <- parts_of_httpuv(app)
      app$staticPathOptions <- utils::modifyList(as.list(app$staticPathOptions), list(...))
      app
    })
  ), self)
  class(self) <- c("WebServer", "Server")
  self
}

# An app of httpuv as a list, whose functions are looked up in the app for each request, as those of an object may
# change.
parts_of_httpuv <- function(app) {
  later <- function(name) if (is.function(member(app, name))) function(...) member(app, name)(...)
  functions <- c("call", "onHeaders", "onWSOpen")
  others <- c("staticPaths", "staticPathOptions")
  compact(c(
    with_names(lapply(functions, later), functions), with_names(lapply(others, member, x = app), others)
  ))
}

with_static_paths <- function(app, change) {
  app <- parts_of_httpuv(app)
  paths <- as.list(app$staticPaths)
  names(paths) <- sub("^/", "", names(paths))
  app$staticPaths <- change(paths)
  app
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
      "it starts ", length(running), " servers of httpuv, on the ports ", and_list(ports), ": drover serves one app of a ",
      "file. Make a file of each, or one app of all, by dr_mount()"
    )
  }
  one <- running[[1L]]
  register_app(as_app(one$app()), NULL, NULL, c("host", if (!is.null(one$getPort())) "port"), one$by)
}
