# An app and all that is mounted in it. Neighbour: app-mount.R.

# Every app that serving `app` reaches, itself first, each once.
app_tree <- function(app) {
  found <- list()
  visit <- function(one) {
    if (any(vapply(found, identical, NA, one))) return()
    found[[length(found) + 1L]] <<- one
    for (mount in one$mounts) visit(mount$app)
  }
  visit(app)
  found
}
