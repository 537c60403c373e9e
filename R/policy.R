# Policies: what the engine decides without R, for the paths of an app. Here is what they have in common; each has a
# file: policy-cors.R. Neighbours: app-compile.R, which gathers them from an app and those mounted in it; the engine's
# src/rust/crates/engine/src/edge, which decides.

# The one way into app$policies. `rule`: a named list with one element, as the engine reads it; or a function that gives
# one for the prefix that the app is mounted below, if the rule has paths of its own.
add_policy <- function(app, rule, routes, call) {
  app$policies[[length(app$policies) + 1L]] <- list(routes = check_policy_routes(routes, call), rule = rule)
  invisible(app)
}

# Paths below which a policy holds, without slashes at their ends; NULL for all of the app.
check_policy_routes <- function(routes, call, arg = "routes") {
  if (is.null(routes)) return()
  right <- "NULL or paths that start with \"/\", such as \"/api\": a character vector"
  if (!is.character(routes) || !length(routes) || anyNA(routes) || !all(startsWith(routes, "/"))) {
    stop_argument(arg, right, routes, call)
  }
  routes <- vapply(routes, check_prefix, "", arg = arg, call = call, USE.NAMES = FALSE)
  for (route in routes[nzchar(routes)]) parse_path(route, call, arg)
  routes
}

# The policies of an app and of all that is mounted in it, the outermost first: lists of routes (patterns; none for all
# paths) and rule.
app_policies <- function(app, prefix = "") {
  own <- lapply(app$policies, function(policy) {
    routes <- paste0(prefix, policy$routes %||% "")
    rule <- if (is.function(policy$rule)) policy$rule(prefix) else policy$rule
    list(routes = as.list(enc2utf8(if (all(nzchar(routes))) routes else character())), rule = rule)
  })
  mounted <- lapply(app$mounts, function(mount) app_policies(mount$app, paste0(prefix, mount$prefix)))
  c(own, unlist(mounted, recursive = FALSE))
}

# Strings that fit, as the engine's reader has them: a list. `fits` says it of each.
check_strings <- function(x, arg, right, fits, call) {
  if (!is.character(x) || anyNA(x) || !all(fits(x))) stop_argument(arg, right, x, call)
  as.list(enc2utf8(unname(x)))
}

# Names of header fields.
check_field_names <- function(x, arg, call) {
  right <- "names of header fields, such as \"X-Total\", or \"*\": a character vector"
  # "*" would be a name by its grammar, too
  check_strings(x, arg, right, function(x) vapply(x, is_token, NA), call)
}

# Origins as they stand in a list of them. `any`: whether all may be meant, and those that have none.
check_origin_list <- function(x, arg, call, any = TRUE) {
  if (is.character(x) && !length(x) && any) stop_argument(arg, "at least one origin", x, call)
  right <- paste0(
    "origins such as \"https://app.example.org\" or \"https://*.example.org\", without a path",
    if (any) ", \"null\" or \"*\"", ": a character vector"
  )
  origin <- "^[A-Za-z][-+.A-Za-z0-9]*://([*][.])?([-_.A-Za-z0-9]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]{1,5})?$"
  matches <- if (any) paste0("^([*]|null)$|", origin) else origin
  check_strings(x, arg, right, function(x) grepl(matches, x), call)
}

# A prefix as it is stored: no slash at its end, "" for the root.
check_prefix <- function(prefix, arg, call) {
  check_string(prefix, arg, call = call)
  if (!startsWith(prefix, "/")) stop_argument(arg, "a path that starts with \"/\"", prefix, call)
  sub("/+$", "", prefix)
}
