# Files of the package 'plumber', in a process of its own, like load-app.R. Neighbours: plumber-app.R (how a router is
# served), load-runs.R (scripts that run one themselves).

# Files are written for a session that has it attached.
attach_plumber <- function() suppressPackageStartupMessages(library("plumber", character.only = TRUE))

load_plumber <- function(file) {
  if (!is_installed("plumber")) return(annotated_app(file))
  # plumber does not say where a file does not parse
  parse_file(file)
  attach_plumber()
  line <- NA_integer_
  watch_blocks(basename(file))
  tryCatch(
    withCallingHandlers(
      plumber::plumb(file),
      error = function(error) line <<- line_of_block(),
      warning = function(warning) {
        tell_warning(sprintf("%s, line %d: %s", basename(file), line_of_block(), load_problem(warning)), warning)
      }
    ),
    error = function(error) stop_load(paste(c(plumb_problem(error, line), loading$calls), collapse = "\n"))
  )
}

# Records the line of the expression that opens a resource. As plumber catches the error of an expression and keeps only
# its message, the evaluated code also notes the calls that led to it, for a developer of the file.
watch_blocks <- function(file) {
  loading$name <- file
  evaluate <- asNamespace("plumber")$evaluateBlock
  # once in a process
  if (isTRUE(attr(evaluate, "watched"))) return()
  watched <- function(srcref, file, expr, envir, ...) {
    line <- srcref[[1L]]
    if (loading$trace) expr <- noting_calls(expr, line)
    evaluate(srcref, file, expr, envir, ...)
    # here `file` is the text; the caller has the name, also when one file reads another
    name <- get0("file", parent.frame(), mode = "character")
    if (is_string(name)) came_from(name, line)
  }
  utils::assignInNamespace("evaluateBlock", structure(watched, watched = TRUE), "plumber")
}

# The same expressions, which evaluate to the same.
noting_calls <- function(expressions, line) {
  for (i in seq_along(expressions)) {
    one <- expressions[[i]]
    if (is.call(one)) expressions[[i]] <- as.call(list(noting, one, list(expression = one, line = line)))
  }
  expressions
}

# `value` is evaluated where it was written. One that is a function may be called while the file is read, too: that of
# @plumber, with the router.
noting <- function(value, about) {
  value <- with_calls(value, about)
  if (!is.function(value) || !identical(names(formals(value)), "pr")) return(value)
  function(pr) with_calls(value(pr), about)
}

with_calls <- function(value, about) {
  below <- sys.nframe() + 1L
  withCallingHandlers(value, error = function(error) {
    stack <- sys.calls()
    loading$calls <- load_trace(stack, below, about$expression, loading$name, about$line)
  })
}

# plumber names the line of a wrong annotation, and of an error the one above the expression: there `line`, the
# expression's own, counts.
plumb_problem <- function(error, line) {
  message <- conditionMessage(error)
  parts <- regmatches(message, regexec("(?s)^Error on line #([0-9]+): '(.*?)' - (.*)$", message, perl = TRUE))[[1L]]
  if (!length(parts)) return(paste0(if (!is.na(line)) sprintf("line %d: ", line), load_problem(error)))
  thrown <- sub("(?s)^Error( in .*?)? ?: ", "", parts[[4L]], perl = TRUE)
  if (thrown != parts[[4L]]) return(sprintf("line %d: %s", line, trimws(thrown)))
  sprintf("line %s: %s %s", parts[[2L]], trimws(parts[[3L]]), parts[[4L]])
}

# The line where the expression starts that plumber evaluates now, NA outside of them.
line_of_block <- function() {
  evaluate <- asNamespace("plumber")$evaluateBlock
  for (frame in rev(seq_len(sys.nframe()))) {
    if (!identical(sys.function(frame), evaluate)) next
    place <- get0("srcref", sys.frame(frame), inherits = FALSE)
    if (is.numeric(place)) return(as.integer(place[[1L]]))
  }
  NA_integer_
}
