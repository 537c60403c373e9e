# What can be served, told by what it can do. Neighbour: load-object.R, which makes an app of it.

# Whether somebody calls a request so. What has another name may be meant for a value of the request.
is_request_name <- function(name) {
  # nearly all are: an app may have thousands of handlers
  if (all(name == "req")) return(rep(TRUE, length(name)))
  grepl("^[._]*req|request|^env$|^environment$|^ctx$|^context$|^[._]*[rxe]?[._]*$", name, ignore.case = TRUE)
}

# What is served, in words.
servable <- "an app (see dr_app()), a router of 'plumber', or an app of Shiny, httpuv, Rook or Rserve (see dr_rook())"

is_servable <- function(x) {
  inherits(x, "dr_app") || is_plumber(x) || is_shiny(x) || is_rhttpd(x) || is_rserve_function(x) ||
    is_request_function(x) || is_httpuv_app(x)
}

is_httpuv_app <- function(x) is.function(member(x, "call")) || is.function(member(x, "onWSOpen"))

is_plumber <- function(x) inherits(x, "Plumber")

# A function that can be called with a request.
is_request_function <- function(x) {
  if (!is.function(x) || makes_value(x)) return(FALSE)
  takes <- arity(x)
  !is.null(takes) && takes$most >= 1 && length(takes$required) <= 1L
}

# Whether a function can be called as it is, and does not look for a request: it may make an app.
makes_value <- function(x) {
  takes <- if (is.function(x)) arity(x)
  if (is.null(takes) || length(takes$required)) return(FALSE)
  first <- names(formals(args(x)))
  !length(first) || (first[[1L]] != "..." && !is_request_name(first[[1L]]))
}

# For an error about `x`: what a function of that kind is, and how it is called where its name is known.
call_it <- function(x, name = "make_app") {
  if (makes_value(x)) sprintf("; a function that makes one has to be called, as in %s()", name) else ""
}

# What an object has under a name, NULL where it has none: `$` is more than `[[` for objects of some kinds, and of lists
# it would take a part of a name.
member <- function(x, name) {
  if (!is.list(x) && !is.environment(x)) return(NULL)
  tryCatch(if (is.list(x)) x[[name]] else eval(call("$", x, name)), error = function(error) NULL)
}

is_rhttpd <- function(x) inherits(x, "Rhttpd")

is_rserve_function <- function(x) {
  is.function(x) && identical(names(formals(args(x)))[1:4], c("url", "query", "body", "headers"))
}

is_shiny <- function(x) inherits(x, "shiny.appobj")
