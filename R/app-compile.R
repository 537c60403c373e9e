# From an app to what the engine is given: mounts followed, middleware put around handlers, once, when the server
# starts. Not for registering (app-*.R) nor for starting (serve.R). Neighbours: app-compose.R;
# worker-natives.R, for what C handlers need in the process that runs them.

# The routes of an app and of all apps mounted in it, in order: lists of method, path, handler, timeout (seconds or
# NULL), on_client_gone (or NULL), max_body (bytes, or NULL), early_hints (a list of links, or NULL), pool (a name, or
# NULL), job (see job.R), usual (see route-defaults.R), middleware (a list, the outermost first), has_sessions and
# on_error. An app's own routes precede those of the apps mounted in it. Further fields of `app`: further_routes (a
# function of the prefix that returns routes, tried after its own), rest (a handler for requests that no other route
# matches), rest_websocket (the same for WebSockets), leave_websockets (a function without arguments, after which it has
# none any more) and usual (the defaults of all these routes).
app_routes <- function(app, prefix = "", outer = list(), pool = NULL) {
  around <- around_handlers(app, outer)
  further <- if (!is.null(app$further_routes)) app$further_routes(prefix)
  if (length(further)) {
    usual <- list(usual = usual_of(app))
    further <- lapply(further, c, usual)
  }
  own <- lapply(c(unname(app$routes), further), function(route) {
    list(
      method = route$method, path = join_path(prefix, route$path),
      handler = route_handler(app, route, around), types = engine_types(route),
      timeout = route$timeout, on_client_gone = route$on_client_gone, max_body = route$max_body,
      early_hints = route$early_hints, batch = route$batch, pool = route$pool %||% pool,
      job = job_field(route, prefix),
      usual = route$usual, middleware = around$middleware,
      has_sessions = around$has_sessions,
      on_error = error_answers(route$on_error, around$on_error),
      declared = route[c("params", "body")], about = route$about, offer = route$offer
    )
  })
  mounted <- lapply(app$mounts, function(mount) {
    app_routes(mount$app, paste0(prefix, mount$prefix), around, mount$pool %||% pool)
  })
  c(own, unlist(mounted, recursive = FALSE))
}

# The handler of a route, without what middleware puts around it.
route_handler <- function(app, route, around) {
  if (is.null(route$batch)) return(checked_handler(reading_lists(app, typed_handler(route)), route))
  if (length(around$middleware) || around$has_sessions) {
    problem <- sprintf(
      "route %s %s has a `batch`, and dr_use() or dr_session() around it, which are called with one request at a time",
      route$method, route$path
    )
    stop_drover("argument", problem, call = NULL, argument = "batch")
  }
  batched_handler(route)
}

# What answers the errors of a route: its own function, and then that of the app for what dr_abort() signals.
error_answers <- function(own, of_app) {
  if (is.null(own)) return(of_app)
  attr(own, "aborts") <- of_app
  own
}

# The routes that are tried when all others and the static mounts have been: those of the apps mounted in an app go
# before its own, as they are below it.
rest_routes <- function(app, prefix = "", outer = list(), pool = NULL) {
  around <- around_handlers(app, outer)
  mounted <- lapply(app$mounts, function(mount) {
    rest_routes(mount$app, paste0(prefix, mount$prefix), around, mount$pool %||% pool)
  })
  own <- if (!is.null(app$rest)) {
    lapply(c("/", "/*path"), function(path) {
      list(
        method = "ANY", path = join_path(prefix, path), handler = app$rest, middleware = around$middleware,
        on_error = around$on_error, rest = TRUE, pool = pool,
        usual = usual_of(app)
      )
    })
  }
  c(unlist(mounted, recursive = FALSE), own)
}

# The C routes of an app and of all that is mounted in it, in the same order, with the prefixes before their paths.
# `field`: "cpp_routes" or "cpp_stream_routes".
app_cpp_routes <- function(app, field, prefix = "") {
  own <- lapply(unname(app[[field]]), function(route) {
    route$path <- join_path(prefix, route$path)
    route$types <- engine_types(route)
    route
  })
  mounted <- lapply(app$mounts, function(mount) app_cpp_routes(mount$app, field, paste0(prefix, mount$prefix)))
  c(own, unlist(mounted, recursive = FALSE))
}

# The static mounts likewise: lists of mount and dir.
app_statics <- function(app, prefix = "") {
  own <- lapply(app$static_mounts, function(static) list(mount = paste0(prefix, static$mount), dir = static$dir))
  mounted <- lapply(app$mounts, function(mount) app_statics(mount$app, paste0(prefix, mount$prefix)))
  c(own, unlist(mounted, recursive = FALSE))
}

# The folders of a router, which the engine serves after all other static mounts. Only if nothing of this package could
# answer before the router: no middleware around it, no other catch-all handler.
router_statics <- function(app) {
  tree <- app_tree(app)
  if (sum(vapply(tree, function(one) !is.null(one$rest), NA)) != 1L) return(list())
  below <- function(one, prefix) {
    if (length(one$middleware)) return(list())
    own <- if (!is.null(one$further_statics)) one$further_statics(prefix)
    mounted <- lapply(one$mounts, function(mount) below(mount$app, paste0(prefix, mount$prefix)))
    c(own, unlist(mounted, recursive = FALSE))
  }
  below(app, "")
}

# The dir of a static mount as an absolute path; a missing one is an error.
static_dir <- function(static, call) {
  if (!dir.exists(static$dir)) {
    shown <- encodeString(static$dir, quote = "\"")
    problem <- sprintf("`dir` of the static mount %s must be an existing folder, not %s", static$mount, shown)
    stop_drover("argument", problem, call = call, argument = "dir")
  }
  list(mount = static$mount, dir = normalizePath(static$dir))
}

# A not-found handler answers 404 unless it says otherwise: what is not a response by itself gets that status.
not_found_handler <- function(handler) {
  force(handler)
  as_missing <- function(value) {
    bare <- !is_response(value)
    response <- as_response(value)
    if (bare) response$status <- 404L
    response
  }
  function(req) {
    value <- handler(req)
    if (is_promise(value)) value$then(as_missing) else as_missing(value)
  }
}

# Of a route, beside its method, its path and its handler.
engine_fields <- c(
  "types", "timeout", "on_client_gone", "max_body", "early_hints", "batch", "job", "usual", "rest", "pool"
)

# What the engine has to know of a route. A field that is NULL is none.
route_field <- function(route, handler, runs) {
  c(
    list(methods = route$method, pattern = enc2utf8(route$path), handler = handler, runs = runs),
    compact(route[engine_fields])
  )
}

# A C route's handler, for natives_for_engine(): names, not addresses, since other processes have others.
native_field <- function(route, params) {
  list(
    package = route$package, callable = route$callable, data = route$data, content_type = route$content_type,
    # only streams have a type from the start
    interface = if (is.null(route$content_type)) {
      c(drogonR = "unary", drover = "drover")[[route$interface]]
    } else {
      "stream"
    },
    params = params, route = paste(route$method, route$path)
  )
}

# The same of a handler of WebSockets.
native_websocket <- function(route, params) {
  list(
    package = route$package, callable = route$callable, data = route$data, content_type = NULL,
    interface = c(drogonR = "ws", drover = "socket")[[route$interface]],
    params = params, route = paste("WebSocket", route$path)
  )
}

# Warns of routes and static mounts for which those that are tried before them leave nothing.
warn_of_hidden <- function(routes, statics, call) {
  methods <- c(vapply(routes, `[[`, "", "method"), rep("GET", length(statics)))
  paths <- c(vapply(routes, `[[`, "", "path"), vapply(statics, function(static) paste0(static$mount, "/*"), ""))
  names <- c(
    paste("route", methods, paths)[seq_along(routes)], paste("static mount", vapply(statics, `[[`, "", "mount"))
  )
  for (method in unique(methods)) {
    # one of some methods hides none of all methods
    tried <- which(methods %in% c(method, "ANY"))
    hidden_by <- .Call(C_hidden_patterns, enc2utf8(paths[tried]))
    for (i in which(!is.na(hidden_by) & methods[tried] == method)) {
      before <- names[[tried[[hidden_by[[i]]]]]]
      warn_unreachable(
        call, names[[tried[[i]]]], " is never reached: ", before, " goes before it and matches all its paths"
      )
    }
  }
}

# A list: routes, static and not_found for engine_start()'s config; handlers and on_error (lists of the same length);
# error_form (the function that gives a form to errors of the engine, or NULL); natives, the C handlers; policies; app,
# the app itself; and counts, for people. A route has its handler's number among those of its kind. All routes in R go
# before all C routes, these before streams in C, and what takes the rest comes last, wherever they are mounted.
compile_app <- function(app, call = sys.call(-1L)) {
  first <- app_routes(app)
  rest <- rest_routes(app)
  routes <- c(first, rest)
  pools <- pools_of(routes, call)
  # an app may have thousands of routes, and most have none
  numbered <- if (is.null(pools)) identity else function(route) {
    if (!is.null(route$pool)) route$pool <- match(route$pool, pools)
    route
  }
  unary <- app_cpp_routes(app, "cpp_routes")
  streams <- app_cpp_routes(app, "cpp_stream_routes")
  cpp <- c(unary, streams)
  # a prefix and a path that are fine alone may not be together: the same placeholder in both
  paths <- vapply(routes, `[[`, "", "path")
  for (path in setdiff(paths, vapply(app$routes, `[[`, "", "path"))) parse_path(path, call)
  params <- lapply(cpp, function(route) parse_path(route$path, call)$names)
  handlers <- lapply(routes, function(route) {
    job_handler(compose(route$middleware, route$handler, route$on_error, route$has_sessions), route$job)
  })
  on_error <- lapply(routes, `[[`, "on_error")
  fill_offers(routes, handlers, app_policies(app), call)
  natives <- Map(native_field, cpp, params)
  websockets <- list()
  for (route in app_websockets(app)) {
    param_names <- parse_path(route$path, call)$names
    if (!is.null(route$package)) {
      natives <- c(natives, list(native_websocket(route, param_names)))
      websockets <- c(websockets, list(websocket_field(route, length(natives), 0L)))
      next
    }
    asks <- connecting_handler(route)
    if (!is.null(asks)) handlers <- c(handlers, asks)
    on_error[length(handlers)] <- list(if (!is.null(asks)) route$on_error)
    events <- length(handlers) + 1L
    handlers[[events]] <- event_handlers(route)
    on_error[events] <- list(NULL)
    websockets <- c(websockets, list(websocket_field(route, if (is.null(asks)) 0L else events - 1L, events)))
  }
  not_found <- NULL
  if (!is.null(app$not_found)) {
    not_found <- length(handlers) + 1L
    on_error[not_found] <- list(reading_lists(app, app$on_error))
    handlers[[not_found]] <- compose(
      app_middleware(app), not_found_handler(reading_lists(app, with_request(app$not_found))), on_error[[not_found]],
      has_sessions(app)
    )
  }
  warn_of_hidden(c(Filter(Negate(is_private), first), cpp), app_statics(app), call)
  warn_of_annotations(app, call)
  runs <- vapply(cpp, function(route) if (isTRUE(route$inline)) "inline" else "pool", "")
  static <- c(lapply(app_statics(app), static_dir, call = call), router_statics(app))
  list(
    routes = c(
      lapply(seq_along(first), function(i) route_field(numbered(first[[i]]), i, "r")),
      lapply(seq_along(cpp), function(i) route_field(cpp[[i]], i, runs[[i]])),
      lapply(seq_along(rest), function(i) route_field(numbered(rest[[i]]), length(first) + i, "r")),
      websockets
    ),
    static = static, not_found = not_found, handlers = handlers, on_error = on_error,
    error_form = reading_lists(app, app$on_error),
    natives = natives, policies = app_policies(app), pools = pools, app = app,
    counts = c(
      routes = length(routes), cpp_routes = length(unary), cpp_stream_routes = length(streams),
      static = length(static), if (length(websockets)) c(ws_routes = length(websockets))
    )
  )
}
