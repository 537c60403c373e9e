# `drover new NAME`: a project to begin with. Neighbour: command.R.

# The files of a project by their paths; "%s" is its name.
new_project_files <- list(
  "app.R" = c(
    "# %s: `drover serve .`, then open http://127.0.0.1:8080",
    "",
    "library(drover)",
    "",
    "app <- dr_app()",
    "",
    "dr_get(app, \"/\", function(req) \"Hello from %s\\n\")",
    "",
    "dr_get(app, \"/square/<n:int>\", function(req) list(n = req$params$n, square = req$params$n^2))",
    "",
    "app"
  ),
  "drover.toml" = c(
    "# Settings, by the names of the program's flags: drover serve --help",
    "workers = \"1-3\"",
    "",
    "[limits]",
    "max_body = \"1MB\"",
    "",
    "[timeouts]",
    "timeout = \"30s\""
  ),
  "tests/test-app.R" = c(
    "# Rscript tests/test-app.R, from the project's folder: the app, asked as a client would",
    "",
    "library(drover)",
    "",
    "dr_run(\"app.R\", port = 0, workers = 1, block = FALSE)",
    "ask <- function(path) readLines(paste0(dr_url(), path), warn = FALSE)",
    "",
    "stopifnot(",
    "  ask(\"/\") == \"Hello from %s\",",
    "  ask(\"/square/7\") == \"{\\\"n\\\":7,\\\"square\\\":49}\"",
    ")",
    "dr_stop()",
    "cat(\"all tests passed\\n\")"
  ),
  "README.md" = c(
    "# %s",
    "",
    "| to | run |",
    "|---|---|",
    "| work on it | `drover dev . --open` |",
    "| serve it | `drover serve .` |",
    "| see its routes | `drover routes .` |",
    "| test it | `Rscript tests/test-app.R` |"
  )
)

command_new <- function(name) {
  if (file.exists(name)) {
    stop_drover("argument", paste0(name, " exists already: name a folder that does not"), call = NULL)
  }
  if (!grepl("^[A-Za-z0-9][A-Za-z0-9._-]*$", basename(name))) {
    problem <- "the name must begin with a letter or digit and consist of letters, digits, '.', '_' and '-', not "
    stop_drover("argument", paste0(problem, encodeString(basename(name), quote = "\"")), call = NULL)
  }
  for (path in names(new_project_files)) {
    file <- file.path(name, path)
    if (!dir.exists(dirname(file)) && !dir.create(dirname(file), recursive = TRUE, showWarnings = FALSE)) {
      stop_drover("file", paste("cannot make the folder", dirname(file)), call = NULL)
    }
    writeLines(gsub("%s", basename(name), new_project_files[[path]], fixed = TRUE), file)
  }
  files <- paste(names(new_project_files), collapse = ", ")
  cat("made ", name, " with ", files, "\nserve it: drover serve ", name, "\n", sep = "")
  0L
}
