# Checks of the names of arguments. R itself lets a wrong name pass where a function has `...`, and takes the beginning of a
# name for the whole. Neighbour: check.R, for what arguments hold.

# The names in a call, as it was written; "" for those by position.
names_given <- function(call) names(call)[-1L]

# Signals an error for the first name in `call` that is none of `known`, those of `fun`. A name that stands before `...`
# may not be shortened either.
check_names <- function(call, fun, known = names(formals(fun))) {
  given <- names_given(call)
  wrong <- given[nzchar(given) & match(given, known, 0L) == 0L]
  if (length(wrong)) stop_name(wrong[[1L]], setdiff(known, "..."), call)
}

stop_name <- function(name, known, call) {
  near <- nearest(name, known)
  what <- called(call)
  problem <- sprintf(
    "`%s` is not an argument%s%s", name, if (nzchar(what)) paste0(" of ", what, "()") else "",
    if (is.null(near)) "" else sprintf(": did you mean `%s`?", near)
  )
  stop_drover("argument", problem, call = call, argument = name)
}

# The function of a call by its name, "" where it has none.
called <- function(call) {
  fun <- call[[1L]]
  if (is.call(fun) && length(fun) == 3L && is.symbol(fun[[3L]])) fun <- fun[[3L]]
  if (is.symbol(fun)) as.character(fun) else ""
}

# The one of `known` that was most likely meant; NULL when nothing is near.
nearest <- function(name, known) {
  plain <- function(x) gsub("[._]", "", tolower(x))
  starts <- known[startsWith(plain(known), plain(name))]
  if (length(starts)) return(starts[[1L]])
  distance <- utils::adist(plain(name), plain(known))[1L, ]
  if (min(distance) <= max(2, nchar(name) / 3)) known[[which.min(distance)]]
}

check_dots_empty <- function(..., call = sys.call(-1L), fun = sys.function(-1L)) {
  if (!is.null(names(call))) check_names(call, fun)
  if (...length() == 0L) return(invisible())
  given <- names(list(...))
  # by do.call(), or passed on
  if (!is.null(given) && nzchar(given[[1L]])) stop_name(given[[1L]], setdiff(names(formals(fun)), "..."), call)
  stop_drover("argument", "`...` must be empty; it holds an unnamed argument", call = call, argument = "...")
}
