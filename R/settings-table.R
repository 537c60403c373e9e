# The table of settings, inst/settings.dcf: what each may be, and its default. Checks are made of it here; flags,
# variables and keys of a settings file are by the program, of the same file. Neighbours: check.R (the checks
# themselves), settings-units.R (sizes and times as strings), settings-groups.R (the functions that have the settings as
# arguments).

settings <- new.env(parent = emptyenv())

# A data frame, one row for each setting, named by the settings: Group, Kind, Choices, Least, Most, Default.
settings_table <- function() {
  if (is.null(settings$table)) {
    table <- as.data.frame(read.dcf(system.file("settings.dcf", package = "drover")))
    rownames(table) <- table$Name
    settings$table <- table
  }
  settings$table
}

settings_of <- function(group) {
  table <- settings_table()
  table$Name[table$Group == group]
}

# The value of a setting as the engine takes it: sizes and times as numbers. Signals what would be right otherwise.
check_setting <- function(name, value, call) {
  row <- settings_table()[name, ]
  least <- if (is.na(row$Least)) 0 else as.numeric(row$Least)
  most <- if (is.na(row$Most)) 2^53 else as.numeric(row$Most)
  switch(row$Kind,
    count = check_count(value, name, least, most, call = call),
    bytes = {
      value <- as_bytes(value)
      check_size(value, name, least, most, call = call)
    },
    seconds = {
      value <- as_seconds(value)
      check_seconds(value, name, zero = !is.na(row$Least), call = call)
    },
    flag = check_flag(value, name, call = call),
    "flag or auto" = {
      if (!isTRUE(value) && !isFALSE(value) && !identical(value, "auto")) {
        stop_argument(name, "TRUE, FALSE or \"auto\"", value, call)
      }
      value <- tolower(value)
    },
    choice = {
      choices <- strsplit(row$Choices, ", ", fixed = TRUE)[[1L]]
      # without a default, NULL is a choice
      if (is.na(row$Default)) {
        check_choice_or_null(value, name, choices, call)
      } else {
        value <- check_choice(value, name, choices, call)
      }
    },
    text = check_string(value, name, null = is.na(row$Default), call = call),
    target = value <- check_log(value, name, call),
    list = ,
    lines = check_texts(value, name, null = is.na(row$Default), call = call),
    workers = value <- as_workers(value, call)
  )
  value
}

# Also an argument of routes.
check_client_gone <- function(on_client_gone, call) {
  check_choice_or_null(on_client_gone, "on_client_gone", c("finish", "interrupt"), call)
}

# Where lines are written, as the engine takes it.
check_log <- function(log, arg, call) {
  right <- "\"stderr\", \"none\", or the path of a file in an existing folder"
  if (!is_string(log) || !nzchar(log)) stop_argument(arg, right, log, call)
  # as for other programs
  if (log == "-") return("stderr")
  if (log %in% c("stderr", "none")) return(log)
  if (dir.exists(log) || !dir.exists(dirname(path.expand(log)))) stop_argument(arg, right, log, call)
  log
}
