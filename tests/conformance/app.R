# The app that the protocol cases talk to. It serves on a free port until it is ended.
# Each handler counts its run, so a case can say how many there must be; /ok and /count, which the runner uses, do not.

suppressPackageStartupMessages(library(drover))

runs <- 0
counted <- function(handler) function(req) {
  runs <<- runs + 1
  handler(req)
}
pairs <- function(values) paste(sprintf("%s=%s", names(values), values), collapse = "&")

app <- dr_app()
dr_get(app, "/ok", function(req) "ok")
dr_get(app, "/count", function(req) format(runs))

dr_get(app, "/get", counted(function(req) "got"))
dr_post(app, "/post", counted(function(req) "posted"))
dr_post(app, "/echo", counted(function(req) format(length(req$raw))))
dr_post(app, "/body", counted(function(req) req$raw))
dr_post(app, "/unread", counted(function(req) "unread"))
dr_get(app, "/unread", counted(function(req) "unread"))
dr_get(app, "/query", counted(function(req) pairs(req$query)))
dr_get(app, "/cookies", counted(function(req) pairs(req$cookies)))
dr_get(app, "/header", counted(function(req) paste(req$headers[names(req$headers) == "x-test"], collapse = "|")))
dr_get(app, "/named", counted(function(req) {
  named <- req$headers[grepl("^x[-_](test|forwarded)", names(req$headers))]
  paste(names(named), named, sep = "=", collapse = " ", recycle0 = TRUE)
}))
dr_get(app, "/target", counted(function(req) paste(req$path, req$url)))
dr_get(app, "/host", counted(function(req) req$host))
dr_get(app, "/param/<id>", counted(function(req) req$params[["id"]]))
dr_get(app, "/number/<n:int>", counted(function(req) format(req$params[["n"]] + 1L)))
dr_get(app, "/rest/*path", counted(function(req) req$params[["path"]]))
dr_put(app, "/resource", counted(function(req) "put"))
dr_delete(app, "/resource", counted(function(req) NULL))
dr_get(app, "/error", counted(function(req) stop("a secret of the server")))
dr_get(app, "/teapot", counted(function(req) dr_abort(418, "short and stout")))

dr_get(app, "/reset", counted(function(req) dr_text("what a 205 cannot have", 205L)))
dr_get(app, "/no-content", counted(function(req) dr_text("what a 204 cannot have", 204L)))
# fields that are the server's, and too many of one's own
dr_get(app, "/own-framing", counted(function(req) {
  dr_text("own", headers = list(
    Connection = "close, X-Test", "Content-Length" = 1, "Keep-Alive" = "timeout=9", "Proxy-Connection" = "close",
    TE = "gzip", Trailer = "X-Test", "Transfer-Encoding" = "gzip", Upgrade = "h2c", "X-Test" = "kept"
  ))
}))
dr_get(app, "/many-fields/<n:int>", counted(function(req) {
  n <- req$params[["n"]]
  dr_text("many", headers = stats::setNames(as.list(rep("1", n)), paste0("X-", seq_len(n))))
}))

# the type and length of what the JSON became: enough to see that it was read
dr_post(app, "/json", counted(function(req) {
  value <- dr_body(req, "json")
  paste(class(value)[1], length(value))
}))
dr_post(app, "/json/echo", counted(function(req) dr_json(dr_body(req, "json"))))
# what is compressed for clients, and unpacked for handlers
dr_get(app, "/packed", counted(function(req) strrep("x", 2000)))
dr_compress(app, routes = "/packed")
dr_post(app, "/unpack", counted(function(req) req$raw))
dr_decompress(app, routes = "/unpack")

dr_post(app, "/form", counted(function(req) pairs(req$form)))
dr_post(app, "/multipart", counted(function(req) {
  files <- vapply(req$files, function(file) paste(file$field, file$name, file$type, file$size, sep = ":"), "")
  paste(c(pairs(req$form), files), collapse = "|")
}))

# What clients of HTTP/2 leave unread: an answer that R made, and a file, each of 1 MB.
files <- file.path(tempdir(), "files")
dir.create(files)
writeBin(raw(1e6), file.path(files, "large.bin"))
dr_static(app, "/files", files)
dr_get(app, "/large", counted(function(req) raw(1e6)))
# until a case opens its gate
sys.source(Sys.getenv("GATES"), globalenv())
dr_get(app, "/held", counted(function(req) {
  stand_at("held")
  "held"
}))
dr_get(app, "/late", counted(function(req) {
  Sys.sleep(0.3)
  "late"
}))

# Three timeouts are short, so that the cases which wait for them end soon; the others are too long to be taken for
# them. Limits of header sections are those that the cases are about. Everything else is the default, or what a case
# asks for on the command line: NAME=VALUE, where tls=1 stands for a certificate.
settings <- list(header_timeout = 2, body_timeout = 2, write_timeout = 2, keep_alive = 600, timeout = 600,
  max_request_line = 8192, max_header_field = 8192, max_header_size = 32768)
for (argument in strsplit(commandArgs(trailingOnly = TRUE), "=", fixed = TRUE)) {
  settings[[argument[1]]] <- as.numeric(argument[2])
}
if (!is.null(settings$tls)) settings$tls <- dr_tls_self_signed(tempfile("certificate-"))
do.call(dr_serve, c(list(app, port = 0L, block = TRUE), settings))
