# The phrases of HTTP statuses, for print methods and for conditions without a message of their own.
# Not for what the engine writes on a status line: it has its own table.

# RFC 9110, section 15, with 428, 429, 431 and 511 of RFC 6585 and 451 of RFC 7725.
status_phrases <- c(
  "200" = "OK", "201" = "Created", "202" = "Accepted", "203" = "Non-Authoritative Information", "204" = "No Content",
  "205" = "Reset Content", "206" = "Partial Content", "300" = "Multiple Choices", "301" = "Moved Permanently",
  "302" = "Found", "303" = "See Other", "304" = "Not Modified", "307" = "Temporary Redirect",
  "308" = "Permanent Redirect", "400" = "Bad Request", "401" = "Unauthorized", "402" = "Payment Required",
  "403" = "Forbidden", "404" = "Not Found", "405" = "Method Not Allowed", "406" = "Not Acceptable",
  "407" = "Proxy Authentication Required", "408" = "Request Timeout", "409" = "Conflict", "410" = "Gone",
  "411" = "Length Required", "412" = "Precondition Failed", "413" = "Content Too Large", "414" = "URI Too Long",
  "415" = "Unsupported Media Type", "416" = "Range Not Satisfiable", "417" = "Expectation Failed",
  "421" = "Misdirected Request", "422" = "Unprocessable Content", "426" = "Upgrade Required",
  "428" = "Precondition Required", "429" = "Too Many Requests", "431" = "Request Header Fields Too Large",
  "451" = "Unavailable For Legal Reasons", "500" = "Internal Server Error", "501" = "Not Implemented",
  "502" = "Bad Gateway", "503" = "Service Unavailable", "504" = "Gateway Timeout",
  "505" = "HTTP Version Not Supported", "511" = "Network Authentication Required"
)

# "Not Found" for 404; for a status without a phrase of its own, that of its class (RFC 9110, section 15).
status_phrase <- function(status) {
  phrase <- status_phrases[as.character(status)]
  if (is.na(phrase)) phrase <- status_phrases[as.character(status %/% 100L * 100L)]
  unname(phrase)
}
