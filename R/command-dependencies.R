# Which packages the code of an app uses, found by reading it. Not for installing them: command-docker.R.

# Folders with packages and not with the app's own code.
library_folders <- c("renv", "packrat", "node_modules")

# The R files of a folder, by their paths.
r_files <- function(folder) {
  files <- list.files(folder, "[.][rR]$", recursive = TRUE)
  files <- files[!sub("/.*", "", files) %in% library_folders]
  file.path(folder, files)
}

# Names of packages in calls such as library(a), requireNamespace("b") and c::d, without those of R itself, sorted. Code
# that does not parse has none.
packages_used <- function(files) {
  names <- unique(unlist(lapply(files, function(file) {
    expressions <- tryCatch(parse(file, keep.source = FALSE, encoding = "UTF-8"), error = function(error) NULL)
    lapply(expressions, packages_in)
  })))
  own <- rownames(utils::installed.packages(.Library, priority = "base"))
  sort(as.character(setdiff(names, c(own, "drover"))), method = "radix")
}

packages_in <- function(code) {
  if (is.pairlist(code)) code <- as.list(code)
  if (!is.call(code) && !is.list(code) && !is.expression(code)) return(character())
  c(if (is.call(code)) package_of_call(code), unlist(lapply(as.list(code), function(part) {
    # an argument that is left out is no code
    if (!missing(part)) packages_in(part)
  })))
}

# The package that a call names, or NULL.
package_of_call <- function(call) {
  name <- if (is.symbol(call[[1L]])) as.character(call[[1L]]) else ""
  if (name %in% c("::", ":::")) return(as.character(call[[2L]]))
  by_name <- name %in% c("requireNamespace", "loadNamespace")
  if ((!by_name && !name %in% c("library", "require")) || length(call) < 2L) return(NULL)
  package <- call[["package"]] %||% call[[2L]]
  is_literal <- is.character(package) || (is.symbol(package) && !by_name && !isTRUE(call[["character.only"]]))
  if (is_literal) as.character(package)
}
