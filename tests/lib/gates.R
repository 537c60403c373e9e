# What handlers of tests leave and wait for: files in the folder that the environment names as MARKS. Apps source this
# file, as sys.source(Sys.getenv("GATES"), globalenv()); tests read the marks and open the gates (marks.R).

# Leaves a mark: the test sees how far a handler has got, and in which process.
mark <- function(name) {
  file <- file.path(Sys.getenv("MARKS"), name)
  # it is there whole or not at all, also where several processes leave it
  written <- paste0(file, "~", Sys.getpid())
  writeLines(as.character(Sys.getpid()), written)
  file.rename(written, file)
}

# Adds a line to what has been noted of a kind.
note <- function(kind, text) cat(paste0(text, "\n"), file = file.path(Sys.getenv("MARKS"), kind), append = TRUE)

# Whether the test has opened this gate, or has ended.
is_open <- function(name) any(file.exists(file.path(Sys.getenv("MARKS"), paste0(c(name, "all"), ".open"))))

# Leaves the mark `name`, and stands at the gate of that name until the test opens it.
stand_at <- function(name) {
  mark(name)
  while (!is_open(name)) Sys.sleep(0.01)
}

# The same for a handler that returns a promise: it is kept, with `f()`, when the gate is open.
once_open <- function(name, f = function() name) {
  opened <- promises::promise(function(resolve, reject) {
    look <- function() if (is_open(name)) resolve(TRUE) else later::later(look, 0.01)
    look()
  })
  mark(name)
  promises::then(opened, function(value) f())
}
