# For apps/rook.

safe <- "an error's text is for the log: httpuv sends it, or closes the connection"
words <- "the engine's own words"
files <- "the engine sends the file, with its type, validators and ranges"
ours <- "folders of files: the engine's own words, types, validators and ranges"
fields <- c("content-type", "etag", "last-modified", "accept-ranges")

list(
  ask("/"), ask("/a/b%20c?x=1&y=%20"), ask("/x?"), ask("/x??a"), ask("/caf%C3%A9"), ask("/x", "POST", body = "abc"), ask("/x", "PUT", body = "abc"),
  ask("/x", "DELETE"), ask("/x", "OPTIONS"), ask("/x", "PATCH", body = "{}"), ask("/x", "PROPFIND"), ask("/x", "HEAD"),
  ask("/x", headers = c("X-Custom-Header" = "value", Accept = "*/*", "User-Agent" = "me")), ask("/x", headers = c(Cookie = "a=1; b=2")),
  ask("/x", "POST", c("Content-Type" = "application/json"), '{"a":1}'), ask("/x", headers = c("X-Empty" = "")),
  ask("/x", headers = list("X-Same" = "1", "X-Same" = "2"), differs = "values of a repeated field are joined by \", \"", only = "body"),
  ask("/%zz", differs = "the engine refuses what is malformed"), ask("/x", headers = c("X-Stop" = "now")),
  ask("/read", "POST", headers = c("X-Stop" = "now"), body = "abc"),
  ask("/text"), ask("/text", "HEAD"), ask("/text", "POST", body = "abc"), ask("/raw"), ask("/utf8"), ask("/latin1"), ask("/double"),
  ask("/repeated"), ask("/vector-headers"), ask("/dates"), ask("/no-headers"), ask("/empty"), ask("/no-body"), ask("/na"),
  ask("/file", differs = files, only = fields), ask("/file", "HEAD", differs = files, only = fields), ask("/file-list", differs = files, only = fields),
  ask("/owned", differs = files, only = fields), ask("/missing-file", differs = safe), ask("/no-string", differs = words, only = c("content-type", "cache-control", "body")), ask("/stop", differs = safe),
  ask("/null", differs = safe, silent = TRUE), ask("/rejected", differs = safe), ask("/teapot"), ask("/redirect"), ask("/promise"), ask("/large"),
  ask("/read", "POST", body = "first line\nsecond line\n"), ask("/read", "POST", body = "no end"), ask("/read", "POST", body = "dos\r\nlines\r\n"),
  ask("/read", "POST", body = "\n\nx"), ask("/read", "POST", body = "h\u00e9llo\nw\u00f6rld"), ask("/read"), ask("/count", "POST", body = raw(300000)),
  ask("/static/page.html", differs = ours, only = fields), ask("/static/", differs = ours, only = fields),
  ask("/static", differs = ours, only = fields), ask("/static/none", differs = ours), ask("/static/private/x"),
  ask("/static/table.csv", differs = ours, only = fields), ask("/static/page.html", "HEAD", differs = ours, only = fields),
  ask("/static/page.html", "POST", body = "x", differs = ours), ask("/through/none"), ask("/through/page.html", differs = ours, only = fields),
  ask("/through/page.html", "POST", body = "x", differs = ours, only = fields), ask("/locked/page.html", differs = ours), ask("/locked/page.html", headers = c("X-Key" = "abc"), differs = ours, only = fields),
  ask("/locked/page.html", headers = c("X-Key" = "abd"), differs = ours), ask("/plain/", differs = ours), ask("/plain/page.html", differs = ours, only = fields),
  ask("/static/../app.R", differs = ours), ask("/static/%2e%2e/app.R", differs = ours), ask("/statics")
)
