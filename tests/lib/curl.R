# One request as the program curl would send it, by the same library in this process: a program that starts, and loads
# forty libraries, costs more than what most tests have a server do.
#
# Not for requests that go on beside others, or are slow on purpose: those are a process each.

# What a word of curl's command line is to its library: a function of the word after it, or, without an argument, of
# nothing. Each gives options; `headers` and `data` of several words are put together.
curl_words <- list(
  "-H" = function(x) list(headers = x),
  "-X" = function(x) list(customrequest = x),
  "-d" = function(x) {
    data <- curl_data(x)
    list(data = if (startsWith(x, "@")) data[!data %in% charToRaw("\r\n")] else data)
  },
  "--data-binary" = function(x) list(data = curl_data(x)),
  "--json" = function(x) {
    list(data = curl_data(x), headers = c("Content-Type: application/json", "Accept: application/json"))
  },
  "-u" = function(x) list(userpwd = x),
  "-A" = function(x) list(useragent = x),
  "--cacert" = function(x) list(cainfo = x),
  "-k" = function() list(ssl_verifypeer = 0, ssl_verifyhost = 0),
  "--interface" = function(x) list(interface = x),
  "--path-as-is" = function() list(path_as_is = 1),
  "--http1.0" = function() list(http_version = 1),
  "--http1.1" = function() list(http_version = 2),
  "--http2" = function() list(http_version = 3),
  "--http2-prior-knowledge" = function() list(http_version = 5)
)

curl_data <- function(x) {
  if (!startsWith(x, "@")) return(charToRaw(x))
  file <- substring(x, 2L)
  readBin(file, "raw", file.size(file))
}

# What is not as the program has it where R's package sets it otherwise: curl's defaults.
curl_usual <- list(
  useragent = paste0("curl/", curl::curl_version()$version), followlocation = 0, accept_encoding = NULL, httpauth = 1,
  http_version = 4, forbid_reuse = 1
)

# The options of these words; NULL where one is not in the table.
curl_options <- function(words) {
  options <- list()
  while (length(words)) {
    option <- curl_words[[words[[1L]]]]
    if (is.null(option)) return(NULL)
    n <- length(formals(option))
    options <- c(options, do.call(option, as.list(words[-1L][seq_len(n)])))
    words <- words[-seq_len(1L + n)]
  }
  data <- options[names(options) == "data"]
  headers <- unlist(options[names(options) == "headers"], use.names = FALSE)
  options <- utils::modifyList(curl_usual, options[!names(options) %in% c("data", "headers")], keep.null = TRUE)
  if (length(data)) {
    body <- Reduce(function(a, b) c(a, charToRaw("&"), b), data)
    options <- c(options, list(post = 1, postfieldsize_large = length(body), postfields = body))
  }
  c(options, list(httpheader = headers))
}

# Sends a request to `url` with these words of curl's, within `seconds`, and waits for its end: list(status,
# 0 when there was none; head, the lines of all that came; raw, the bytes that came of the body; seconds; error, what
# was wrong, or NULL). NULL when a word is none that is known here: the program knows it.
curl_here <- function(url, words, seconds) {
  options <- curl_options(as.character(words))
  if (is.null(options)) return(NULL)
  handle <- curl::new_handle()
  curl::handle_setopt(handle, .list = c(options, list(timeout_ms = ceiling(seconds * 1000))))
  parts <- list()
  error <- NULL
  pool <- curl::new_pool()
  curl::curl_fetch_multi(url, handle = handle, pool = pool,
    data = function(bytes, ...) parts[[length(parts) + 1L]] <<- bytes,
    done = function(answer) NULL,
    fail = function(message) error <<- message
  )
  curl::multi_run(pool = pool)
  answer <- curl::handle_data(handle)
  list(status = answer$status_code, head = strsplit(rawToChar(answer$headers), "\r?\n")[[1L]],
    raw = as.raw(unlist(parts)), seconds = answer$times[["total"]], error = error)
}
