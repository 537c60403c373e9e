# Requests as data. Not for sending them: compare.R.

# One request. `headers`: a named character vector, or a list where a name comes several times; `body`: text or bytes;
# `cookies`: sent are those that the server has set before. `differs`: why drover answers in another way, and `only`, if
# not everything may differ: the parts that may ("status", "body", or the name of a header field). `fast_differs` and
# `own_differs`: the same of the fast path, with and without plumber, and without it only. `silent`: the other server
# never answers it.
ask <- function(path, method = "GET", headers = character(), body = NULL, cookies = FALSE, differs = NULL, only = NULL,
                fast_differs = NULL, own_differs = NULL, silent = FALSE) {
  list(
    path = path, method = method, headers = unlist(headers), body = body, cookies = cookies, differs = differs, only = only,
    fast_differs = fast_differs, own_differs = own_differs,
    silent = silent
  )
}

# Why an answer may be another one in this way.
reason_to_differ <- function(request, how) {
  reason <- request$differs
  if (is.null(reason) && how %in% c("fast", "own")) reason <- request$fast_differs
  if (is.null(reason) && how == "own") reason <- request$own_differs
  reason
}

json <- function(path, body, method = "POST", ...) ask(path, method, c("Content-Type" = "application/json"), body, ...)

form <- function(path, body, ...) ask(path, "POST", c("Content-Type" = "application/x-www-form-urlencoded"), body, ...)

typed <- function(path, type, body, ...) ask(path, "POST", c("Content-Type" = type), body, ...)

# A body of parts: each is list(head lines, text or bytes).
multipart <- function(path, ..., boundary = "AaB03x", end = TRUE, differs = NULL) {
  parts <- lapply(list(...), function(part) {
    content <- part[[2L]]
    head <- paste0("--", boundary, "\r\n", paste0(part[[1L]], "\r\n", collapse = ""), "\r\n")
    c(charToRaw(head), if (is.raw(content)) content else charToRaw(content), charToRaw("\r\n"))
  })
  body <- c(unlist(parts), if (end) charToRaw(paste0("--", boundary, "--\r\n")))
  typed(path, paste0("multipart/form-data; boundary=", boundary), body, differs = differs)
}

disposition <- function(name, file = NULL) {
  paste0("Content-Disposition: form-data; name=\"", name, "\"", if (!is.null(file)) paste0("; filename=\"", file, "\""))
}
