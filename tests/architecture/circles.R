# Circles of modules: in a crate, among the C files and among those of R/. Sourced by run.R. A module is a file; a
# folder's mod.rs stands for the folder.

# What the modules of a crate import from each other: list(modules, edges), edges a matrix with the columns from and to.
# Code that is only built for tests or fuzz targets does not count, nor does what lib.rs makes public.
module_imports <- function(folder) {
  files <- list.files(file.path(folder, "src"), "\\.rs$", recursive = TRUE)
  files <- files[!grepl("(^|/)(lib|main|fuzzing|tests)\\.rs$|(^|/)tests/", files)]
  module_of <- function(file) sub("/mod$", "", sub("\\.rs$", "", file))
  modules <- vapply(files, module_of, "", USE.NAMES = FALSE)
  edges <- lapply(files, function(file) {
    self <- module_of(file)
    targets <- unlist(lapply(paths_in(file.path(folder, "src", file)), function(path) {
      longest_module(absolute_path(path, self, endsWith(file, "/mod.rs")), modules)
    }))
    targets <- unique(setdiff(targets, self))
    cbind(from = rep(self, length(targets)), to = targets)
  })
  list(modules = modules, edges = do.call(rbind, c(list(matrix("", 0L, 2L)), edges)))
}

# The paths of a file that begin with `crate::` or `super::`, with braces taken apart.
paths_in <- function(file) {
  lines <- readLines(file, encoding = "UTF-8", warn = FALSE)
  # by custom the tests of a file are its last module
  end <- grep("^#\\[cfg\\((all\\()?(test|loom)", lines)
  if (length(end)) lines <- lines[seq_len(end[[1L]] - 1L)]
  text <- paste(sub("//.*", "", lines), collapse = " ")
  found <- regmatches(text, gregexpr("\\b((super::)+|crate::)[A-Za-z0-9_:]*(\\{[^}]*\\})?", text))[[1L]]
  unlist(lapply(found, function(path) {
    if (!grepl("{", path, fixed = TRUE)) return(path)
    inner <- strsplit(gsub(".*\\{|\\}.*", "", path), ",")[[1L]]
    paste0(sub("\\{.*", "", path), trimws(inner))
  }))
}

# The parts of a path, from the root of the crate.
absolute_path <- function(path, self, is_folder) {
  parts <- strsplit(path, "::", fixed = TRUE)[[1L]]
  if (parts[[1L]] == "crate") return(parts[-1L])
  up <- sum(cumprod(parts == "super"))
  base <- strsplit(self, "/", fixed = TRUE)[[1L]]
  c(utils::head(base, length(base) - up + is_folder), parts[-seq_len(up)])
}

longest_module <- function(parts, modules) {
  candidates <- vapply(seq_along(parts), function(n) paste(parts[seq_len(n)], collapse = "/"), "")
  utils::tail(candidates[candidates %in% modules], 1L)
}

# The circles among modules: for each set of them that reach each other, a text with the arrows in it. `edges` is a
# matrix with the columns from and to.
circles <- function(modules, edges) {
  reach <- matrix(FALSE, length(modules), length(modules), dimnames = list(modules, modules))
  reach[edges] <- TRUE
  for (via in modules) reach <- reach | outer(reach[, via], reach[via, ])
  both <- reach & t(reach)
  sets <- unique(lapply(modules[diag(both)], function(module) modules[both[module, ]]))
  vapply(sets, function(set) {
    inside <- edges[edges[, 1L] %in% set & edges[, 2L] %in% set, , drop = FALSE]
    paste(inside[, 1L], "->", inside[, 2L], collapse = ", ")
  }, "")
}

# What C files name of each other: the functions and variables that one has for others, as module_imports() gives it.
# Their names begin with drv_, and a header of the file's own name declares them.
c_names <- function(folder) {
  files <- list.files(folder, "\\.c$")
  texts <- vapply(files, function(file) {
    lines <- readLines(file.path(folder, file), encoding = "UTF-8", warn = FALSE)
    gsub("(?s)/[*].*?[*]/", " ", paste(lines, collapse = "\n"), perl = TRUE)
  }, "")
  names_in <- function(text) unique(regmatches(text, gregexpr("\\bdrv_\\w+\\b", text))[[1L]])
  # at the beginning of a line: what is called is not defined there, and what is static is not for others
  defined <- lapply(texts, function(text) {
    heads <- regmatches(text, gregexpr("(?m)^(?!static|#|\\s)[^;{}()=]*\\bdrv_\\w+(?=\\(| = |;)", text, perl = TRUE))[[1L]]
    sub(".*\\b(drv_\\w+)$", "\\1", heads)
  })
  home <- unlist(lapply(files, function(file) stats::setNames(rep(file, length(defined[[file]])), defined[[file]])))
  edges <- lapply(files, function(file) {
    targets <- setdiff(unique(home[intersect(names_in(texts[[file]]), names(home))]), file)
    cbind(from = rep(file, length(targets)), to = targets)
  })
  list(modules = files, edges = do.call(rbind, c(list(matrix("", 0L, 2L)), edges)))
}

# What files of R/ use of each other: functions and variables that one defines, by R's own scoping. What is named in a
# text, as by C, is not seen.
r_uses <- function(folder) {
  files <- list.files(folder, "\\.R$")
  is_definition <- function(one) is.call(one) && identical(one[[1L]], quote(`<-`)) && is.symbol(one[[2L]])
  code <- lapply(file.path(folder, files), function(file) as.list(parse(file, keep.source = FALSE)))
  defined <- lapply(code, function(lines) vapply(Filter(is_definition, lines), function(one) as.character(one[[2L]]), ""))
  home <- stats::setNames(rep(files, lengths(defined)), unlist(defined))
  edges <- Map(function(file, lines) {
    used <- codetools::findGlobals(as.function(list(as.call(c(quote(`{`), lines)))))
    targets <- setdiff(unique(home[intersect(used, names(home))]), file)
    cbind(from = rep(file, length(targets)), to = targets)
  }, files, code)
  list(modules = files, edges = do.call(rbind, unname(edges)))
}
