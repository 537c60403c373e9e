# Sizes and times that are strings with a unit. The reader is the engine's, as that of the program's flags is.
# Neighbours: check.R (which judges the numbers), settings-table.R (which settings are sizes and times).

# Bytes for "10MB", seconds for "30s". What is no such string stays as it is, for the check to refuse.
as_bytes <- function(x) read_unit(x, FALSE)
as_seconds <- function(x) read_unit(x, TRUE)

read_unit <- function(x, time) {
  if (!is_string(x)) return(x)
  value <- .Call(C_units_read, enc2utf8(x), time)
  if (is.nan(value)) x else value
}
