# Static files that are compressed ahead of time. Not for responses of handlers: policy-compress.R. Neighbours:
# app-static.R; the engine's src/rust/crates/engine/src/assets, which sends them.

#' Compress the files of a folder ahead of time
#'
#' [dr_static()] sends `app.js.br`, `app.js.zst` or `app.js.gz` instead of `app.js` to clients that take it. This makes
#' them: each file that is worth it is compressed as far as its encoding gets, once, when an app is built, and not while
#' it is served. `drover compress DIR` does the same from a shell.
#'
#' What is up to date stays: a compressed file that is not older than its original. Files that would not become smaller,
#' such as pictures, get none, and one that is out of date then goes. Hidden files are left out, as [dr_static()] never
#' sends them.
#'
#' @param dir The folder: a single string. Folders in it count, too.
#' @param encodings Which: a character vector out of `"br"` (brotli), `"zstd"` and `"gzip"`.
#' @param min_size Smaller files get none: a single number of bytes, or a size such as `"2kB"`.
#' @returns A data frame, invisibly: `file`, `encoding`, `size` and `compressed` (both in bytes), a row for each file
#'   that was written.
#' @section Errors: `drover_error_argument` when an argument is not as described; `drover_error_system` when a file
#'   cannot be read or written.
#' @seealso [dr_static()]; [dr_compress()] for responses of handlers.
#' @examples
#' dir <- tempfile()
#' dir.create(dir)
#' writeLines(rep("body { color: black }", 200), file.path(dir, "style.css"))
#' print(dr_compress_files(dir))
#' list.files(dir)
#' @export
dr_compress_files <- function(dir, encodings = c("br", "zstd", "gzip"), min_size = 1024) {
  call <- sys.call()
  check_string(dir, "dir", call = call)
  if (!dir.exists(dir)) stop_argument("dir", "the path of a folder that exists", dir, call)
  check_strings(encodings, "encodings", "out of \"br\", \"zstd\" and \"gzip\": a character vector", function(x) {
    x %in% names(file_suffixes)
  }, call)
  min_size <- as_bytes(min_size)
  check_size(min_size, "min_size", call = call)
  files <- list.files(dir, recursive = TRUE)
  files <- files[!grepl("\\.(br|zst|gz)$|(^|/)\\.", files)]
  files <- files[file.size(file.path(dir, files)) >= min_size]
  rows <- list()
  for (file in files) {
    for (encoding in unique(encodings)) {
      from <- file.path(dir, file)
      to <- paste0(from, file_suffixes[[encoding]])
      if (file.exists(to) && file.mtime(to) >= file.mtime(from)) next
      size <- .Call(C_packed_files_make, path.expand(from), encoding, path.expand(to))
      if (is.character(size)) stop_drover("system", paste("a file cannot be compressed:", size), call = call)
      if (size > 0) rows[[length(rows) + 1L]] <- list(file, encoding, file.size(from), size)
    }
  }
  column <- function(i, kind) vapply(rows, function(row) row[[i]], kind)
  invisible(data.frame(
    file = column(1L, ""), encoding = column(2L, ""), size = column(3L, 0), compressed = column(4L, 0)
  ))
}

file_suffixes <- c(br = ".br", zstd = ".zst", gzip = ".gz")

# `drover compress DIR`. The exit status.
command_compress <- function(dir) {
  made <- dr_compress_files(dir)
  for (i in seq_len(nrow(made))) {
    row <- made[i, ]
    cat(sprintf("%s: %s %.0f -> %.0f bytes\n", row$file, row$encoding, row$size, row$compressed))
  }
  message(sprintf("drover: %d compressed files written below %s", nrow(made), dir))
  0L
}
