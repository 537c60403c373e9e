# What the engine is given of settings and apps, as JSON. Neighbours: settings-table.R; app-compile.R.

# What is sent by a zygote. The native writer is there at once, jsonlite would first have to be loaded.
app_json <- function(compiled, config) dr_to_json(app_fields(compiled, config), auto_unbox = TRUE)

# What the engine's own reader of the settings expects: whole numbers as such.
config_fields <- function(config) {
  # what is NULL is as if it had not been given
  config <- Filter(Negate(is.null), config)
  config$limits <- Filter(Negate(is.null), config$limits)
  table <- settings_table()
  lists <- intersect(names(config), table$Name[table$Kind %in% c("list", "lines")])
  config[lists] <- lapply(config[lists], as.list)
  whole <- setdiff(names(config$limits), table$Name[table$Kind == "seconds"])
  config$limits[whole] <- lapply(config$limits[whole], whole_number)
  config
}

# What it expects of an app: lists even when they have one element.
app_fields <- function(compiled, config) {
  tell_max_body(compiled$routes, config)
  fields <- list(
    routes = lapply(compiled$routes, function(route) {
      route$methods <- as.list(route$methods)
      with_usual(route, config)
    }),
    static = lapply(compiled$static, function(static) compact(static[c("mount", "dir", "links", "types")])),
    not_found = compiled$not_found %||% 0L,
    tasks = length(compiled$handlers) + 1L,
    errors = own_errors(compiled$error_form),
    pools = as.list(compiled$pools), policies = compiled$policies, openapi = served_openapi(compiled$app, config$docs)
  )
  # of a file: whether it has set timers; and of `drover mcp`
  fields$timers <- compiled$timers
  fields$mcp <- compiled$mcp
  fields
}
