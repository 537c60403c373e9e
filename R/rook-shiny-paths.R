# Paths that Shiny learns while it runs: the folder of each library of a page, which it adds when it first renders that.
# Another worker may be asked for its files, so workers leave each other a note of each. Not for folders that are known
# when the app is loaded: rook-static.R. Neighbour: rook-shiny.R.

# A folder of the workers' own, which is made when there is something to note. Workers that are forked, or were given
# the app by a session, have its name from there; those that load a file have a secret in common.
paths_folder <- function() {
  if (is.null(loading$key)) return(tempfile("drover-shiny-"))
  file.path(dirname(tempdir()), paste0("drover-shiny-", substr(loading$key, 1L, 32L)))
}

note_of_path <- function(state, prefix) file.path(state$folder, utils::URLencode(prefix, reserved = TRUE))

# `paths`: folders by their prefixes.
give_paths <- function(state, paths) {
  if (!length(paths)) return(invisible())
  dir.create(state$folder, showWarnings = FALSE, mode = "0700")
  for (prefix in names(paths)) {
    note <- note_of_path(state, prefix)
    folder <- paths[[prefix]]
    if (identical(noted_path(note), folder)) next
    # others find the whole of it, or nothing
    written <- tempfile("note", state$folder)
    writeLines(enc2utf8(folder), written, useBytes = TRUE)
    file.rename(written, note)
  }
}

noted_path <- function(note) {
  if (file.exists(note)) readLines(note, n = 1L, warn = FALSE, encoding = "UTF-8")
}

# Before a request for this path: what another worker has noted of its prefix.
take_path <- function(state, path) {
  prefix <- prefix_of(path)
  if (is.null(prefix) || prefix == "session") return(invisible())
  if (!is.null(known_path(prefix))) return(invisible())
  add_path(prefix, noted_path(note_of_path(state, prefix)))
}

# What Shiny knows in this process: folders by their prefixes.
known_paths <- function() lapply(asNamespace("shiny")$.globals$resources, `[[`, "directoryPath")

known_path <- function(prefix) asNamespace("shiny")$.globals$resources[[prefix]]$directoryPath

add_path <- function(prefix, folder) {
  if (!is.null(folder) && dir.exists(folder)) shiny::addResourcePath(prefix, folder)
}

# A file of a folder that Shiny knows by now, as httpuv answers for Shiny: with links that lead out of the folder, as
# those of Debian's packages do. NULL for other paths.
resource_answer <- function(env, state, options) {
  prefix <- prefix_of(env$PATH_INFO)
  dir <- if (!is.null(prefix)) known_path(prefix)
  if (is.null(dir) || !dir.exists(dir)) return()
  # a prefix may be given another folder
  if (!identical(state$resources[[prefix]]$given, dir)) {
    state$resources[[prefix]] <- list(given = dir, folder = static_folder(prefix, dir, options))
  }
  static_answer(list(state$resources[[prefix]]$folder), env)
}

# The first segment of a path that has others behind it; NULL when there is none.
prefix_of <- function(path) {
  prefix <- regmatches(path, regexec("^/([^/]+)/", path))[[1L]]
  if (length(prefix)) prefix[[2L]]
}
