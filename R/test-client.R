# Asking an app in tests: the engine runs in this session, as with dr_serve(workers = 1), and requests come over a
# socket in a temporary folder instead of a port. Not for the checks of answers (test-expectations.R). Neighbours:
# serve.R, src/exchange.c.

#' Ask an app, in tests
#'
#' A client for an app that needs no port and no second process: handlers run in this session, where `browser()`,
#' coverage and mocks work, behind all that a server does around them. Requests are parsed, routed, limited and refused
#' by the engine, policies and middleware run, and errors become the responses that clients get.
#'
#' The server starts with the first request, and stops when another client or [dr_serve()] needs the session, or with
#' `client$stop()`. Start and stop hooks of the app run then. What has been asked before is not forgotten as long as it
#' runs: cookies that responses set are sent with later requests, as a browser does; `client$cookies` is a named
#' character vector of them, and may be set.
#'
#' @param app What [dr_serve()] takes: an app, a router of plumber, an app of httpuv or Rook; or the path of a file with
#'   one, as [dr_run()] takes it.
#' @param ... Settings of [dr_serve()], such as `limits`, `debug` or `errors`. Not `port`, `host`, `workers`, `block`,
#'   `tls` and `log`.
#' @param timeout How long a response may take, in seconds: a single number, or a time such as `"1m"`. What has come by
#'   then is the response when that has a head, as of streams that do not end, and an error otherwise.
#' @returns `dr_test()`: a client, an environment with these functions, each of which sends a request and gives its
#'   response:
#'   * `get(path, ...)`, `head(path, ...)`, `delete(path, ...)`, `post(path, ...)`, `put(path, ...)`,
#'     `patch(path, ...)`, `options(path, ...)`
#'   * `request(method, path, query, headers, body, json, form)`: `path` a string that starts with `"/"`; `query`
#'     and `form` named lists or vectors of strings and numbers, which are escaped; `headers` a named list of
#'     strings; `body` a string or a raw vector; `json` any value, sent as [dr_to_json()] writes it, with single
#'     values as such. At most one of `body`, `json` and `form`.
#'   * `stop()` ends the server.
#'
#'   A response is a list of class `dr_test_response`: `status` (an integer), `headers` (a named list of strings, names
#'   in lower case, which `$` reads by whole names), `raw` (the body), `text` (the same as a string), `json` (the same
#'   parsed, `NULL` when it is no JSON) and `log` (lines that the server has logged meanwhile).
#' @section Errors: `drover_error_argument` when an argument is not as described. `drover_error_timeout` when no
#'   response comes in time.
#' @seealso [expect_status()] and its neighbours.
#' @examples
#' app <- dr_app()
#' dr_get(app, "/users/<id:int>", function(req) list(id = req$params$id))
#' dr_post(app, "/sum", function(req) list(sum = sum(req$json$numbers)))
#'
#' client <- dr_test(app)
#' client$get("/users/7")$json
#' client$post("/sum", json = list(numbers = 1:3))
#' client$get("/users/x")$status
#' client$stop()
#' @export
dr_test <- function(app, ..., timeout = 30) {
  call <- sys.call()
  check_test_settings(...names(), call)
  timeout <- as_seconds(timeout)
  check_seconds(timeout, "timeout")
  app <- if (is_string(app)) test_file(app, call) else as_app(app, call = call)
  client <- new.env(parent = emptyenv())
  client$app <- app
  client$settings <- list(...)
  client$timeout <- timeout
  client$cookies <- character()
  client$request <- function(method, path, query = NULL, headers = NULL, body = NULL, json = NULL, form = NULL) {
    test_request(client, method, path, query, headers, body, json, form, !missing(json), sys.call())
  }
  for (method in c("get", "head", "delete", "post", "put", "patch", "options")) {
    client[[method]] <- with_method(client, toupper(method))
  }
  client$stop <- function() {
    if (identical(testing$client, client)) end_testing()
    invisible()
  }
  class(client) <- "dr_test_client"
  client
}

# The same as client$request(), for one method.
with_method <- function(client, method) {
  force(client)
  force(method)
  function(path, query = NULL, headers = NULL, body = NULL, json = NULL, form = NULL) {
    test_request(client, method, path, query, headers, body, json, form, !missing(json), sys.call())
  }
}

check_test_settings <- function(names, call) {
  own <- intersect(names, c("port", "host", "workers", "block", "tls", "log"))
  if (length(own)) {
    problem <- sprintf("`%s` is not for tests: handlers run in this session, and no port is opened", own[[1L]])
    stop_drover("argument", problem, call = call, argument = own[[1L]])
  }
}

# A file is loaded as dr_run() does it, but into this session.
test_file <- function(file, call) {
  if (!file.exists(file) && !is_expression(file)) {
    stop_argument("app", paste0(servable, ", or the path of a file with one"), file, call)
  }
  folder <- getwd()
  on.exit(setwd(folder))
  load_file(if (file.exists(file)) normalizePath(file) else file)$app
}

# Has the server of a client run, and no other one.
begin_testing <- function(client, call) {
  if (identical(testing$client, client) && engine_running()) return()
  end_testing()
  check_nothing_runs(call)
  folder <- tempfile("drover-test-")
  dir.create(folder, mode = "0700")
  testing$folder <- folder
  given <- list(
    client$app, host = paste0("unix:", file.path(folder, "s")), workers = 1L, block = FALSE,
    log = file.path(folder, "log")
  )
  tryCatch(
    suppressMessages(do.call(dr_serve, c(given, client$settings))),
    error = function(error) {
      unlink(folder, recursive = TRUE)
      stop(error)
    }
  )
  testing$client <- client
}

test_request <- function(client, method, path, query, headers, body, json, form, has_json, call) {
  check_string(method, "method", call = call)
  if (!is_token(method)) stop_argument("method", "the name of a method, such as \"GET\"", method, call)
  check_string(path, "path", call = call)
  if (!startsWith(path, "/") || grepl("[ \r\n]", path)) {
    stop_argument("path", "a string that starts with \"/\", without spaces: escape them", path, call)
  }
  content <- sent_content(body, json, form, has_json, call)
  fields <- c(
    test_fields(headers, call), Host = "localhost", "Content-Type" = content$type,
    if (length(client$cookies)) c(Cookie = paste0(names(client$cookies), "=", client$cookies, collapse = "; ")),
    if (says_length(method, content$bytes)) c("Content-Length" = length(content$bytes)),
    Connection = "close"
  )
  # what the test says goes before what would be said
  fields <- fields[!duplicated(tolower(names(fields))) | tolower(names(fields)) == "cookie"]
  target <- paste0(path, if (length(query)) paste0(if (grepl("?", path, fixed = TRUE)) "&" else "?",
    sent_pairs(query, "query", call)))
  request <- request_bytes(method, target, paste0(names(fields), ": ", fields), content$bytes)
  response <- ask_for_test(client, request, call)
  keep_cookies(client, response)
  response
}

# A request in HTTP/1.1, of lines of its header section and the bytes of its body.
request_bytes <- function(method, target, fields, body) {
  lines <- c(paste(method, target, "HTTP/1.1"), fields, "")
  c(charToRaw(enc2utf8(paste0(lines, "\r\n", collapse = ""))), body)
}

# Whether a request says how long its body is: of some methods also where there is none (RFC 9110, section 8.6).
says_length <- function(method, body) length(body) > 0L || method %in% c("POST", "PUT", "PATCH")

# The response to a request as its bytes are. `prepare` is called when the server runs, just before.
ask_for_test <- function(client, request, call, prepare = function() NULL) {
  begin_testing(client, call)
  before <- length(read_test_log())
  prepare()
  response <- read_answer(exchange(request, client$timeout, call), call)
  response$log <- test_log(before, response$status)
  response
}

read_test_log <- function() {
  file <- file.path(testing$folder, "log")
  if (file.exists(file)) readLines(file, warn = FALSE) else character()
}

# What the log says beside the lines `before`. What failed is logged by another thread, which may be a little behind.
test_log <- function(before, status) {
  ends <- elapsed() + 1
  repeat {
    lines <- read_test_log()
    if (length(lines) > before || status < 500L || elapsed() > ends) break
    Sys.sleep(0.005)
  }
  if (before) lines[-seq_len(before)] else lines
}

# Has a request answered: handlers run in between, as callbacks of 'later'.
exchange <- function(request, timeout, call) {
  begun <- .Call(C_exchange_begin, file.path(testing$folder, "s"), request)
  if (is.character(begun)) stop_drover("timeout", paste("the server cannot be reached:", begun), call = call)
  ends <- elapsed() + timeout
  repeat {
    later::run_now(0.001)
    late <- elapsed() > ends
    answer <- .Call(C_exchange_go_on, begun, late)
    if (!is.null(answer)) break
  }
  if (late && !length(grepRaw("\r\n\r\n", answer, fixed = TRUE))) {
    stop_drover("timeout", sprintf("no response came within %s seconds", format(timeout)), call = call)
  }
  answer
}

test_fields <- function(headers, call) {
  if (!length(headers)) return()
  fields <- unlist(headers)
  is_fine <- is.character(fields) && !is.null(names(fields)) && all(vapply(names(fields), is_token, NA)) &&
    !any(grepl("[\r\n]", fields))
  if (!is_fine) stop_argument("headers", "a named list of strings without line breaks", headers, call)
  fields
}

# A dr_test_response of what the server has sent.
read_answer <- function(bytes, call) {
  repeat {
    ends <- grepRaw("\r\n\r\n", bytes, fixed = TRUE)
    if (!length(ends)) stop_drover("timeout", "the connection was closed without a response", call = call)
    lines <- strsplit(rawToChar(bytes[seq_len(ends - 1L)]), "\r\n", fixed = TRUE)[[1L]]
    bytes <- bytes[-seq_len(ends + 3L)]
    status <- as.integer(sub("^HTTP/[0-9.]+ ([0-9]{3}).*", "\\1", lines[[1L]]))
    # others come before the final one
    if (status >= 200L) break
  }
  fields <- lines[-1L]
  headers <- as.list(sub("^[^:]*:[ \t]*", "", fields))
  names(headers) <- tolower(sub(":.*", "", fields))
  if (identical(tolower(headers[["transfer-encoding"]]), "chunked")) bytes <- joined_chunks(bytes)
  text <- tryCatch(rawToChar(bytes), error = function(error) NA_character_)
  if (!is.na(text)) Encoding(text) <- "UTF-8"
  response <- list(
    status = status, headers = structure(headers, class = "dr_fields"), raw = bytes, text = text,
    json = test_json(text, headers[["content-type"]])
  )
  class(response) <- "dr_test_response"
  response
}

test_json <- function(text, type) {
  if (is.null(type) || is.na(text) || !grepl("^application/([^;]*[+])?json\\b", type)) return(NULL)
  tryCatch(jsonlite::fromJSON(text), error = function(error) NULL)
}

# The body of chunks, as far as they have come.
joined_chunks <- function(bytes) {
  pieces <- list()
  at <- 1L
  repeat {
    ends <- grepRaw("\r\n", bytes, offset = at, fixed = TRUE)
    if (!length(ends)) break
    size <- strtoi(sub(";.*", "", rawToChar(bytes[at:(ends - 1L)])), 16L)
    if (is.na(size) || size == 0L) break
    last <- min(ends + 1L + size, length(bytes))
    pieces[[length(pieces) + 1L]] <- bytes[(ends + 2L):last]
    at <- last + 3L
    if (at > length(bytes)) break
  }
  if (length(pieces)) do.call(c, pieces) else raw()
}

# What a browser would send from now on: of each name the last value; none that has ended.
keep_cookies <- function(client, response) {
  set <- unlist(unclass(response$headers)[names(response$headers) == "set-cookie"])
  for (cookie in set) {
    name <- sub("=.*", "", cookie)
    value <- sub("^[^=]*=([^;]*).*", "\\1", cookie)
    ended <- grepl(";[ ]*max-age=(0|-[0-9]+)[ ]*(;|$)", cookie, ignore.case = TRUE)
    client$cookies <- client$cookies[names(client$cookies) != name]
    if (!ended) client$cookies[[name]] <- value
  }
}

#' @export
print.dr_test_client <- function(x, ...) {
  runs <- identical(testing$client, x)
  cat("<dr_test_client>", if (runs) "its server runs" else "its server starts when it is asked", "\n")
  invisible(x)
}

#' @export
format.dr_test_response <- function(x, ...) {
  shown <- if (is.na(x$text)) paste(length(x$raw), "bytes") else x$text
  if (nchar(shown) > 1000L) shown <- paste0(substr(shown, 1L, 1000L), "...")
  c(paste("status:", x$status), format(x$headers), if (nzchar(shown)) c("", shown), if (length(x$log)) c("", x$log))
}

#' @export
print.dr_test_response <- function(x, ...) {
  writeLines(format(x))
  invisible(x)
}
