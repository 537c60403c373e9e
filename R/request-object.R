# Makes `req` objects. Not for reading them (request.R), nor for what the fields are (src/request.c, and the crate
# `binding`).

# The fields, in the order of their numbers in src/request.c.
request_fields <- c(
  "method", "path", "url", "query", "params", "headers", "cookies", "body", "raw", "form", "files", "remote_addr",
  "remote_port", "protocol", "host", "scheme", "id", "route", "tls",
  "auth", "session", "trace", "base_path", "job", "json"
)

# field_functions(cell, routine): a function for each lazy field, called when the field is read. All share one frame and
# are byte code from the start, since an object is made for each request that fails. `params` is not lazy: C sets it
# before each handler whose route has params, since such handlers read them, and a plain variable is read fastest.
lazy_fields <- setdiff(request_fields, "params")
field_functions <- eval(call("function", as.pairlist(alist(cell = , routine = )), call("{", # nolint
  # unforced, they would keep the frame of new_request(), and with it a reference to the object, which could never be
  # used again
  quote(force(cell)), quote(force(routine)),
  as.call(c(
    quote(list),
    lapply(match(lazy_fields, request_fields) - 1L, function(i) {
      # .External2 sees by itself whether `value` is missing: fields are read for nearly every request
      bquote(function(value) .External2(routine, cell, .(i)))
    })
  ))
)))

# The params of a route without any.
no_params <- structure(list(), names = character())

# Called from C for a request when no object of an earlier one can be used again.
new_request <- function() {
  cell <- .Call(C_request_make_cell)
  # so small that a hash table would only cost
  req <- new.env(hash = FALSE, parent = emptyenv())
  # the routine as the bare address, which R finds fastest
  .Call(C_request_bind, req, lazy_fields, field_functions(cell, C_request_field$address))
  assign("params", no_params, envir = req)
  attr(req, "cell") <- cell
  attr(req, "class") <- "dr_request"
  .Call(C_request_undispatched, req)
}
