# One request, sent to two servers, and what differs in their answers.

# `jar`: an environment with the cookies that the server has set, by name. `seconds`: how long the answer may take.
send <- function(server, request, jar, seconds = patience()) {
  headers <- request$headers
  if (request$cookies) headers <- c(headers, Cookie = paste0(names(as.list(jar)), "=", unlist(as.list(jar)), collapse = "; "))
  host <- "127.0.0.1:1"
  client <- raw_client(server$port)
  client_send(client, request_bytes(request$path, request$method, c(headers, Connection = "close"), request$body, host))
  # httpuv sends the body of HEAD, too: what comes after the head is not read
  response <- client_response(client, seconds, head = request$method == "HEAD")
  if (is.null(response)) return(list(status = NA_integer_, headers = character(), body = raw()))
  keep_cookies(jar, response$headers)
  response
}

keep_cookies <- function(jar, headers) {
  for (cookie in headers[names(headers) == "set-cookie"]) {
    pair <- regmatches(cookie, regexec("^([^=]+)=([^;]*)", cookie))[[1L]]
    assign(pair[[2L]], pair[[3L]], envir = jar)
  }
}

not_compared <- c("date", "server", "connection", "keep-alive", "x-content-type-options", "x-request-id")

# The fields of an answer by name, each with its values in order.
fields_of <- function(response) {
  headers <- response$headers[!names(response$headers) %in% not_compared]
  # encrypted anew each time; and cookies say when they end
  headers <- sub("^(session=)[^;]*", "\\1...", headers)
  headers <- sub("Expires= [^;]*;", "Expires= ...;", headers)
  # httpuv compresses, too, and does not say that its answers depend on what the client accepts
  headers[] <- sub("(^|, )accept-encoding$", "", headers)
  headers <- headers[!(names(headers) == "vary" & !nzchar(headers))]
  if (identical(unname(headers["content-length"]), "0")) headers <- headers[names(headers) != "content-length"]
  split(unname(headers), names(headers))
}

# What is not the same: names of parts, with both values.
differences <- function(ours, theirs) {
  found <- character()
  ours <- without_surface(ours)
  theirs <- without_surface(theirs)
  if (!identical(ours$status, theirs$status)) found[["status"]] <- paste(theirs$status, "is now", ours$status)
  a <- fields_of(ours)
  b <- fields_of(theirs)
  for (name in union(names(a), names(b))) {
    if (!identical(a[[name]], b[[name]])) {
      found[[name]] <- paste(paste(b[[name]], collapse = " | "), "is now", paste(a[[name]], collapse = " | "))
    }
  }
  bodies <- lapply(list(ours, theirs), unpacked)
  if (!identical(stable(bodies[[1L]]), stable(bodies[[2L]]))) {
    found[["body"]] <- paste(brief(bodies[[2L]]), "is now", brief(bodies[[1L]]))
  }
  found
}

# The body as it was before it was compressed: two libraries make other bytes of it.
unpacked <- function(response) {
  if (!identical(unname(response$headers["content-encoding"]), "gzip")) return(response$body)
  memDecompress(response$body, "gzip")
}

# A picture of SVG has the number of cairo's surface, which is how many its process has had before; the response is as
# long as that makes it.
without_surface <- function(response) {
  if (!"image/svg+xml" %in% sub(";.*", "", response$headers["content-type"])) return(response)
  is_whole <- identical(unname(response$headers["content-length"]), as.character(length(response$body)))
  response$body <- charToRaw(sub("(id=\"surface)[0-9]+", "\\1", rawToChar(response$body)))
  if (is_whole) response$headers[["content-length"]] <- as.character(length(response$body))
  response
}

# Files of PDF have the time when they were made.
stable <- function(body) {
  if (length(body) < 5L || !identical(body[1:4], charToRaw("%PDF"))) return(body)
  text <- rawToChar(body[body != 0])
  gsub("/(CreationDate|ModDate) \\(D:[0-9]+\\)", "", text, useBytes = TRUE)
}

brief <- function(body) {
  paste0(length(body), " bytes ", encodeString(substr(iconv(printable(utils::head(body, 2000L)), "UTF-8", "UTF-8", sub = "byte"), 1L, 300L)))
}
