# Fields as a client sends them: fields_of(q = "1").
fields_of <- function(...) structure(list(...), names = names(c(...)) %||% character(), class = "dr_fields")

# A request without a server: for tests of accessors, middleware and printing.
make_request <- function(method = "GET", path = "/", ...) {
  fields <- list(
    method = method, path = path, url = path, query = fields_of(), params = structure(list(), names = character()),
    headers = fields_of(), cookies = fields_of(), body = "", raw = raw(), json = NULL,
    form = fields_of(), files = list(), remote_addr = "127.0.0.1", remote_port = 5000L,
    protocol = "HTTP/1.1", scheme = "http", host = "localhost", id = "1", route = path
  )
  given <- list(...)
  fields[names(given)] <- given
  structure(list2env(fields), class = "dr_request")
}

# The condition of an error, for looks at its fields.
error_of <- function(code) tryCatch(code, error = identity)

expect_argument_error <- function(code, pattern, ...) {
  testthat::expect_error(code, pattern, ..., class = "drover_error_argument")
}
