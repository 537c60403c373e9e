# Paths of routes and of requests.

# Parses a path: the names and types of its params; a path that the router would not take is an error.
parse_path <- function(path, call, arg = "path") {
  check_string(path, arg, call = call)
  parsed <- .Call(C_pattern_parse, enc2utf8(path))
  if (is.character(parsed)) stop_drover("argument", paste0("`", arg, "`: ", parsed), call = call, argument = arg)
  parsed
}

join_path <- function(prefix, path) {
  if (nzchar(prefix) && path == "/") prefix else paste0(prefix, path)
}

# How many segments stand before the app's own, by the pattern of the route: "/api/*path" has one, "/" none.
mount_depth <- function(route) {
  depth <- depths[[route]]
  if (is.null(depth)) {
    own <- sub("/(\\*path)?$", "", route)
    depth <- lengths(gregexpr("/", own, fixed = TRUE))
    if (!grepl("/", own, fixed = TRUE)) depth <- 0L
    depths[[route]] <- depth
  }
  depth
}

# By pattern. There are as many as there are routes.
depths <- new.env(parent = emptyenv())

# list(path, query, before, rest) of "/a%20b?c=d", as they were sent; the query has its "?". `before`: the first `depth`
# segments of the path; `rest`: the others, never empty.
split_target <- function(url, depth = 0L) .Call(C_rook_target, url, depth)
