# Makes `req` objects. Not for reading them (request.R), nor for what the fields are (src/request.c, and the crate `binding`).

# The fields, in the order of their numbers in src/request.c.
request_fields <- c(
  "method", "path", "url", "query", "params", "headers", "cookies", "body", "raw", "form", "files", "remote_addr",
  "remote_port", "protocol", "host", "scheme", "id", "route", "json"
)

field_binding <- function(cell, i) {
  force(cell)
  force(i)
  function(value) if (missing(value)) .Call(C_request_get, cell, i) else .Call(C_request_set, cell, i, value)
}

# Called from C for a request when no object of an earlier one can be used again.
new_request <- function() {
  cell <- .Call(C_request_make_cell)
  # so small that a hash table would only cost
  req <- new.env(hash = FALSE, parent = emptyenv())
  for (i in seq_along(request_fields)) makeActiveBinding(request_fields[[i]], field_binding(cell, i - 1L), req)
  attr(req, "cell") <- cell
  attr(req, "class") <- "dr_request"
  .Call(C_request_undispatched, req)
}
