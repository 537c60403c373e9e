# Folders that an httpuv app names in `staticPaths`. The files go out by the engine, as of dr_file(). Not for
# dr_static(): its folders are looked up after all routes, and a route for all paths leaves nothing for them.

# list(list(path, dir, options)), the longest path first: the one that counts.
rook_static <- function(app) {
  paths <- member(app, "staticPaths")
  if (!length(paths)) return(list())
  if (is.null(names(paths)) || !all(nzchar(names(paths)))) {
    stop_drover("argument", "the app's `staticPaths` must have names, the paths", call = NULL, argument = "app")
  }
  common <- member(app, "staticPathOptions")
  folders <- Map(static_folder, names(paths), as.list(paths), MoreArgs = list(common = common))
  unname(folders[order(nchar(names(paths)), decreasing = TRUE)])
}

static_folder <- function(path, given, common) {
  own <- if (is.character(given)) list(path = given) else unclass(given)
  path <- sub("/+$", "", paste0("/", sub("^/+", "", path)))
  options <- list(
    indexhtml = TRUE, fallthrough = FALSE, html_charset = "utf-8", headers = list(), validation = character(),
    exclude = FALSE
  )
  # what is NULL is as it was
  for (more in list(unclass(common), unclass(own$options))) {
    for (name in intersect(names(more), names(options))) {
      if (!is.null(more[[name]])) options[[name]] <- more[[name]]
    }
  }
  if (!options$exclude && !file.exists(own$path)) {
    shown <- encodeString(own$path, quote = "\"")
    stop_drover("argument", paste0("the app's `staticPaths`: there is no ", shown), call = NULL, argument = "app")
  }
  list(path = path, dir = if (options$exclude) "" else normalizePath(own$path), options = options)
}

# The answer from a folder, NULL when the app is to be called.
static_answer <- function(static, env) {
  path <- utils::URLdecode(env$PATH_INFO)
  for (folder in static) {
    if (path != folder$path && !startsWith(path, paste0(folder$path, "/"))) next
    if (folder$options$exclude) return(NULL)
    return(from_folder(folder, substring(path, nchar(folder$path) + 1L), env))
  }
}

from_folder <- function(folder, path, env) {
  options <- folder$options
  if (!env$REQUEST_METHOD %in% c("GET", "HEAD")) return(plain_answer(400L, "Bad Request"))
  if (length(options$validation) && !is_validated(options$validation, env)) return(plain_answer(403L, "Forbidden"))
  file <- static_file(folder$dir, path, options$indexhtml)
  if (is.null(file)) return(if (options$fallthrough) NULL else plain_answer(404L, "Not Found"))
  headers <- rook_headers(as.list(options$headers))
  is_html <- grepl("[.]html?$", file, ignore.case = TRUE)
  if (is_html && !length(header_at(headers, "content-type"))) {
    charset <- if (nzchar(options$html_charset)) paste0("; charset=", options$html_charset)
    headers <- c(list("Content-Type" = paste0("text/html", charset)), headers)
  }
  dr_file(file, headers = headers)
}

# The path of the file below `dir`, or NULL. No segment may lead out of the folder.
static_file <- function(dir, path, index) {
  segments <- strsplit(path, "/", fixed = TRUE)[[1L]]
  if (any(segments %in% c("..", ".")) || grepl("\\\\", path)) return(NULL)
  file <- if (nzchar(path)) file.path(dir, sub("^/+", "", path)) else dir
  if (dir.exists(file) && index) file <- file.path(file, "index.html")
  if (file.exists(file) && !dir.exists(file)) file
}

# `rules`: c("==", name, value), as httpuv's parser leaves them.
is_validated <- function(rules, env) {
  field <- paste0("HTTP_", toupper(chartr("-", "_", rules[[2L]])))
  identical(env[[field]], rules[[3L]])
}

plain_answer <- function(status, text) dr_text(paste0(status, " ", text, "\n"), status = status)
