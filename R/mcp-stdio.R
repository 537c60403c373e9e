# An app for the one client of `drover mcp`, which talks to it by standard input and output: which endpoint answers it,
# and what does not apply to it. Not for how its messages come: the program posts them to the endpoint (mcp.R), see
# src/rust/crates/cli/src/mcp/mod.rs. Neighbours: worker-zygote.R and command-mcp.R, which load such apps.

# Readies an app, which is changed in place. `arguments`: [--mcp PATH] [--with-credentials], as the program has them; an
# empty PATH names none. The route of the endpoint, as app_routes() has it; NULL of an app that is served to all.
ready_for_stdio <- function(app, arguments) {
  path <- option_of(arguments, "--mcp")
  if (is.null(path)) return(NULL)
  # the user that starts the program may change the app, too: authentication would not keep that user out
  if (!"--with-credentials" %in% arguments) for (one in app_tree(app)) one$policies <- without_auth(one$policies)
  endpoints <- mcp_endpoints(app)
  if (!length(endpoints) && !nzchar(path)) {
    offer_routes(app)
    endpoints <- mcp_endpoints(app)
  }
  paths <- vapply(endpoints, `[[`, "", "path")
  there <- if (length(paths)) paste0("it has ", and_list(paste0("dr_mcp(\"", paths, "\")"))) else "it has no dr_mcp()"
  if (nzchar(path)) {
    if (!path %in% paths) stop_load("no endpoint has the path ", path, ": ", there)
    return(endpoints[[match(path, paths)]])
  }
  if (length(paths) > 1L) stop_load(there, ": say by --endpoint which one is meant")
  endpoints[[1L]]
}

mcp_endpoints <- function(app) Filter(function(route) !is.null(route$offer), app_routes(app))

without_auth <- function(policies) {
  Filter(function(policy) {
    rule <- if (is.function(policy$rule)) policy$rule("") else policy$rule
    !identical(names(rule), "auth")
  }, policies)
}

# Of an app without an endpoint: what dr_mcp(app) offers.
offer_routes <- function(app) {
  path <- "/mcp"
  keys <- paste(c("POST", "GET"), path)
  if (!any(vapply(app_routes(app), is_tool_route, NA, offer = list(routes = TRUE)))) {
    stop_load("it offers no tools: it has no dr_mcp(), and no route with a `summary` or a `description`")
  }
  taken <- intersect(keys, names(app$routes))
  if (length(taken)) {
    stop_load("its route ", taken[[1L]], " is not that of dr_mcp(): add dr_mcp() to it, at another path")
  }
  dr_mcp(app, path)
  # no other route goes before them
  app$routes <- c(app$routes[keys], app$routes[!names(app$routes) %in% keys])
}

# Where a request to a route without placeholders goes.
target_of <- function(route) percent_encode(route$path, url_bytes)
