# Errors of this package: how they are signalled, and the words in them. Neighbours: check.R and check-names.R, which
# judge arguments; error-abort.R, for errors that an app makes.

# Signals an error of class drover_error_<what>. `...`: further fields of the condition.
stop_drover <- function(what, message, ..., call = sys.call(-1L), class = NULL) {
  stop(structure(
    class = c(class, paste0("drover_error_", what), "drover_error", "error", "condition"),
    list(message = message, call = call, ...)
  ))
}

stop_name <- function(name, known, call) {
  what <- called(call)
  problem <- sprintf(
    "`%s` is not an argument%s%s", name, if (nzchar(what)) paste0(" of ", what, "()") else "",
    did_you_mean(name, known)
  )
  stop_drover("argument", problem, call = call, argument = name)
}

# The function of a call by its name, "" where it has none.
called <- function(call) {
  fun <- call[[1L]]
  if (is.call(fun) && length(fun) == 3L && is.symbol(fun[[3L]])) fun <- fun[[3L]]
  if (is.symbol(fun)) as.character(fun) else ""
}

# ": did you mean `workers`?", with the one of `known` that is near, or else `otherwise`.
did_you_mean <- function(name, known, before = "`", after = "`", otherwise = "") {
  near <- nearest(name, known)
  if (is.null(near)) otherwise else paste0(": did you mean ", before, near, after, "?")
}

# The one of `known` that was most likely meant; NULL when nothing is near.
nearest <- function(name, known) {
  plain <- function(x) gsub("[._]", "", tolower(x))
  starts <- known[startsWith(plain(known), plain(name))]
  if (length(starts)) return(starts[[1L]])
  distance <- utils::adist(plain(name), plain(known))[1L, ]
  if (min(distance) <= max(2, nchar(name) / 3)) known[[which.min(distance)]]
}

# What was given instead, in a few words: "a function", "a character vector of length 2".
describe <- function(x) {
  if (is.null(x)) return("NULL")
  if (is.function(x)) return("a function")
  if (is.environment(x) && !is.object(x)) return("an environment")
  if (is.object(x)) return(paste0("an object of class ", paste0("'", class(x), "'", collapse = "/")))
  if (is.list(x)) return(if (is.null(names(x))) "an unnamed list" else "a named list")
  if (!is.atomic(x)) return(paste0("an object of type '", typeof(x), "'"))
  if (length(x) != 1L) return(sprintf("a %s vector of length %d", mode(x), length(x)))
  if (is.na(x)) return("NA")
  # cut, since a value may be long and end up in a log line
  text <- encodeString(substr(as.character(x), 1L, 60L), quote = if (is.character(x)) "\"" else "")
  if (is.raw(x)) paste("the raw byte", text) else text
}

stop_argument <- function(arg, right, given, call, hint = "") {
  problem <- sprintf("`%s` must be %s, not %s%s", arg, right, describe(given), hint)
  stop_drover("argument", problem, call = call, argument = arg)
}

# What a promise was rejected with need not be a condition.
as_condition <- function(reason) {
  if (inherits(reason, "condition")) reason else simpleError(paste(format(reason), collapse = " "), NULL)
}

# Called from C when a part of a request cannot be read.
stop_field <- function(status, message, call = NULL) {
  stop_drover("http", message, status = status, headers = list(), call = call, class = "drover_error_body")
}
