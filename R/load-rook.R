# Programs for the package Rook while they are loaded: they start R's own web server, or have Apache call them. Not for
# serving what they have installed: rook-rhttpd.R. Neighbours: load-runs.R, load-app.R.
#
# Starting a server of Rook does not block, and apps are added before and after it. So its file goes on until it adds
# no more, or waits: `while (TRUE) Sys.sleep(24 * 60 * 60)` is how such programs end.

note_rook <- function() {
  stand_in("Rook", "Server", list(call = function(app) register_app(as_app(app), NULL, NULL, character())))
  stand_in("Rook", "suspend_console", function() wait_for_rook())
  # as an object is made, its methods are taken from here
  methods <- get("Rhttpd", asNamespace("Rook"))$def@refMethods
  replace <- function(name, fun) {
    method <- methods[[name]]
    method@.Data <- fun
    assign(name, method, envir = methods)
  }
  for (name in names(rhttpd_methods)) replace(name, rhttpd_methods[[name]])
  add <- methods$add@.Data
  body(add) <- call("{", quote(asNamespace("drover")$note_rhttpd(.self)), body(add))
  replace("add", add)
  # what start() calls, for programs that call it themselves to listen on all addresses
  tools <- asNamespace("tools")
  unlockBinding("C_startHTTPD", tools)
  assign("C_startHTTPD", C_no_httpd, envir = tools)
  lockBinding("C_startHTTPD", tools)
}

# R gives them the environment of their object, as R6 does those of load-runs.R.
rhttpd_methods <- list(
  start = function(listen, port, quiet) {
    asNamespace("drover")$start_rhttpd(.self, c(if (!missing(listen)) "listen", if (!missing(port)) "port"))
  },
  launch = function(...) {
    .self$add(get("RhttpdApp", asNamespace("Rook"))$new(...))
    asNamespace("drover")$start_rhttpd(.self)
  },
  stop = function() invisible(),
  open = function(x) invisible(),
  browse = function(x) invisible()
)

start_rhttpd <- function(server, given = character()) {
  if (!is_loading()) return(invisible())
  note_rhttpd(server)
  loading$rook$started <- TRUE
  loading$rook$given <- union(loading$rook$given, given)
  if (!adds_to_rhttpd(loading$ahead)) register_rook()
  invisible()
}

note_rhttpd <- function(server) {
  # a handler may add an app, too
  if (!is_loading()) return()
  if (is.null(loading$rook)) notice_waits(wait_for_rook)
  if (!any(vapply(loading$rook$servers, identical, NA, server))) {
    loading$rook$servers <- c(loading$rook$servers, server)
  }
}

# Called where the file waits.
wait_for_rook <- function() {
  if (is.null(loading$rook)) return()
  register_rook()
  if (is.null(loading$registered)) stop_load("the server of Rook has no app: add one, by add(), before it waits")
}

# When the expressions `rest` are all that is left of the file: what has been started is served, if nothing adds to it.
settle_rook <- function(rest) {
  if (isTRUE(loading$rook$started) && !adds_to_rhttpd(rest)) register_rook()
}

adds_to_rhttpd <- function(expressions) any(c("add", "launch") %in% all.names(expressions))

# What is installed so far is the app, if there is any, and no other one.
register_rook <- function() {
  if (!is.null(loading$registered)) return()
  servers <- loading$rook$servers
  if (!any(lengths(lapply(servers, function(one) one$appList)))) return()
  register_app(rhttpd_app(servers), NULL, NULL, loading$rook$given, "start() of a server of Rook")
}
