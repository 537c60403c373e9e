# Makes vignettes of the pages in docs/: Rscript tools/vignettes.R FOLDER writes them into FOLDER/vignettes, and changes
# the links of FOLDER/README.md so that they lead to them. FOLDER is a copy of the package that is built or made a site
# of. Rscript tools/vignettes.R --installed LIBRARY says whether the package there has them all. Code in vignettes is
# shown and not run: tests/examples runs it, on a server. Not for how pages look: that is pkgdown's.

given <- commandArgs(trailingOnly = TRUE)
folder <- given[[length(given)]]
pages <- c(Sys.glob("docs/*.md"), "ARCHITECTURE.md")
# beside the vignettes as they are beside the pages
pictures <- Sys.glob("docs/images/*.png")

# The vignette of a page, by the page's path. The first page is the one that is called as the package.
vignette_name <- function(path) {
  names <- c("ARCHITECTURE.md" = "architecture", "docs/getting-started.md" = "drover")
  if (path %in% names(names)) names[[path]] else sub("\\.md$", "", basename(path))
}

# Links to pages lead to vignettes, with `before` in front; pictures stay; links to files that are not in the package
# become their text.
relink <- function(lines, page, before = "") {
  inside <- Reduce(xor, grepl("^```", lines), accumulate = TRUE)
  link <- "\\[([^]]*)\\]\\(([^)#:]+)(#[^)]*)?\\)"
  for (i in which(!inside)) {
    repeat {
      found <- regmatches(lines[[i]], regexec(link, lines[[i]]))[[1L]]
      if (!length(found)) break
      path <- file.path(dirname(page), found[[3L]])
      while (grepl("[^/.]+/\\.\\./", path)) path <- sub("[^/.]+/\\.\\./", "", path)
      path <- sub("^\\./", "", path)
      # "(:" for "(", so that a link that is done is not found again
      new <- if (path %in% pictures) {
        sprintf("[%s](:%s)", found[[2L]], found[[3L]])
      } else if (path %in% pages) {
        sprintf("[%s](:%s%s.html%s)", found[[2L]], before, vignette_name(path), found[[4L]])
      } else if (grepl("^(LICENSE|.*\\.html)$", path)) {
        sprintf("[%s](:%s%s)", found[[2L]], found[[3L]], found[[4L]])
      } else {
        if (!file.exists(path)) stop(page, " has a link to ", path, ", which does not exist")
        found[[2L]]
      }
      lines[[i]] <- sub(found[[1L]], new, lines[[i]], fixed = TRUE)
    }
    lines[[i]] <- gsub("](:", "](", lines[[i]], fixed = TRUE)
  }
  lines
}

vignette <- function(page) {
  lines <- readLines(page, encoding = "UTF-8")
  title <- sub("^# ", "", lines[[1L]])
  body <- relink(lines[-1L], page)
  # what follows the language is for the tests
  body <- sub("^```([a-z]+) .*", "```\\1", body)
  body <- sub("^```console$", "```", body)
  c(
    "---", sprintf("title: \"%s\"", title), "output: rmarkdown::html_vignette", "vignette: >",
    sprintf("  %%\\VignetteIndexEntry{%s}", title), "  %\\VignetteEngine{knitr::rmarkdown}",
    "  %\\VignetteEncoding{UTF-8}", "---", body
  )
}

made <- vapply(pages, vignette_name, "")

# What help pages and pages name has to be there.
texts <- unlist(lapply(c(pages, "README.md", Sys.glob("R/*.R")), readLines, encoding = "UTF-8"))
named <- unlist(regmatches(texts, gregexpr("vignette\\(\"[^\"]+\"", texts)))
unknown <- setdiff(gsub("vignette\\(|\"", "", named), made)
if (length(unknown)) stop("there is no page for vignette(\"", unknown[[1L]], "\")")

if (given[[1L]] == "--installed") {
  missing <- setdiff(made, utils::vignette(package = "drover", lib.loc = folder)$results[, "Item"])
  cat(sprintf("%d vignettes, %d missing: %s\n", length(pages), length(missing), toString(missing)))
  quit(status = length(missing) > 0L)
}

dir.create(file.path(folder, "vignettes"), showWarnings = FALSE)
for (page in pages) {
  writeLines(vignette(page), file.path(folder, "vignettes", paste0(vignette_name(page), ".Rmd")), useBytes = TRUE)
}
dir.create(file.path(folder, "vignettes", "images"), showWarnings = FALSE)
invisible(file.copy(pictures, file.path(folder, "vignettes", "images")))
readme <- relink(readLines("README.md", encoding = "UTF-8"), "README.md", "articles/")
writeLines(readme, file.path(folder, "README.md"), useBytes = TRUE)
