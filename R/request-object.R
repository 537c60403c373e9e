# Makes `req` objects. Not for reading them (request.R), nor for what the fields are (src/request.c, and the crate `binding`).

# The fields, in the order of their numbers in src/request.c.
request_fields <- c(
  "method", "path", "url", "query", "params", "headers", "cookies", "body", "raw", "form", "files", "remote_addr",
  "remote_port", "protocol", "host", "scheme", "id", "route", "json"
)

# The routine, as the bare address that R finds fastest, sees by itself whether `value` is missing: fields are read for nearly every request.
field_binding <- function(cell, i, routine = C_request_field$address) {
  force(cell)
  force(i)
  force(routine)
  function(value) .External2(routine, cell, i)
}

# The params of a route without any.
no_params <- structure(character(), names = character())

# Called from C for a request when no object of an earlier one can be used again.
new_request <- function() {
  cell <- .Call(C_request_make_cell)
  # so small that a hash table would only cost
  req <- new.env(hash = FALSE, parent = emptyenv())
  # params are set from C before each handler that has some: whoever has them reads them, and a plain variable is read fastest
  lazy <- which(request_fields != "params")
  for (i in lazy) makeActiveBinding(request_fields[[i]], field_binding(cell, i - 1L), req)
  assign("params", no_params, envir = req)
  attr(req, "cell") <- cell
  attr(req, "class") <- "dr_request"
  .Call(C_request_undispatched, req)
}
