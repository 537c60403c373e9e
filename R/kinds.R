# Predicates and properties of values and functions. Neighbour: servable.R, the same for apps.

is_string <- function(x) is.character(x) && length(x) == 1L && !is.na(x)

is_whole <- function(x) is.numeric(x) && !is.object(x) && length(x) == 1L && is.finite(x) && x == trunc(x)

is_promise <- function(value) inherits(value, "promise")

is_response <- function(value) inherits(value, "dr_response")

# Objects that draw when they are printed.
is_plot <- function(value) inherits(value, c("ggplot", "trellis", "recordedplot"))

# JSON objects without members.
no_members <- structure(list(), names = character())

# What a function declares: `required`, the names without a default; `most`, the number it takes by position. NULL for
# the few primitives that do not say.
arity <- function(x) {
  declared <- formals(args(x))
  if (is.null(args(x))) return(NULL)
  dots <- names(declared) == "..."
  is_required <- vapply(declared, function(default) is.symbol(default) && !nzchar(as.character(default)), NA)
  list(required = names(declared)[is_required & !dots], most = if (any(dots)) Inf else length(declared))
}

# An argument, NULL when it was not given: plumber's pr_run() hands on what it was not given, too, as an empty symbol.
told <- function(value) {
  # in a list, as a variable that holds the empty symbol cannot be read
  given <- tryCatch(list(value), error = function(error) list(NULL))
  if (!is.symbol(given[[1L]])) given[[1L]]
}

# What an object of R6 keeps for itself.
private_of <- function(pr) pr$.__enclos_env__$private

is_installed <- function(package) requireNamespace(package, quietly = TRUE)
