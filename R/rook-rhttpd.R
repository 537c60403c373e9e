# A server of the package Rook (class Rhttpd) as an app: what is installed in it answers below /custom/NAME, as there.
# Not for programs that start one: load-rook.R. Neighbour: rook-app.R, for what is called.

rhttpd_app <- function(servers) {
  installed <- unlist(lapply(servers, function(one) one$appList), recursive = FALSE)
  handlers <- lapply(installed, function(one) rook_handler(list(call = installed_call(one)), as_rhttpd_has_path))
  app <- catch_all(rhttpd_handler(names(installed), handlers))
  app$source <- servers
  app
}

rhttpd_handler <- function(names, handlers) {
  force(names)
  function(req) {
    depth <- mount_depth(req$route)
    target <- split_target(req$url, depth)
    segments <- httpd_path(strsplit(target$rest, "/", fixed = TRUE)[[1L]])
    name <- if (length(segments) > 2L && segments[[2L]] == "custom") segments[[3L]]
    handler <- if (!is.null(name)) handlers[[name]]
    if (!is.null(handler)) return(handler(req, depth + 2L))
    is_index <- req$method %in% c("GET", "HEAD") && length(segments) <= 2L && all(segments %in% c("", "custom"))
    if (is_index) rhttpd_index(names, target$before) else dr_abort(404L, "no app has this name")
  }
}

# R's own pages are there in R's own server: here it is the way to the only app, or to all of them.
rhttpd_index <- function(names, before) {
  urls <- paste0(before, "/custom/", vapply(names, utils::URLencode, "", reserved = TRUE))
  if (length(urls) == 1L) return(dr_redirect(urls, 307L))
  links <- sprintf("<li><a href=\"%s\">%s</a></li>", html_text(urls), html_text(names))
  dr_html(paste(c(
    "<!DOCTYPE html>", "<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Apps</title></head>", "<body><ul>",
    links, "</ul></body></html>", ""
  ), collapse = "\n"))
}

html_text <- function(x) {
  marks <- c("&" = "&amp;", "<" = "&lt;", ">" = "&gt;", "\"" = "&quot;")
  for (mark in names(marks)) x <- gsub(mark, marks[[mark]], x, fixed = TRUE)
  x
}

# An app that comes from a file runs in the folder of that.
installed_call <- function(one) {
  folder <- if (!is.null(one$appEnv)) dirname(one$appEnv$.appFile)
  app <- one$app
  run <- function(env) if (is.function(app)) app(env) else app$call(env)
  if (is.null(folder)) return(run)
  function(env) {
    before <- setwd(folder)
    on.exit(setwd(before))
    run(env)
  }
}

# The path below the app decoded, and empty where nothing follows its name.
as_rhttpd_has_path <- function(env, req, depth) {
  target <- split_target(req$url, depth)
  env$PATH_INFO <- if (target$before == target$path) "" else httpd_path(target$rest)
}
