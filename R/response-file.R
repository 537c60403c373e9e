# A file as a response. R only opens the file: the engine reads and sends it. Neighbours: response.R, app-static.R;
# opened.c.

#' Answer with a file
#'
#' The file is opened when `dr_file()` is called, and read and sent by the engine after the handler has returned; its
#' contents never enter R. A handler may remove it before it returns, by `on.exit(unlink(file))` or with `delete =
#' TRUE`. It answers conditional and range requests as for static files. A middleware can change status and headers of
#' such a response; `response$body` reads the file (a raw vector), and another body that is assigned there is sent
#' instead of it.
#'
#' A response that is kept and sent again names its file: from the second time on what is at the path then is sent.
#'
#' @param path The file: a single string. A path from a client must be checked before it comes here, or better be served
#'   with [dr_static()], which never leaves its folder.
#' @param content_type The `Content-Type`: a single string, or `NULL` to go by the file's extension.
#' @inheritParams dr_response
#' @param download_as The name under which browsers save the file: a single string, or `NULL` to let them show it.
#' @param delete Whether to remove the file, `TRUE` or `FALSE`: its name goes at once, its contents when they are sent,
#'   or when R finds that the response is not used any more.
#' @returns A `dr_response` as [dr_response()] makes it, with the further element `file`: the file's absolute path,
#'   whose attribute `opened` holds it open.
#' @section Errors: `drover_error_file` when there is no such file, or when it is not a file that can be read, or with
#'   `delete = TRUE` removed;
#'   `drover_error_argument` when an argument is not as described.
#' @examples
#' csv <- tempfile(fileext = ".csv")
#' write.csv(women, csv, row.names = FALSE)
#' dr_file(csv, download_as = "women.csv", delete = TRUE)
#' @export
dr_file <- function(path, content_type = NULL, status = 200L, headers = list(), download_as = NULL, delete = FALSE) {
  check_names()
  check_string(path, "path")
  check_string(content_type, "content_type", null = TRUE)
  check_string(download_as, "download_as", null = TRUE)
  check_flag(delete, "delete")
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
  file <- normalizePath(file)
  # last: from here on nothing fails
  opened <- .Call(C_opened_open, file, delete)
  if (is.character(opened)) stop_drover("file", paste0("dr_file: ", shown, ": ", opened), path = path)
  attr(file, "opened") <- opened
  response$file <- file
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
