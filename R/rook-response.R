# What a Rook or httpuv app answers, as a response. Not for the apps' requests: rook-request.R. Neighbour:
# response-of.R, for what handlers of this package return.

# The response of list(status =, headers =, body =). A response of this package's own is one, too.
rook_response <- function(value) {
  # what most answers are
  plain <- .Call(C_rook_response, value)
  if (!is.null(plain)) return(plain)
  if (is_response(value)) return(value)
  if (!is.list(value) || is.null(value[["status"]])) {
    stop_answer("it must be list(status = , headers = , body = ), not ", describe(value))
  }
  status <- value[["status"]]
  if (!is_whole(status) || status < 200 || status > 599) {
    stop_answer("its status must be a whole number from 200 to 599, not ", describe(status))
  }
  headers <- rook_headers(value[["headers"]])
  body <- value[["body"]]
  if ("file" %in% names(body)) return(rook_file(as.integer(status), headers, as.list(body)))
  response_of(as.integer(status), rook_body(body), headers)
}

stop_answer <- function(...) stop_drover("value", paste0("the app's answer: ", ...), call = NULL)

# Fields as strings, written as httpuv does: 1e6 is "1e+06". One of several values becomes several fields.
rook_headers <- function(headers) {
  if (!length(headers)) return(list())
  if (is.null(names(headers)) || !all(nzchar(names(headers)))) stop_answer("its headers must have names")
  lapply(headers, function(value) if (is.character(value) && !anyNA(value)) value else paste(value))
}

# The bytes as they are, in any encoding. A vector without any string is no body, but most often a mistake: httpuv
# answers it with 500, too.
rook_body <- function(body) {
  if (is.null(body) || is.raw(body)) return(body)
  if (is.character(body) && length(body)) {
    if (length(body) > 1L) {
      warning("the app's answer has a body of several strings: only the first is sent", call. = FALSE)
    }
    return(charToRaw(as.character(body[[1L]])))
  }
  stop_answer("its body must be a string, a raw vector, c(file = path) or NULL, not ", describe(body))
}

rook_file <- function(status, headers, body) {
  if (!is_string(body$file)) stop_answer("its file must be a path, not ", describe(body$file))
  dr_file(body$file, status = status, headers = headers, delete = isTRUE(as.logical(body$owned)))
}
