# Which endpoints of a router of plumber are answered on the fast path, and why others are not: those for which plumber
# would do what plumber-fast.R does, and nothing else. Neighbours: plumber-app.R, plumber-fast.R (the handlers).

# What is known of a router, its mounts followed: lists of verbs, path (with the mounts before it), note (where it is
# tried, if that is not its place among the others), reason (why it is not fast, or NULL), and for fast ones `endpoint`,
# see fast_endpoint(). In the order in which plumber tries them.
plan_router <- function(pr) {
  plan <- new_plan(pr)
  plan_endpoints(plan, pr, "", root_reason(pr))
  plan$entries
}

new_plan <- function(root) {
  # before: what is tried before an endpoint and is no route here, list(verbs, head, mount, regex) or list(head), the
  # beginning of paths
  list2env(list(entries = list(), before = list(), root = root), parent = emptyenv())
}

plan_endpoints <- function(plan, pr, mount, reason) {
  reason <- reason %||% filters_reason(pr)
  for (stage in stages_of(pr)) {
    for (endpoint in pr$endpoints[[stage]]) {
      early <- if (stage != "__no-preempt__") paste("before", sub("^__first__$", "all filters", stage))
      plan_endpoint(plan, endpoint, pr, mount, early, reason)
    }
  }
  for (path in names(pr$mounts)) {
    child <- pr$mounts[[path]]
    below <- paste0(mount, sub("/$", "", path))
    if (inherits(child, "PlumberStatic")) {
      plan_files(plan, child, paste0(below, "/"), reason)
    } else {
      plan_endpoints(plan, child, below, reason %||% kind_reason(child))
    }
    plan$before <- c(plan$before, list(list(head = paste0(below, "/"))))
  }
}

# Files that nothing is tried before, which may be answered without R.
plan_files <- function(plan, child, path, reason) {
  is_as_made <- identical(class(child), c("PlumberStatic", "Plumber", "Hookable", "R6")) &&
    length(child$filters) == 1L && !length(child$endpoints) && !length(child$mounts)
  hidden <- vapply(plan$before, may_hide, NA, verbs = c("GET", "HEAD"), path = path)
  reason <- reason %||% (if (!is_as_made) "its router was changed") %||%
    if (any(hidden)) "another one may answer its paths before it"
  entry <- list(verbs = "files", path = path, note = "", reason = reason, dir = private_of(child)$dir)
  plan$entries <- c(plan$entries, list(entry))
}

# What the engine has to know of the files in a plan, see router_statics(). `folder`: see in_folder().
plumber_statics <- function(plan, prefix, folder) {
  is_plain <- function(path) !grepl("[^A-Za-z0-9_~./-]", path)
  files <- Filter(function(entry) identical(entry$verbs, "files") && is.null(entry$reason), plan)
  if (!length(files) || !is_plain(prefix) || !is.null(plumber_option("sharedSecret", NULL))) return(list())
  types <- as.list(plumber_types())
  statics <- lapply(files, function(entry) {
    dir <- entry$dir
    if (!is_string(dir) || !is_plain(entry$path)) return(NULL)
    if (!startsWith(dir, "/")) dir <- file.path(folder %||% getwd(), dir)
    list(mount = paste0(prefix, entry$path), dir = path.expand(dir), types = types)
  })
  Filter(Negate(is.null), statics)
}

# The types of files by their endings, as plumber has them.
plumber_types <- function() {
  known <- asNamespace("plumber")$knownContentTypes
  others <- asNamespace("mime")$mimemap
  c(known, others[setdiff(names(others), names(known))])
}

# The stages of a router, in the order in which they are tried.
stages_of <- function(pr) {
  filters <- vapply(pr$filters, function(filter) filter$name, "")
  intersect(c("__first__", filters, "__no-preempt__"), names(pr$endpoints))
}

plan_endpoint <- function(plan, endpoint, pr, mount, early, reason) {
  reason <- reason %||% (if (!is.null(early)) paste("it is tried", early)) %||% endpoint_reason(endpoint)
  add_to_plan(
    plan, endpoint$verbs, mount, endpoint$path, private_of(endpoint)$regex, early %||% "", reason,
    function(hidden) fast_endpoint(endpoint, pr, plan$root, mount, hidden)
  )
}

# `make`: gives the endpoint, when what is tried before it is known.
add_to_plan <- function(plan, verbs, mount, own_path, regex, note, reason, make) {
  path <- paste0(mount, own_path)
  pattern <- route_pattern(path, regex)
  if (is.null(reason) && is.null(pattern)) reason <- "its path is a regular expression"
  hidden <- Filter(function(one) may_hide(one, verbs, path), plan$before)
  is_literal <- !grepl("<", path, fixed = TRUE)
  if (is.null(reason) && is_literal && any(vapply(hidden, matches_before, NA, path))) {
    reason <- "another one answers this path before it"
  }
  entry <- list(verbs = verbs, path = path, note = note, reason = reason)
  if (is.null(reason)) {
    entry$pattern <- pattern
    entry$endpoint <- make(if (!is_literal) hidden)
  }
  # what a point in a path matches besides itself has no route
  if (!is.null(reason) || grepl(".", path, fixed = TRUE)) {
    plan$before <- c(plan$before, list(list(
      verbs = verbs, head = paste0(mount, literal_head(own_path)), mount = mount, regex = regex$regex
    )))
  }
  plan$entries <- c(plan$entries, list(entry))
}

# The path as one of this package's routes, which takes at least what plumber's does; NULL when there is none, as
# plumber's are regular expressions. Values are read from the path as it was sent, so names do not matter here.
route_pattern <- function(path, regex) {
  if (!grepl("^(/([A-Za-z0-9_~.-]+|<[.]?[A-Za-z][A-Za-z0-9_.]*(:[^>]*)?>))+/?$|^/$", path)) return(NULL)
  if (!grepl("<", path, fixed = TRUE)) return(path)
  # one that stands in the path of a mount is no placeholder to plumber
  if (lengths(gregexpr("<", path, fixed = TRUE)) != length(regex$names)) return(NULL)
  types <- c(integer = ":int", number = ":dbl", boolean = ":bool")[regex$types]
  types[is.na(types) | unlist(regex$areArrays)] <- ""
  regmatches(path, gregexpr("<[^>]*>", path)) <- list(paste0("<p", seq_along(types), types, ">"))
  path
}

# The beginning of a path that only stands for itself.
literal_head <- function(path) sub("[^A-Za-z0-9_~/-].*$", "", path)

# Whether what is tried before may match paths of an endpoint.
may_hide <- function(one, verbs, path) {
  if (!is.null(one$verbs) && !any(verbs %in% one$verbs)) return(FALSE)
  head <- literal_head(path)
  startsWith(head, one$head) || startsWith(one$head, head)
}

root_reason <- function(pr) {
  hooks <- lengths(private_of(pr)$hooks)
  hooks <- setdiff(names(hooks)[hooks > 0L], "exit")
  if (length(hooks)) return(paste0("the router has hooks: ", paste(hooks, collapse = ", ")))
  kind_reason(pr)
}

kind_reason <- function(pr) {
  if (!identical(class(pr), c("Plumber", "Hookable", "R6"))) paste("the router is of class", class(pr)[[1L]])
}

# plumber's own filters read query, body and cookies, and look for a shared secret: see is_hindered().
filters_reason <- function(pr) {
  own <- asNamespace("plumber")$defaultPlumberFilters
  functions <- lapply(pr$filters, function(filter) private_of(filter)$func)
  names <- vapply(pr$filters, function(filter) filter$name, "")
  if (identical(names, names(own)) && identical(functions, unname(own))) return(NULL)
  other <- setdiff(names, names(own))
  if (length(other)) paste("filters:", paste(other, collapse = ", ")) else "plumber's own filters were changed"
}

endpoint_reason <- function(endpoint) {
  if (!identical(class(endpoint), c("PlumberEndpoint", "PlumberStep", "Hookable", "R6"))) {
    return(paste("it is of class", class(endpoint)[[1L]]))
  }
  if (length(unlist(private_of(endpoint)$hooks))) return("hooks, or a serializer with a graphics device")
  if (mentions_forward(endpoint$getFunc())) return("it calls forward()")
}

# Also in functions that it calls by name and that are of the same file.
mentions_forward <- function(fn, seen = character()) {
  names <- all.names(body(fn))
  if ("forward" %in% names) return(TRUE)
  if (!is_of_app(fn)) return(FALSE)
  for (name in setdiff(names, seen)) {
    called <- get0(name, environment(fn), mode = "function", inherits = FALSE)
    if (is.null(called) || is.primitive(called)) next
    seen <- c(seen, name)
    if (mentions_forward(called, seen)) return(TRUE)
  }
  FALSE
}
