# A file as a response. R only names the file: the engine opens and sends it. Neighbours: response.R, app-static.R.

#' Answer with a file
#'
#' The file is opened and sent by the engine after the handler has returned; its contents never enter R. It answers
#' conditional and range requests as for static files. A middleware can change status and headers of such a response; to
#' send another body it returns another response.
#'
#' @param path The file: a single string. A path from a client must be checked before it comes here, or better be served
#'   with [dr_static()], which never leaves its folder.
#' @param content_type The `Content-Type`: a single string, or `NULL` to go by the file's extension.
#' @inheritParams dr_response
#' @param download_as The name under which browsers save the file: a single string, or `NULL` to let them show it.
#' @returns A `dr_response` as [dr_response()] makes it, whose `body` is `NULL` and whose further element `file` is the
#'   file's absolute path.
#' @section Errors: `drover_error_file` when there is no such file, or when it is not a file that can be read;
#'   `drover_error_argument` when an argument is not as described.
#' @examples
#' csv <- tempfile(fileext = ".csv")
#' write.csv(women, csv, row.names = FALSE)
#' dr_file(csv, download_as = "women.csv")
#' @export
dr_file <- function(path, content_type = NULL, status = 200L, headers = list(), download_as = NULL) {
  check_string(path, "path")
  check_string(content_type, "content_type", null = TRUE)
  check_string(download_as, "download_as", null = TRUE)
  file <- path.expand(path)
  shown <- encodeString(path, quote = "\"")
  if (!file.exists(file)) stop_drover("file", paste0("dr_file: file not found: ", shown), path = path)
  if (dir.exists(file)) stop_drover("file", paste0("dr_file: a folder, not a file: ", shown), path = path)
  if (file.access(file, 4L) != 0L) stop_drover("file", paste0("dr_file: file not readable: ", shown), path = path)

  response <- new_response(NULL, status, headers, NULL)
  typed <- length(header_at(response$headers, "content-type")) > 0L
  added <- list(
    "Content-Type" = if (!typed) content_type,
    "Content-Disposition" = if (!is.null(download_as)) attachment(download_as, sys.call())
  )
  response$headers <- c(check_headers(added), response$headers)
  response$file <- normalizePath(file)
  response
}

# RFC 8187, section 3.2.1: attr-char
extended_value_bytes <- byte_set(paste0(alphanumeric, "!#$&+-.^_`|~"))

# The value of Content-Disposition (RFC 6266): a quoted name for all, and the exact one when that is not plain.
attachment <- function(name, call) {
  if (has_control(name) || grepl("[/\\\\]", name) || !nzchar(name)) {
    stop_argument("download_as", "a file name without slashes and control characters", name, call)
  }
  plain <- gsub("[^ -~]", "_", name)
  value <- paste0("attachment; filename=\"", gsub("\"", "'", plain, fixed = TRUE), "\"")
  if (identical(plain, name) && !grepl("[\"%]", name)) return(value)
  paste0(value, "; filename*=UTF-8''", percent_encode(name, extended_value_bytes))
}
