# Apps of the package fiery, which plumber2 is made of. Such an object is its own server: it starts one of httpuv, and
# serves what that gives it. Neighbour: load-httpuv.R.

is_fire <- function(x) inherits(x, "Fire")

# Has an app start its server, as its program would have done at its end.
ignite <- function(app) load_by(app$ignite(block = TRUE, showcase = FALSE))

# A _server.yml of plumber2, as that package reads it: the app.
load_plumber2 <- function(settings) load_by(getExportedValue("plumber2", "api")(settings, env = globalenv()))
