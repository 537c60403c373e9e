# Checks of the names of arguments. R itself lets a wrong name pass where a function has `...`, and takes the beginning
# of a name for the whole. Neighbour: check.R, for what arguments hold.

# Signals an error for the first name in `call` that `fun` has no argument of, and for one that is shortened. What `...`
# takes is the function's own to check.
check_names <- function(call = sys.call(-1L), fun = sys.function(-1L)) {
  wrong <- .Call(C_wrong_name, call, fun)
  if (!is.null(wrong)) stop_name(wrong, setdiff(names(formals(fun)), "..."), call)
}

check_dots_empty <- function(..., call = sys.call(-1L), fun = sys.function(-1L)) {
  check_names(call, fun)
  if (...length() == 0L) return(invisible())
  given <- names(list(...))
  if (!is.null(given) && nzchar(given[[1L]])) stop_name(given[[1L]], setdiff(names(formals(fun)), "..."), call)
  stop_drover("argument", "`...` must be empty; it holds an unnamed argument", call = call, argument = "...")
}
