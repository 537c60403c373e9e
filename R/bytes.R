# Text by its bytes: sets of bytes as tables, and percent-encoding with them. Decoding is the engine's, and is done
# before R sees anything. Neighbours: check-headers.R, response.R, response-cookie.R, response-file.R, which all come
# later in the alphabet, as they must to use byte_set() while the package is built.

# A table of the 256 bytes: TRUE for those of `text`.
byte_set <- function(text) is.element(as.raw(0:255), charToRaw(text))

alphanumeric <- "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

# Whether every byte of a string is in the table: several times as fast as a pattern.
all_bytes_in <- function(string, set) all(set[as.integer(charToRaw(string)) + 1L])

# The bytes that may stand in a URL as they are: reserved, unreserved, and the percent sign (RFC 3986, section 2).
url_bytes <- byte_set(paste0(alphanumeric, "-._~:/?#[]@!$&'()*+,;=%"))

# `text` in UTF-8 with every byte that is not in the table `plain` as %XX.
percent_encode <- function(text, plain) {
  bytes <- charToRaw(enc2utf8(text))
  as_is <- plain[as.integer(bytes) + 1L]
  if (all(as_is)) return(text)
  escaped <- sprintf("%%%02X", as.integer(bytes))
  escaped[as_is] <- rawToChar(bytes[as_is], multiple = TRUE)
  paste(escaped, collapse = "")
}

# The bytes of a body.
as_raw <- function(body) if (is.raw(body)) body else charToRaw(enc2utf8(body))

# A body as text; what is no UTF-8 in it is replaced.
utf8_text <- function(body) {
  text <- if (is.raw(body)) rawToChar(body[body != 0L]) else enc2utf8(body)
  Encoding(text) <- "UTF-8"
  if (validUTF8(text)) text else iconv(text, "UTF-8", "UTF-8", sub = "\ufffd")
}
