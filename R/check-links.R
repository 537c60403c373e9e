# Links that browsers are told of before the response: checked. Neighbours: check-headers.R; app-routes.R.

# Most of one route or call, and their bytes together: a browser fetches few, and proxies bound a header section.
most_links <- 32L
most_link_bytes <- 4096L

# The value of a `Link` field with one link and its relation (RFC 8288, section 3): `<target>; param=value`, with values
# as tokens or in quotes. Of a target, the characters that a URI may have (RFC 3986).
link_pattern <- local({
  token <- "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
  quoted <- "\"(?:[\\t !#-\\[\\]-~]|\\\\[\\t !-~])*\""
  value <- paste0("(?:[ \\t]*=[ \\t]*(?:", token, "|", quoted, "))?")
  paste0("\\A<[!#-;=?-\\[\\]_a-z~]+>(?:[ \\t]*;[ \\t]*", token, value, ")+\\z")
})

is_link <- function(strings) {
  !is.na(strings) & grepl(link_pattern, strings, perl = TRUE, useBytes = TRUE) &
    grepl(";[ \t]*rel[ \t]*=", strings, ignore.case = TRUE, useBytes = TRUE)
}

check_links <- function(x, arg, null = FALSE, call = sys.call(-1L)) {
  if (is.null(x) && null) return(invisible())
  right <- paste0(if (null) "NULL or ", "links such as \"</app.css>; rel=preload; as=style\", a string for each")
  if (!is.character(x) || !length(x)) stop_argument(arg, right, x, call)
  wrong <- x[!is_link(x)]
  if (length(wrong)) stop_argument(arg, right, wrong[[1L]], call)
  if (length(x) > most_links || sum(nchar(x, "bytes")) > most_link_bytes) {
    stop_argument(arg, sprintf("at most %d links, of %d bytes together", most_links, most_link_bytes), x, call)
  }
}
