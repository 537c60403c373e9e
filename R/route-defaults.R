# What routes of apps that were written for other servers have in place of drover's defaults, as those servers have it.
# What somebody has told drover itself goes before that. Neighbours: plumber-app.R and rook-app.R, whose apps have the
# field `usual`; app-compile.R, which takes it along; serve-config.R, where the settings are known.

# Of an app, when it is compiled.
usual_of <- function(app) if (!is.null(app$usual)) Filter(Negate(is.null), app$usual())

# plumber's limit for the longest body: bytes, Inf for any, NULL when none is set.
plumber_max_body <- function() {
  most <- plumber_option("maxRequestSize", NULL)
  if (is.character(most)) most <- suppressWarnings(as.numeric(most))
  if (!is.numeric(most) || length(most) != 1L || is.na(most)) return(NULL)
  if (most <= 0) Inf else most
}

# A compiled route as the engine takes it: `config` are the server's settings.
with_usual <- function(route, config) {
  usual <- route$usual
  route$usual <- NULL
  if (is.null(config$on_client_gone) && is.null(route$on_client_gone)) route$on_client_gone <- usual$on_client_gone
  if (is.null(route$max_body) && !is_given("max_body", config)) route$max_body <- raised_body(usual, config)
  if (!is.null(route$max_body)) route$max_body <- min(route$max_body, 2^53)
  route
}

# Whether the user has set a limit, by any means.
is_given <- function(name, config) name %in% unlist(config$given)

# A smaller one than the server's is plumber's own to refuse, in its words.
raised_body <- function(usual, config) {
  most <- usual$max_body
  if (!is.null(most) && most > config$limits$max_body) most
}

# Says once for an app which limit holds, where its router has one.
tell_max_body <- function(routes, config) {
  # Shiny has a limit by itself, which there is nothing to say about
  said_by_app <- function(route) if (!isTRUE(route$usual$is_of_shiny)) route$usual$max_body
  most <- unique(unlist(lapply(routes, said_by_app)))
  if (!length(most)) return(invisible())
  size <- function(bytes) if (is.finite(bytes)) format(bytes, scientific = FALSE) else "0, for any size,"
  said <- paste0("`maxRequestSize` = ", size(most[[1L]]), " of options_plumber()")
  limit <- config$limits$max_body
  if (is_given("max_body", config)) {
    message("drover: ", said, " is not used: `max_body` = ", size(limit), " was given, and holds for all routes")
  } else if (most[[1L]] > limit) {
    message("drover: ", said, " holds for the router's routes, and `max_body` = ", size(limit), " for others")
  }
}

# Since 1.3.0 options of plumber may be set as variables of the environment, too.
plumber_option <- function(name, default) {
  plumber <- asNamespace("plumber")
  name <- paste0("plumber.", name)
  if (exists("get_option_or_env", plumber, inherits = FALSE)) return(plumber$get_option_or_env(name, default))
  getOption(name, default)
}
