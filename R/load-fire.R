# Apps of the package fiery, which plumber2 is made of. Such an object is its own server: it starts one of httpuv, and
# serves what that gives it. Neighbour: load-httpuv.R.

is_fire <- function(x) inherits(x, "Fire")

# Has an app start its server, as its program would have done at its end.
ignite <- function(app) {
  tryCatch(
    until_registered(app$ignite(block = TRUE, showcase = FALSE)), error = function(error) stop_load(load_problem(error))
  )
}

# A _server.yml of plumber2, as that package reads it: the app.
load_plumber2 <- function(settings) {
  api <- getExportedValue("plumber2", "api")
  tryCatch(api(settings, env = globalenv()), error = function(error) stop_load(load_problem(error)))
}
