# Opening a server, in this session or for worker processes. Neighbours: serve-session.R, serve-processes.R.

# At a console, the log is R's to show, as front ends do not show what is written to standard error behind its back.
open_console <- function() {
  if (!interactive()) return()
  loadNamespace("later")
  .Call(C_console_open)
}

# `problem` is list(kind, message), as C gives it.
stop_start <- function(problem) {
  what <- c("listen", "argument", "system")[[problem[[1L]]]]
  stop_drover(what, problem[[2L]], call = quote(dr_serve()))
}

# The port of URLs that name one; behind it there may be a base path.
port_of_url <- function(urls) as.integer(sub("^[a-z]+://.*:([0-9]+)(/.*)?$", "\\1", urls))

# Where a server listens, of lines from the engine: list(urls; url, the first; port, of that, 0 for a unix socket;
# apart, those for others than clients, by the names of the settings).
places <- function(lines) {
  urls <- strsplit(lines, "\n", fixed = TRUE)[[1L]]
  is_apart <- grepl("^[a-z_]+ ", urls)
  apart <- with_names(sub("^[a-z_]+ ", "", urls[is_apart]), sub(" .*", "", urls[is_apart]))
  urls <- urls[!is_apart]
  port <- if (startsWith(urls[[1L]], "unix:")) 0L else port_of_url(urls[[1L]])
  list(urls = urls, url = urls[[1L]], port = port, apart = apart)
}
