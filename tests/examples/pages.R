# The code in a page of documentation, as something that can be run. Not for running it: run.R.
#
# All R blocks of a page, in order, are one script, which builds an app; where none of them serves it, it is served at
# the end. Blocks marked `r no-run` are only parsed. Blocks marked `console` are samples (samples.R). A block that is
# marked with a language and a path, as in `c hello/src/hello.c`, is that file, of a package that the script may use.

# The fenced blocks of a Markdown file: a list of lists with info (what follows the fence) and lines.
fenced_blocks <- function(file) {
  lines <- readLines(file, encoding = "UTF-8")
  fences <- grep("^```", lines)
  if (length(fences) %% 2L) stop(file, ": a code block has no end")
  lapply(seq(1L, length.out = length(fences) / 2L, by = 2L), function(i) {
    inside <- seq_len(fences[[i + 1L]] - fences[[i]] - 1L) + fences[[i]]
    list(info = trimws(sub("^```", "", lines[[fences[[i]]]])), lines = lines[inside])
  })
}

lines_of <- function(blocks, info) {
  unlist(lapply(Filter(function(block) block$info == info, blocks), function(block) c(block$lines, "")))
}

# The script of a page, on free ports, or NULL when it has no R code.
page_script <- function(blocks) {
  code <- lines_of(blocks, "r")
  if (is.null(code)) return(NULL)
  if (!any(grepl("dr_serve(", code, fixed = TRUE))) code <- c(code, "dr_serve(app, port = 8080, block = TRUE)")
  if (!any(grepl("library(drover)", code, fixed = TRUE))) code <- c("library(drover)", "app <- dr_app()", code)
  code <- gsub("port = 8080", "port = 0", code, fixed = TRUE)
  gsub("admin = \"127.0.0.1:9901\"", "admin = \"127.0.0.1:0\"", code, fixed = TRUE)
}

# Settings that a page gives to dr_serve() or dr_run() themselves, in its blocks or in a sentence, and that belong to a
# group by now.
moved_settings <- function(page, blocks) {
  lines <- readLines(page, encoding = "UTF-8")
  outside <- !Reduce(xor, grepl("^```", lines), accumulate = TRUE)
  code <- regmatches(lines[outside], gregexpr("`[^`]+`", lines[outside]))
  texts <- c(gsub("`", "", unlist(code), fixed = TRUE), vapply(
    Filter(function(block) grepl("^r( |$)", block$info), blocks), function(block) paste(block$lines, collapse = "\n"), ""
  ))
  table <- drover:::settings_table()
  moved <- table$Name[table$Group %in% names(drover:::group_makers) & table$Name != "workers"]
  found <- function(code) {
    if (!is.call(code)) return(if (is.expression(code)) unlist(lapply(code, found)))
    named <- if (deparse(code[[1L]])[[1L]] %in% c("dr_serve", "dr_run")) intersect(names(code), moved)
    c(if (length(named)) paste0("`", named, "` in ", deparse(code)[[1L]]), unlist(lapply(as.list(code), found)))
  }
  unlist(lapply(texts, function(text) found(tryCatch(parse(text = text), error = function(error) NULL))))
}

# Writes the blocks that are files below a folder.
write_files <- function(blocks, folder) {
  for (block in blocks) {
    path <- regmatches(block$info, regexec("^[a-z]+ ([^ ]+/[^ ]+)$", block$info))[[1L]]
    if (!length(path)) next
    file <- file.path(folder, path[[2L]])
    dir.create(dirname(file), showWarnings = FALSE, recursive = TRUE)
    writeLines(block$lines, file, useBytes = TRUE)
  }
}
