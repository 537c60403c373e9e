# Checks of arguments: each signals a `drover_error_argument` that names the argument and says what would be right.
# Not for what clients send: the engine judges that. Neighbours: conditions.R (how errors are made), and every
# exported function, which checks here before it does anything else.

check_request <- function(req, call = sys.call(-1L)) {
  if (!inherits(req, "dr_request")) stop_argument("req", "a dr_request object, as handlers get it", req, call)
}

check_function <- function(x, arg, null = FALSE, call = sys.call(-1L)) {
  if (is.function(x) || (null && is.null(x))) return(invisible())
  stop_argument(arg, if (null) "NULL or a function" else "a function", x, call)
}

# A function that is called with `n` arguments by position. Found out when it is registered: the first request would be
# too late. `what`: those arguments, in words; `or_none`: without arguments it is fine as well.
check_takes <- function(x, arg, n, what, null = FALSE, or_none = FALSE, call = sys.call(-1L)) {
  # the usual case first: streams are checked for each request
  if (typeof(x) == "closure" && length(formals(x)) == n) return(invisible())
  check_function(x, arg, null, call)
  if (is.null(x)) return(invisible())
  takes <- arity(x)
  if (is.null(takes) || (or_none && takes$most == 0)) return(invisible())
  if (takes$most >= n && length(takes$required) <= n) return(invisible())
  given <- paste(names(formals(args(x))), collapse = ", ")
  hint <- if (any(c("res", "response") %in% takes$required)) {
    "; what it returns is the response, see dr_response() and dr_json()"
  }
  problem <- sprintf("`%s` must be a function of %s, not function(%s)%s", arg, what, given, hint %||% "")
  stop_drover("argument", problem, call = call, argument = arg)
}

check_handler <- function(x, arg = "handler", null = FALSE, call = sys.call(-1L)) {
  check_takes(x, arg, 1L, "one argument, the request, or of none", null, or_none = TRUE, call = call)
}

check_hook <- function(x, arg = "fn", null = FALSE, call = sys.call(-1L)) {
  check_takes(x, arg, 0L, "no arguments", null, call = call)
}

check_string <- function(x, arg, null = FALSE, call = sys.call(-1L)) {
  if (is_string(x) || (null && is.null(x))) return(invisible())
  stop_argument(arg, if (null) "NULL or a single string" else "a single string", x, call)
}

check_texts <- function(x, arg, null = FALSE, call = sys.call(-1L)) {
  if (is.null(x) && null) return(invisible())
  if (is.character(x) && length(x) && !anyNA(x) && all(nzchar(x))) return(invisible())
  stop_argument(arg, paste0(if (null) "NULL or ", "a vector of strings that are not empty"), x, call)
}

# One of some strings; all of them, as the default is written, are the first.
check_choice <- function(x, arg, choices, call = sys.call(-1L)) {
  if (identical(x, choices)) return(choices[[1L]])
  if (is_string(x) && x %in% choices) return(x)
  quoted <- paste0("\"", choices, "\"")
  n <- length(choices)
  stop_argument(arg, paste(paste(quoted[-n], collapse = ", "), "or", quoted[[n]]), x, call)
}

check_choice_or_null <- function(x, arg, choices, call = sys.call(-1L)) {
  if (is.null(x) || is_string(x) && x %in% choices) return(invisible())
  stop_argument(arg, paste(paste0("\"", choices, "\"", collapse = ", "), "or NULL"), x, call)
}

check_flag <- function(x, arg, call = sys.call(-1L)) {
  if (!isTRUE(x) && !isFALSE(x)) stop_argument(arg, "TRUE or FALSE", x, call)
}

# 2^53: the largest range in which a double still counts one by one.
check_count <- function(x, arg, min = 1, max = 2^53, call = sys.call(-1L), or = "") {
  if (is_whole(x) && x >= min && x <= max) return(invisible())
  range <- if (max == 2^53) sprintf(">= %d", min) else sprintf("in %d..%d", min, max)
  stop_argument(arg, paste0("a single integer ", range, or), x, call)
}

# A number of bytes: where it may be given as a string, settings-units.R has read that.
check_size <- function(x, arg, min = 1, max = 2^53, call = sys.call(-1L)) {
  check_count(x, arg, min, max, call, ", or a size such as \"10MB\", \"128kB\" or \"1GiB\"")
}

# Words of a command line, which end at a zero byte and nowhere else.
check_arguments <- function(x, arg, call = sys.call(-1L)) {
  if (!is.character(x) || anyNA(x)) stop_argument(arg, "a character vector without NA", x, call)
}

# The two bounds of a pool of workers: one number for both, or c(min, max). At most 1024: each is a process. Value: the
# same; for "auto" the number of cores, and 0, which the supervisor has for that.
as_workers <- function(x, call = sys.call(-1L)) {
  if (identical(x, "auto")) return(c(.Call(C_usable_cores), 0L))
  right <- "a single integer in 1..1024, or two, c(min, max) with 0 <= min <= max, or \"auto\""
  fits <- is.numeric(x) && !is.object(x) && length(x) %in% 1:2 && all(is.finite(x)) && all(x == trunc(x)) &&
    all(x >= 0 & x <= 1024) && !is.unsorted(x) && x[[length(x)]] >= 1
  if (!fits) stop_argument("workers", right, x, call)
  x
}

# A year is longer than any sensible setting, and far within what the engine's clock can hold.
check_seconds <- function(x, arg, zero = FALSE, call = sys.call(-1L)) {
  fits <- is.numeric(x) && length(x) == 1L && is.finite(x) && x <= 31536000 && (x > 0 || (zero && x == 0))
  if (!fits) {
    right <- "a single number of seconds %s 0 and <= 31536000, or a time such as \"500ms\", \"30s\" or \"2m\""
    stop_argument(arg, sprintf(right, if (zero) ">=" else ">"), x, call)
  }
}

check_seconds_or_none <- function(x, arg, call = sys.call(-1L)) check_seconds(x, arg, zero = TRUE, call = call)
