# docs/troubleshooting.md: the messages that it explains are those of the sources. Not for what they mean.

# The texts in backticks of the first column of the tables, without those that are statuses or settings.
explained_messages <- function() {
  rows <- grep("^\\| ", readLines(file.path("docs", "troubleshooting.md"), encoding = "UTF-8"), value = TRUE)
  first <- vapply(strsplit(rows, " | ", fixed = TRUE), `[[`, "", 1L)
  texts <- regmatches(first, gregexpr("`[^`]+`", first))
  unique(gsub("`", "", unlist(texts)))
}

check_troubleshooting <- function(report) {
  files <- c(
    list.files("R", "\\.R$", full.names = TRUE),
    list.files("src/rust/crates", "\\.rs$", recursive = TRUE, full.names = TRUE)
  )
  # texts go over several lines, with a backslash in Rust
  sources <- paste(unlist(lapply(files, readLines, encoding = "UTF-8", warn = FALSE)), collapse = " ")
  sources <- gsub("(\\\\| ) +", " ", sources)
  for (message in explained_messages()) {
    if (startsWith(message, "Rscript")) next
    parts <- trimws(strsplit(message, "...", fixed = TRUE)[[1L]])
    # short ones are everywhere
    parts <- parts[nchar(parts) > 5L]
    missing <- parts[!vapply(parts, grepl, NA, sources, fixed = TRUE)]
    report(paste("docs/troubleshooting.md:", message), if (length(missing)) paste("no message has:", missing))
  }
}
