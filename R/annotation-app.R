# Serving the endpoints of a plumber.R without the package 'plumber'. All are answered as on its fast path; here is what
# plumber does for those besides: `res`, errors, and what no endpoint takes. Neighbours: annotations.R, plumber-fast.R.

annotated_app <- function(file) {
  read <- read_annotations(file)
  root <- list(endpoints = read$endpoints)
  plan <- new_plan(root)
  for (one in root$endpoints) {
    make <- function(hidden) annotated_endpoint(one, root, hidden)
    add_to_plan(plan, one$verbs, "", one$path, one$regex, "", NULL, make)
  }
  # those whose paths are regular expressions have no route
  all <- lapply(root$endpoints, annotated_endpoint, root = root, hidden = NULL)
  app <- catch_all(function(req) answer_annotated(all, req, mount_depth(req$route)))
  app$further_routes <- function(prefix) {
    full <- function(req, depth) answer_annotated(all, req, depth)
    endpoint_routes(plan$entries, prefix, full, NULL, new.env(parent = emptyenv()))
  }
  add_worker_hooks(app, read$hooks)
  app$annotated <- plan$entries
  app$annotated_endpoints <- root$endpoints
  app$annotated_globals <- annotated_globals(readLines(file, warn = FALSE, encoding = "UTF-8"), globalenv())
  app
}

annotated_endpoint <- function(one, root, hidden) {
  parsers <- structure(one$parsers, plain_json = "json" %in% one$parsers)
  serializer <- one$serializer$write
  c(handler_shape(one$fn), list(
    verbs = one$verbs, envir = one$envir, path = one$path, mount = "", regex = one$regex, hidden = hidden,
    parsers = parsers, parse = function(bytes, type) annotated_body(bytes, type, parsers),
    serializer = serializer, writer = one$serializer$writer, root = root,
    new_res = function() new_res(serializer), fail = annotated_failure, fail_last = annotated_failure
  ))
}

# What has no route of its own: the first endpoint that matches, or 405 or 404.
answer_annotated <- function(endpoints, req, depth) {
  place <- list(constants = rook_constants(), prefix = "", depth = depth)
  others <- character()
  for (endpoint in endpoints) {
    endpoint <- c(endpoint, place)
    asked <- asked_for(req, endpoint)
    path <- path_arguments(endpoint, asked$info)
    if (is.null(path)) next
    if (req$method %in% endpoint$verbs) {
      return(tryCatch(run_endpoint(endpoint, req, asked, path, req$raw), error = function(error) {
        endpoint_failure(endpoint)(req, error)
      }))
    }
    others <- union(others, endpoint$verbs)
  }
  if (length(others)) {
    return(plain_error(405L, "405 - Method Not Allowed", list(Allow = paste(sort(others), collapse = ", "))))
  }
  plain_error(404L, "404 - Resource Not Found")
}

plain_error <- function(status, message, headers = list()) {
  response <- dr_json(list(error = message), status)
  response$headers <- c(headers, response$headers)
  response
}

# As plumber's own function for errors does.
annotated_failure <- function(req, res, error) {
  print(error)
  res$serializer <- own_serializer("unboxedJSON", list())$write
  answer <- list(error = if (res$status == 200L) "500 - Internal server error" else "Internal error")
  if (res$status == 200L) res$status <- 500L
  if (is_debugging()) answer$message <- as.character(error)
  answer
}

# `res`, with the methods that plumber's has.
new_res <- function(serializer) {
  res <- list2env(list(status = 200L, body = NULL, headers = list(), serializer = serializer), parent = emptyenv())
  res$setHeader <- function(name, value) {
    field <- list()
    field[[name]] <- value
    res$headers <- c(res$headers, field)
    invisible()
  }
  res$setCookie <- function(name, value, path = NULL, expiration = FALSE, http = FALSE, secure = FALSE,
                            same_site = FALSE) {
    res$setHeader("Set-Cookie", cookie_text(
      paste0(name, "=", cookie_value(value)), path, http, secure, same_site, cookie_end(expiration)
    ))
  }
  res$removeCookie <- function(name, path = NULL, http = FALSE, secure = FALSE, same_site = FALSE, ...) {
    gone <- "Expires=Thu, 01 Jan 1970 00:00:00 GMT"
    res$setHeader("Set-Cookie", cookie_text(paste0(name, "="), path, http, secure, same_site, gone))
  }
  res$toResponse <- function() {
    bare <- res$status %in% c(100:199, 204L, 304L)
    list(status = res$status, headers = res$headers, body = if (!bare) res$body)
  }
  structure(res, class = c("PlumberResponse", "R6"))
}

# As encodeURIComponent() of JavaScript has it.
cookie_value <- function(value) {
  text <- utils::URLencode(as.character(value), reserved = TRUE)
  for (kept in c("!", "*", "'", "(", ")")) {
    text <- gsub(utils::URLencode(kept, reserved = TRUE), kept, text, fixed = TRUE)
  }
  text
}

cookie_text <- function(start, path, http, secure, same_site, end) {
  paste(c(
    start, if (is.character(path) && nzchar(path)) paste0("Path=", path), if (isTRUE(http)) "HttpOnly",
    if (isTRUE(secure)) "Secure", if (is.character(same_site)) paste0("SameSite=", same_site), end
  ), collapse = "; ")
}

# Of a number of seconds, or a time.
cookie_end <- function(expiration) {
  if (isFALSE(expiration)) return(NULL)
  at <- if (inherits(expiration, "POSIXt")) expiration else Sys.time() + expiration
  seconds <- if (is.numeric(expiration)) expiration else as.integer(difftime(at, Sys.time(), units = "secs"))
  # days and months in English, wherever the server runs
  days <- c("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")
  parts <- as.POSIXlt(at, tz = "GMT")
  shown <- sprintf(
    "%s, %02d %s %d %02d:%02d:%02d GMT", days[parts$wday + 1L], parts$mday, month.abb[parts$mon + 1L],
    parts$year + 1900L, parts$hour, parts$min, as.integer(parts$sec)
  )
  paste0("Expires= ", shown, "; Max-Age= ", seconds)
}

# A body by the first parser for its type; without one it is none, as in plumber.
annotated_body <- function(bytes, type, parsers) {
  full <- type %||% ""
  type <- tolower(sub(";.*$", "", full))
  first <- bytes[[1L]]
  kind <- if (type %in% c("application/json", "text/json")) {
    "json"
  } else if (startsWith(type, "text/")) {
    "text"
  } else if (type == "application/octet-stream") {
    "octet"
  } else if (type == "" && first %in% charToRaw("{[")) {
    "json"
  } else {
    "form"
  }
  if ("none" %in% parsers) return(NULL)
  if (!kind %in% parsers) {
    message("No suitable parser found to handle request body type ", type, ".")
    return(list())
  }
  if (kind == "octet") return(bytes)
  text <- rawToChar(bytes)
  Encoding(text) <- if (grepl("charset=latin1", full, fixed = TRUE)) "latin1" else "UTF-8"
  switch(kind, json = dr_from_json(text), text = text, form = plumber_query(text))
}
