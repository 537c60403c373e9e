# Packages that an example brings along, as folders with a DESCRIPTION beside its app.R: installed for the length of a
# run. Not for the example itself: run.R.

# Installs them into a library of their own: list(library, problems); NULL when the example has none. `strict`: what the
# compiler warns of is an error.
install_packages <- function(folder, strict) {
  sources <- dirname(Sys.glob(file.path(folder, "*", "DESCRIPTION")))
  if (!length(sources)) return(NULL)
  library <- tempfile("library-")
  # copies, so that nothing is built in the tree
  copies <- tempfile("sources-")
  for (path in c(library, copies)) dir.create(path)
  file.copy(sources, copies, recursive = TRUE)
  settings <- if (strict) c(R_MAKEVARS_USER = normalizePath(file.path("tools", "Makevars.strict")))
  ran <- processx::run(
    file.path(R.home("bin"), "R"),
    c("CMD", "INSTALL", "--no-test-load", "-l", library, file.path(copies, basename(sources))),
    env = c("current", R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep), settings),
    error_on_status = FALSE, stderr_to_stdout = TRUE, timeout = patience(120)
  )
  unlink(copies, recursive = TRUE)
  list(library = library, problems = if (ran$status != 0L) strsplit(ran$stdout, "\n", fixed = TRUE)[[1L]])
}
