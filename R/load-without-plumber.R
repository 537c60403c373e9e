# Files written for plumber where that package is not to be had: what loads it does nothing, and what needs it is told
# with its line. Not for what can be served without it: annotations.R.

# Of base: library(plumber) and the like have loaded it, as far as the file can see. `skipped` is called then.
loaders_without_plumber <- function(skipped) {
  force(skipped)
  load_by <- function(loader, value) {
    force(loader)
    force(value)
    function(package, ..., character.only = FALSE) {
      if (missing(package)) return(get(loader, baseenv())(...))
      name <- if (character.only) package else as.character(substitute(package))
      if (identical(name, "plumber")) {
        skipped()
        return(invisible(value()))
      }
      # by its name, which messages have
      do.call(loader, list(name, ..., character.only = TRUE), envir = baseenv())
    }
  }
  list(
    library = load_by("library", .packages), require = load_by("require", function() TRUE),
    requireNamespace = function(package, ...) {
      if (!identical(package, "plumber")) return(base::requireNamespace(package, ...))
      skipped()
      invisible(TRUE)
    }
  )
}

# What is to be added to the message about an error of the file, "" where plumber has nothing to do with it.
plumber_hint <- function(error, skipped, envir) {
  is_missing <- inherits(error, "packageNotFoundError") && identical(error$package, "plumber")
  called <- if (skipped) conditionCall(error)[[1L]]
  # it may be one of plumber's
  is_unknown <- is.symbol(called) && !exists(as.character(called), envir, mode = "function")
  if (is_missing || is_unknown) paste0(": functions of plumber need ", how_to_have_plumber()) else ""
}

how_to_have_plumber <- function() {
  paste0("the package 'plumber', ", if (is_installed("plumber")) {
    "without which the kind \"annotations\" reads the file: serve it as the kind \"plumber\""
  } else {
    "which is not installed: install.packages(\"plumber\")"
  })
}

# Handlers are not called yet, and may have plumber::f() in them, which would fail for each of their clients.
warn_of_plumber <- function(expressions, file) {
  tokens <- utils::getParseData(expressions)
  lines <- tokens$line1[tokens$token == "SYMBOL_PACKAGE" & tokens$text == "plumber"]
  if (!length(lines) || is_installed("plumber")) return()
  where <- and_list(unique(lines))
  message("drover: warning: ", basename(file), ", line ", where, ": `plumber::` needs ", how_to_have_plumber())
}
