# For apps/simple.

root <- "the root of a router leads to its docs page, where it has no endpoint"

# Of folders, which the engine answers from where that is the same.
files <- function(folder) {
  paths <- c(
    "style.css", "", "index.html", "sub/index.html", "data.JSON", "a..css", "with%20space.txt", "%73tyle.css",
    "style.css?v=1", ".hidden", "empty.js", "README", "link.txt", "b.bin", "none", "none.css", "../plumber.R",
    "%2e%2e/plumber.R", "..%2fplumber.R", "sub%2findex.html", "/style.css", "STYLE.css"
  )
  style <- paste0(folder, "/style.css")
  c(
    lapply(paste0(folder, "/", paths), ask), lapply(c("HEAD", "POST", "PUT", "DELETE", "OPTIONS"), ask, path = style),
    lapply(paste0(folder, c("/", "/none")), ask, "HEAD"),
    lapply(paste0(folder, c("/sub", "/sub/")), ask, differs = "the length and one of two types are the folder's",
      only = c("content-type", "content-length")),
    lapply(c("GET", "HEAD"), ask, path = paste0(folder, "/large.dat"), differs = "plumber writes 200000 as 2e+05",
      only = "content-length"),
    list(
      ask(folder), ask(toupper(style)), ask(style, headers = c("If-Modified-Since" = "Sun, 01 Jan 2090 00:00:00 GMT")),
      ask(style, headers = c(Range = "bytes=0-3")), ask(style, headers = c("If-None-Match" = "*")),
      ask(style, headers = c("Accept-Encoding" = "gzip"), differs = "httpuv compresses",
        only = c("body", "content-encoding", "transfer-encoding")), ask(style, headers = c(Cookie = "a=1")), ask(style, body = "a body")
    )
  )
}

c(files("/files"), files("/mixed"), list(
  ask("/mixed/page.html"), ask("/ping"), ask("/", differs = root), ask("/", "POST"), ask("/serializer"), json("/lists", '{"a":[1,2]}'), json("/lists", '[{"a":1},{"a":2}]'), json("/lists", "{"), ask("/attach"),
  ask("/attach-text"), ask("/png"), ask("/forwards"), ask("/forwards-by-another"), ask("/session"), ask("/router"),
  multipart("/args", list(disposition("a"), "text"), list(c(disposition("f", "b.txt"), "Content-Type: text/plain"), "words")),
  # mounts
  ask("/child/ping"), ask("/child/ping?x=1"), ask("/child/ping/"), ask("/child/7"), ask("/child/7?x=1"), ask("/child/x"), ask("/child/stop"), ask("/child/text"),
  ask("/child/none"), ask("/child"), ask("/child/"), ask("/child/ping", "POST"), ask("/guarded/ping"), ask("/guarded/none"), ask("/childping"),
  ask("/openapi.json"), ask("/openapixjson"), ask("/__docs__/")
))
