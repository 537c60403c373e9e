# The folder where the handlers of a test leave marks and wait at gates (gates.R), from the side of the test. `server`
# is a list with the path of that folder, `marks`.

# A new folder for a program to leave marks in, which is told of it as MARKS.
new_marks <- function() {
  folder <- tempfile("marks-")
  dir.create(folder)
  folder
}

# For the programs that a runner starts: where apps find the file. `lib` is the folder tests/lib.
offer_gates <- function(lib) Sys.setenv(GATES = normalizePath(file.path(lib, "gates.R")))

# TRUE when a mark of that name is there, as soon as it is.
marked <- function(server, name, seconds = 30) within(function() file.exists(file.path(server$marks, name)), seconds)

# The text of a mark, as soon as it has one: mark() leaves the number of the process.
mark_text <- function(server, name) {
  file <- file.path(server$marks, name)
  within(function() isTRUE(file.size(file) > 0))
  readLines(file, warn = FALSE)
}

# Lets those go on who stand at this gate, and those who come later.
open_gate <- function(server, name) invisible(file.create(file.path(server$marks, paste0(name, ".open"))))

# For the end of a test: nobody stands at a gate any more.
open_all_gates <- function(server) if (dir.exists(server$marks)) open_gate(server, "all")

# The lines that handlers have noted of a kind, and how many there are.
note_lines <- function(server, kind) {
  file <- file.path(server$marks, kind)
  if (file.exists(file)) readLines(file, warn = FALSE) else character()
}
noted <- function(server, kind) length(note_lines(server, kind))
