# Checks of the names of arguments. R itself lets a wrong name pass where a function has `...`, and takes the beginning
# of a name for the whole. Neighbour: check.R, for what arguments hold.

# Signals an error for the first name in `call` that `fun` has no argument of, and for one that is shortened. What `...`
# takes is the function's own to check.
check_names <- function(call = sys.call(-1L), fun = sys.function(-1L)) {
  wrong <- .Call(C_wrong_name, call, fun)
  if (!is.null(wrong)) stop_name(wrong, setdiff(names(formals(fun)), "..."), call)
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
  check_names(call, fun)
  if (...length() == 0L) return(invisible())
  given <- names(list(...))
  if (!is.null(given) && nzchar(given[[1L]])) stop_name(given[[1L]], setdiff(names(formals(fun)), "..."), call)
  stop_drover("argument", "`...` must be empty; it holds an unnamed argument", call = call, argument = "...")
}
