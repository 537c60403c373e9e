# The table in docs/settings.md against the arguments of dr_serve() and the defaults of the engine: one list of settings,
# in three places, that must agree. Not for what the settings do: the tests of the limits do that.

settings_page <- file.path("docs", "settings.md")
limits_source <- file.path("src", "rust", "crates", "admission", "src", "limits.rs")

# Rows of the page's tables: a named character vector, setting -> default.
documented_settings <- function() {
  rows <- grep("^\\| `", readLines(settings_page, encoding = "UTF-8"), value = TRUE)
  cells <- strsplit(rows, " | ", fixed = TRUE)
  defaults <- vapply(cells, function(row) gsub("[`| ]", "", row[[2L]]), "")
  names(defaults) <- vapply(cells, function(row) gsub("[`| ]", "", row[[1L]]), "")
  defaults
}

# What stands in `impl Default for Limits`, as numbers.
engine_defaults <- function() {
  lines <- readLines(limits_source)
  lines <- lines[-seq_len(grep("^impl Default for Limits", lines))]
  found <- regmatches(lines, regexec("^\\s+(\\w+): ([0-9][0-9_. <]*),$", lines))
  found <- found[lengths(found) == 3L]
  values <- vapply(found, function(match) {
    parts <- as.numeric(strsplit(gsub("_", "", match[[3L]]), "<<", fixed = TRUE)[[1L]])
    if (length(parts) == 2L) parts[[1L]] * 2^parts[[2L]] else parts
  }, 0)
  names(values) <- vapply(found, `[[`, "", 2L)
  values
}

check_settings_page <- function(report) {
  documented <- documented_settings()
  given <- formals(drover::dr_serve)
  given <- given[setdiff(names(given), c("app", "..."))]
  report("docs/settings.md has every argument of dr_serve()", c(
    sprintf("`%s` is missing", setdiff(names(given), names(documented))),
    sprintf("`%s` is no argument", setdiff(names(documented), names(given)))
  ))
  both <- intersect(names(given), names(documented))
  wrong <- Filter(function(name) !identical(eval(given[[name]]), eval(str2lang(documented[[name]]))) &&
    !isTRUE(all.equal(eval(given[[name]]), eval(str2lang(documented[[name]])))), both)
  report("docs/settings.md has the defaults of dr_serve()", sprintf(
    "`%s` is %s, not %s", wrong, vapply(wrong, function(name) deparse(given[[name]]), ""), documented[wrong]
  ))
  engine <- engine_defaults()
  report("the engine has the defaults of dr_serve()", c(
    if (length(engine) < 15L) "the defaults in limits.rs could not be read",
    sprintf("`%s` is no argument", setdiff(names(engine), names(given))),
    unlist(lapply(intersect(names(engine), names(given)), function(name) {
      if (eval(given[[name]]) != engine[[name]]) sprintf("`%s` is %s in the engine", name, engine[[name]])
    }))
  ))
}
