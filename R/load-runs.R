# Scripts that would serve by themselves: a router, the function of Rserve. While a file is loaded, what they call only
# says which app it is. Neighbours: load-app.R; load-httpuv.R and load-rook.R, the same for programs of httpuv and Rook.

# From now on, in this process, what would serve an app while a file is loaded registers it.
note_runs <- function() {
  when_loaded("plumber", function() {
    get("Plumber", asNamespace("plumber"))$set("public", "run", run_router, overwrite = TRUE)
  })
  # plumber's pr_run() masks this package's; with the same function in both places, attaching plumber reports no
  # conflict
  when_attached("plumber", function() replace_attached("drover", "pr_run", plumber::pr_run))
  when_loaded("httpuv", note_httpuv)
  when_loaded("later", note_later)
  when_loaded("shiny", function() while_loading("shiny", "runApp", run_shiny_app))
  when_loaded("Rook", note_rook)
  when_loaded("Rserve", function() while_loading("Rserve", "run.Rserve", run_rserve))
}

when_loaded <- function(package, action) {
  if (isNamespaceLoaded(package)) return(action())
  setHook(packageEvent(package, "onLoad"), function(...) action())
}

# R asks for conflicts after these hooks, and takes two names of the same thing for none.
when_attached <- function(package, action) {
  if (paste0("package:", package) %in% search()) return(action())
  setHook(packageEvent(package, "attach"), function(...) action())
}

# In the place of a router's run(). R6 gives a method the environment of its object: what it needs of this package it
# must look up.
run_router <- function(host, port, ..., debug, docs) {
  asNamespace("drover")$note_run(self, private, host, port, debug, docs)
  invisible(self)
}

note_run <- function(pr, private, host, port, debug, docs) {
  if (isTRUE(private$disable_run)) stop("a router cannot be run while its file is read", call. = FALSE)
  app <- as_app(pr)
  app$run <- list(debug = told(debug), docs = told(docs))
  unused <- c(if (!is.null(told(host)) && host != "127.0.0.1") "host", if (!is.null(told(port))) "port")
  register_app(app, NULL, NULL, unused, "run()")
}

run_rserve <- function(...) {
  request <- as_rserve_function(get0(".http.request", globalenv(), inherits = FALSE))
  if (is.null(request)) stop_load("run.Rserve() needs a function .http.request(url, query, body, headers) before it")
  register_app(as_app(request), NULL, NULL, ...names(), "run.Rserve()")
}
