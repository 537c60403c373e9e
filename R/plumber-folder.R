# Where handlers of a plumber.R work: in its folder.

# Where a router that is of a file works, NULL for others.
plumber_folder <- function(pr) {
  file <- private_of(pr)$filename
  if (!is.null(file)) normalizePath(dirname(file))
}

in_folder <- function(handler, folder) {
  force(handler)
  if (is.null(folder)) return(handler)
  function(req) {
    if (length(working$folders) == 1L) return(handler(req))
    here <- getwd()
    if (identical(here, folder)) return(handler(req))
    setwd(folder)
    on.exit(setwd(here))
    handler(req)
  }
}
