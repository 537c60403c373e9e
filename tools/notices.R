# The licences and authors of the libraries that are compiled into the package, or built into its pages (web/), as
# inst/THIRD-PARTY, which is installed packed, and inst/AUTHORS:
#
#   Rscript tools/notices.R           writes the files anew
#   Rscript tools/notices.R --check   a stage of tools/test.sh: the files are those of the lock files, each licence is
#                                     one that deny.toml allows, and each library is from crates.io, or by npm
#
# Needs cargo, and the sources of the libraries, which building the package has fetched: those of npm are in
# web/node_modules.

target <- "x86_64-unknown-linux-gnu"

source("tools/cargo.R")

# The libraries: a data frame with name, version, licence (an SPDX expression), source, folder, repository and authors
# (names, or ""), in alphabetical order.
read_libraries <- function() {
  libraries <- rbind(read_crates(), read_npm())
  libraries[order(libraries$name, libraries$version, method = "radix"), ]
}

read_crates <- function() {
  built <- crates_built(target, "normal", " ", "--offline")
  metadata <- cargo("metadata", "--format-version", "1", "--filter-platform", target, "--offline")
  packages <- jsonlite::fromJSON(metadata, simplifyVector = FALSE)$packages
  rows <- lapply(packages, function(package) {
    # our own have none
    if (is.null(package$source) || !paste(package$name, package$version) %in% built) return()
    licence <- gsub("\\s*/\\s*", " OR ", if (is.null(package$license)) "" else package$license)
    data.frame(
      name = package$name, version = package$version, licence = licence, source = package$source,
      folder = dirname(package$manifest_path), repository = if (is.null(package$repository)) "" else package$repository,
      authors = toString(trimws(sub("<.*", "", unlist(package$authors))))
    )
  })
  do.call(rbind, rows)
}

# The packages of npm that pages are made of: those that are only tools do not get into any.
read_npm <- function() {
  locked <- jsonlite::fromJSON("web/package-lock.json", simplifyVector = FALSE)$packages
  packages <- locked[nzchar(names(locked)) & !vapply(locked, function(package) isTRUE(package$dev), NA)]
  rows <- lapply(names(packages), function(path) {
    folder <- file.path("web", path)
    if (!dir.exists(folder)) stop("no package is in ", folder, ": tools/web.sh fetches it")
    package <- packages[[path]]
    data.frame(
      name = sub(".*node_modules/", "", path), version = package$version,
      licence = if (is.null(package$license)) "" else package$license,
      # without a checksum it is from anywhere
      source = if (is.null(package$integrity)) "unknown" else "npm", folder = folder, repository = "",
      authors = npm_author(folder)
    )
  })
  do.call(rbind, rows)
}

npm_author <- function(folder) {
  author <- jsonlite::fromJSON(file.path(folder, "package.json"))$author
  if (is.list(author)) author <- author$name
  if (is.null(author)) "" else trimws(sub("[<(].*", "", author))
}

# Whether an SPDX expression is met by the licences in `allowed`.
is_allowed <- function(licence, allowed) {
  words <- gsub("\\s+WITH\\s+", "+", licence)
  words <- strsplit(gsub("([()])", " \\1 ", words), "\\s+")[[1L]]
  is_licence <- !words %in% c("AND", "OR", "(", ")", "")
  words[is_licence] <- ifelse(gsub("+", " WITH ", words[is_licence], fixed = TRUE) %in% allowed, "TRUE", "FALSE")
  expression <- gsub("AND", "&", gsub("OR", "|", paste(words, collapse = " ")))
  nzchar(licence) && isTRUE(eval(str2lang(expression)))
}

# The array `allow` of deny.toml.
allowed_licences <- function() {
  lines <- readLines("deny.toml", encoding = "UTF-8")
  lines <- lines[seq(grep("^allow = \\[", lines), length(lines))]
  text <- paste(sub("#.*", "", lines[seq_len(grep("\\]", lines)[[1L]])]), collapse = " ")
  gsub("\"", "", regmatches(text, gregexpr("\"[^\"]+\"", text))[[1L]])
}

# The files of a library that have its licence; where MIT is one of several to choose from, that one.
licence_texts <- function(folder, licence) {
  files <- list.files(folder, "^(LICEN[CS]ES?|COPYING|NOTICE|UNLICENSE)", ignore.case = TRUE)
  # a folder has the licences of what a library has taken from others
  folders <- files[dir.exists(file.path(folder, files))]
  files <- setdiff(files, folders)
  mit <- grep("MIT", files, value = TRUE)
  if (length(mit) && !grepl("AND", licence)) files <- c(mit, grep("^NOTICE", files, value = TRUE))
  inside <- unlist(lapply(folders, function(name) {
    file.path(name, list.files(file.path(folder, name), recursive = TRUE))
  }))
  files <- sort(c(files, inside), method = "radix")
  vapply(file.path(folder, files), function(file) {
    lines <- readLines(file, encoding = "UTF-8", warn = FALSE)
    lines <- sub("[ \t\r\f]+$", "", lines)
    paste(lines[cumsum(nzchar(lines)) > 0L & rev(cumsum(rev(nzchar(lines)))) > 0L], collapse = "\n")
  }, "", USE.NAMES = FALSE)
}

# The text that "MIT" stands for (https://spdx.org/licenses/MIT), for libraries that are published without it.
mit_text <- function(library) {
  paste(c(
    "MIT License", "", sprintf("Copyright (c) the authors of %s (%s)", library$name, library$repository), "",
    strwrap(paste(
      "Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated",
      "documentation files (the \"Software\"), to deal in the Software without restriction, including without limitation",
      "the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and",
      "to permit persons to whom the Software is furnished to do so, subject to the following conditions:"
    ), 79L), "",
    strwrap(paste(
      "The above copyright notice and this permission notice shall be included in all copies or substantial portions",
      "of the Software."
    ), 79L), "",
    strwrap(paste(
      "THE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED",
      "TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL",
      "THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF",
      "CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER",
      "DEALINGS IN THE SOFTWARE."
    ), 79L)
  ), collapse = "\n")
}

notice_lines <- function(libraries) {
  texts <- Map(licence_texts, libraries$folder, libraries$licence)
  # one that was published without its licence has that of the others in its repository
  for (i in which(lengths(texts) == 0L)) {
    same <- which(libraries$repository == libraries$repository[[i]] & libraries$licence == libraries$licence[[i]])
    texts[[i]] <- unlist(texts[same])
    if (!length(texts[[i]]) && libraries$licence[[i]] == "MIT") texts[[i]] <- mit_text(libraries[i, ])
  }
  none <- libraries$name[lengths(texts) == 0L]
  if (length(none)) stop("no licence is found in the sources of: ", toString(none))
  names <- paste(libraries$name, libraries$version)
  users <- split(rep(names, lengths(texts)), factor(unlist(texts), levels = unique(unlist(texts))))
  rule <- strrep("-", 100L)
  sections <- Map(function(text, names) {
    c("", rule, strwrap(toString(names), 100L), rule, "", strsplit(text, "\n", fixed = TRUE)[[1L]])
  }, names(users), users)
  c(
    "Libraries that are compiled into drover or its pages, and their licences. Generated from the lock files:",
    "tools/notices.R.", "",
    sprintf("%-28s %s", names, libraries$licence), unlist(sections, use.names = FALSE)
  )
}

author_lines <- function(libraries) {
  unnamed <- !nzchar(libraries$authors)
  libraries$authors[unnamed] <- trimws(paste("its contributors", libraries$repository[unnamed]))
  c(
    "Who wrote the libraries that are compiled into drover or its pages. Generated from the lock files:",
    "tools/notices.R.", "", sprintf("%-28s %s", paste(libraries$name, libraries$version), libraries$authors)
  )
}

libraries <- read_libraries()
files <- lapply(list(`inst/THIRD-PARTY` = notice_lines, `inst/AUTHORS` = author_lines), function(lines) {
  enc2utf8(lines(libraries))
})
if (!"--check" %in% commandArgs(trailingOnly = TRUE)) {
  for (file in names(files)) writeLines(files[[file]], file, useBytes = TRUE)
} else {
  failed <- 0L
  check <- function(statement, problems) {
    failed <<- failed + (length(problems) > 0L)
    cat(if (length(problems)) "not ok:" else "ok:", statement, if (length(problems)) paste0("\n        ", problems), "\n")
  }
  allowed <- allowed_licences()
  refused <- libraries[!vapply(libraries$licence, is_allowed, NA, allowed), ]
  check("each licence is one that deny.toml allows", sprintf("%s: %s", refused$name, refused$licence))
  sources <- c("registry+https://github.com/rust-lang/crates.io-index", "npm")
  elsewhere <- libraries[!libraries$source %in% sources, ]
  check("each library is from crates.io or by npm", sprintf("%s: %s", elsewhere$name, elsewhere$source))
  for (file in names(files)) {
    is_current <- file.exists(file) && identical(readLines(file, encoding = "UTF-8"), files[[file]])
    check(paste(file, "is that of the lock files"), if (!is_current) "run `make docs`")
  }
  cat(sprintf("%d passed, %d failed\n", 2L + length(files) - failed, failed))
  quit(status = failed > 0L)
}
