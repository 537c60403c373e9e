# The tables in docs/settings.md against the arguments in R, the flags and variables of the program and the defaults of
# the engine, all of which agree with inst/settings.dcf, or are made of it. Not for what the settings do: the tests of
# the limits do that.

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

# The arguments of dr_serve() and of the functions that make groups: name -> default, as they are written.
arguments_of_r <- function() {
  makers <- list(drover::dr_serve, drover::dr_limits, drover::dr_timeouts, drover::dr_pool)
  given <- do.call(c, lapply(makers, function(maker) as.list(formals(maker))))
  of_tls <- as.list(formals(drover::dr_tls))
  of_tls <- of_tls[names(of_tls) != "..."]
  given <- c(given, stats::setNames(of_tls, paste0("tls_", names(of_tls))))
  given[setdiff(names(given), c("app", "...", "limits", "timeouts", "pool", "tls"))]
}

# The flags of the program, by their names in R, and the variables beside them.
flags_of_program <- function() {
  help <- system2(drover::dr_cli_path(), c("serve", "--help"), stdout = TRUE)
  at <- grep("^ +(-., )?--[a-z-]+", help)
  flags <- sub("^ +(-., )?--([a-z-]+).*", "\\2", help[at])
  variables <- vapply(at, function(i) sub(".*env: ([A-Z_]+)=.*", "\\1", grep("env: ", help[i:length(help)], value = TRUE)[1L]), "")
  stats::setNames(variables, gsub("-", "_", flags))
}

# The examples of a settings file on the page, as the program reads them.
settings_file_problems <- function() {
  blocks <- Filter(function(block) block$info == "toml", fenced_blocks(settings_page))
  folder <- tempfile("settings-")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  run <- function(lines) {
    writeLines(lines, file.path(folder, "drover.toml"))
    # there is no app: what is said before is what counts
    ran <- processx::run(drover::dr_cli_path(), c("serve", "none.R"), wd = folder, error_on_status = FALSE)
    ran$stderr
  }
  said <- paste(vapply(blocks, function(block) run(block$lines), ""), collapse = "")
  wrong <- run(sub("max_body", "max_bdoy", blocks[[1L]]$lines))
  sample <- grep("^error: drover.toml", readLines(settings_page, encoding = "UTF-8"), value = TRUE)
  c(
    if (!grepl("settings are those of drover.toml\n", said) || grepl("drover.toml:", said, fixed = TRUE)) said,
    if (!identical(trimws(wrong), sample)) c(wrong, "and not", sample)
  )
}

check_settings_page <- function(report) {
  documented <- documented_settings()
  given <- arguments_of_r()
  report("docs/settings.md has every argument of dr_serve() and of its groups", c(
    sprintf("`%s` is missing", setdiff(names(given), names(documented))),
    sprintf("`%s` is no argument", setdiff(names(documented), names(given)))
  ))
  # one has no default
  both <- setdiff(intersect(names(given), names(documented)), names(documented)[documented == "-"])
  wrong <- Filter(function(name) !identical(eval(given[[name]]), eval(str2lang(documented[[name]]))) &&
    !isTRUE(all.equal(eval(given[[name]]), eval(str2lang(documented[[name]])))), both)
  report("docs/settings.md has the defaults of R", sprintf(
    "`%s` is %s, not %s", wrong, vapply(wrong, function(name) deparse(given[[name]]), ""), documented[wrong]
  ))
  table <- drover:::settings_table()
  report("the table of settings has every argument that is one of the engine", {
    of_r <- c("block", "on_worker_start", "on_worker_stop")
    c(sprintf("`%s` is missing", setdiff(names(given), c(table$Name, of_r))),
      # a function in R
      sprintf("`%s` is no argument", setdiff(table$Name, c(names(given), "tls_dev"))))
  })
  flags <- flags_of_program()
  report("the program has a flag and a variable for every setting", c(
    sprintf("`%s` has no flag", setdiff(table$Name, names(flags))),
    sprintf("`%s` has the variable %s", table$Name, flags[table$Name])[
      !flags[table$Name] %in% NA & flags[table$Name] != paste0("DROVER_", toupper(table$Name))
    ]
  ))
  report("docs/settings.md shows a settings file that the program reads, and its error", settings_file_problems())
  engine <- engine_defaults()
  report("the engine has the defaults of R", c(
    if (length(engine) < 15L) "the defaults in limits.rs could not be read",
    sprintf("`%s` is no argument", setdiff(names(engine), names(given))),
    unlist(lapply(intersect(names(engine), names(given)), function(name) {
      if (eval(given[[name]]) != engine[[name]]) sprintf("`%s` is %s in the engine", name, engine[[name]])
    }))
  ))
}
