# `drover new NAME --kind KIND`: a project to begin with, made of the templates in inst/templates. Neighbour: command.R.

# The files of a project of a kind, by their paths in it: its own, and those of all kinds. "{{name}}" in them is its
# name.
project_files <- function(kind) {
  folders <- file.path(system.file("templates", package = "drover"), c(kind, "shared"))
  files <- lapply(folders, list.files, recursive = TRUE)
  with_names(file.path(rep(folders, lengths(files)), unlist(files)), unlist(files))
}

# The kinds are those that the program takes: there is a folder of templates for each.
command_new <- function(arguments) {
  name <- arguments[[1L]]
  if (file.exists(name)) {
    stop_drover("argument", paste0(name, " exists already: name a folder that does not"), call = NULL)
  }
  if (!grepl("^[A-Za-z0-9][A-Za-z0-9._-]*$", basename(name))) {
    problem <- "the name must begin with a letter or digit and consist of letters, digits, '.', '_' and '-', not "
    stop_drover("argument", paste0(problem, encodeString(basename(name), quote = "\"")), call = NULL)
  }
  files <- project_files(option_of(arguments, "--kind"))
  for (path in names(files)) {
    file <- file.path(name, path)
    if (!dir.exists(dirname(file)) && !dir.create(dirname(file), recursive = TRUE, showWarnings = FALSE)) {
      stop_drover("file", paste("cannot make the folder", dirname(file)), call = NULL)
    }
    writeLines(gsub("{{name}}", basename(name), readLines(files[[path]]), fixed = TRUE), file)
  }
  cat("made ", name, " with ", paste(names(files), collapse = ", "), "\nserve it: drover serve ", name, "\n", sep = "")
  0L
}
