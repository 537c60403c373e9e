# Functions that are called with several values, and the names of their arguments, which tell what their author expects:
# `function(msg)` wants the message, wherever it stands among what could be given. Neighbours: check.R (how many
# arguments a function takes), typed-handler.R (values of requests by name).

# Names that mean the same. In each of these groups a function is given one thing at most.
same_names <- list(
  c("conn", "client", "connection", "con", "ws", "socket"), c("msg", "message"), c("binary", "is_binary"),
  c("req", "request", "r"), c("err", "error", "e", "cnd", "cond", "condition"), c("nxt", "next", "next_", "forward"),
  c("cancelled", "canceled")
)

# The places, among `values` (names of what may be given), of what arguments mean; NA where the name says nothing.
meant_by <- function(arguments, values) {
  place <- function(name) {
    exact <- match(name, values)
    if (!is.na(exact)) return(exact)
    group <- Find(function(group) name %in% group, same_names)
    if (is.null(group)) NA_integer_ else match(TRUE, values %in% group)
  }
  vapply(arguments, place, 0L, USE.NAMES = FALSE)
}

# Which of `values` a function is called with, as places among them, in the order of its arguments: those that it names,
# when it names nothing else, and otherwise as many as it takes, from the left.
given_to <- function(fn, values) {
  from_left <- seq_len(arguments_for(fn, length(values)))
  takes <- names(formals(args(fn)))
  named <- setdiff(takes, "...")
  places <- meant_by(named, values)
  if (!length(named) || anyNA(places) || anyDuplicated(places)) return(from_left)
  if (!"..." %in% takes) return(places)
  # what it does not name is for `...`, which takes by position only behind all others
  if (takes[[length(takes)]] == "...") c(places, setdiff(seq_along(values), places)) else from_left
}

# How many arguments, of `n` that there are, a function is given from the left.
arguments_for <- function(fn, n) {
  takes <- arity(fn)
  if (is.null(takes)) n else as.integer(min(n, takes$most))
}

# `fn` as a function of all `values`, by position.
taking_all <- function(fn, values) {
  if (is.null(fn)) return(function(...) NULL)
  force(fn)
  called <- as.call(c(quote(fn), lapply(values[given_to(fn, values)], as.name)))
  eval(call("function", as.pairlist(with_names(rep(alist(a = ), length(values)), values)), called)) # nolint
}

# A function that gets those of `values` which it names, or as many as it takes.
check_values_taken <- function(x, arg, values, null = FALSE, hint = "", call = sys.call(-1L)) {
  check_function(x, arg, null, call)
  takes <- if (!is.null(x)) arity(x)
  if (is.null(takes)) return(invisible())
  named <- setdiff(names(formals(args(x))), "...")
  places <- meant_by(named, values)
  by_name <- !anyNA(places) && !anyDuplicated(places)
  # a name that is known says that another value is expected there
  misplaced <- !is.na(places) & places != seq_along(places) | named %in% c("req", "request")
  if (by_name || (length(takes$required) <= length(values) && !any(misplaced))) return(invisible())
  problem <- sprintf(
    "`%s` must be a function of %s, or of some of these by their names, not function(%s)%s", arg,
    paste(values, collapse = ", "), paste(names(formals(args(x))), collapse = ", "), hint
  )
  stop_drover("argument", problem, call = call, argument = arg)
}

# A function that is called with all `values` by position, and says by the names of its arguments that it expects others
# there.
check_order <- function(x, arg, values, call = sys.call(-1L)) {
  if (is.null(x)) return(invisible())
  takes <- names(formals(args(x)))
  places <- meant_by(takes, values)
  if (!any(places != seq_along(places), na.rm = TRUE)) return(invisible())
  problem <- sprintf(
    "`%s` must be function(%s), in this order, not function(%s)", arg, paste(values, collapse = ", "),
    paste(takes, collapse = ", ")
  )
  stop_drover("argument", problem, call = call, argument = arg)
}
