# Folders of files. Only the registration is here: the engine serves the files, R is not involved.

#' Serve the files of a folder
#'
#' GET and HEAD requests below `mount` are answered with the files of `dir`, by the engine: however busy R is, and
#' without middleware. It sends the MIME type, `ETag` and `Last-Modified`, answers conditional and range requests, and
#' sends `FILE.br`, `FILE.zst` or `FILE.gz` instead of `FILE` to clients that take it.
#'
#' Nothing outside of `dir` is ever sent: no `..`, no link that leaves it, no name that starts with a dot; and there are
#' no listings of folders. A request for a folder gets its `index.html`. Routes go before static mounts; `mount` is
#' compared with regard to case.
#'
#' @param app An app, see [dr_app()].
#' @param mount A path such as `"/assets"`: a single string that starts with `/`, is not just `/`, and has no
#'   placeholders.
#' @param dir The folder: a single string. It must exist when the server starts; a relative one is looked up then.
#' @returns `app`, invisibly; it is changed in place. Mounting at the same path again replaces the folder.
#' @section Errors: `drover_error_argument` when an argument is not as described.
#' @examples
#' app <- dr_app()
#' dr_static(app, "/r", R.home("doc"))
#' app
#' @export
dr_static <- function(app, mount, dir) {
  check_registrar(app)
  prefix <- check_prefix(mount, "mount", sys.call())
  if (!nzchar(prefix)) stop_argument("mount", "a path below \"/\", such as \"/assets\"", mount, sys.call())
  if (grepl("[:<>{}*?#\\\\]|//|/\\.\\.?(/|$)", prefix)) {
    stop_argument("mount", "a plain path without placeholders, such as \"/assets\"", mount, sys.call())
  }
  check_string(dir, "dir")
  if (!nzchar(dir)) stop_argument("dir", "the path of a folder", dir, sys.call())
  others <- Filter(function(static) static$mount != prefix, app$static_mounts)
  app$static_mounts <- c(others, list(list(mount = prefix, dir = dir)))
  invisible(app)
}
