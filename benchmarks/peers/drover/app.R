# The app of the scenarios for drover, served until the process is ended. Arguments: PORT STATIC_DIR, or only `loaded`
# to load all of it and serve nothing (what memory is compared with).

library(drover)

arguments <- commandArgs(trailingOnly = TRUE)

app <- dr_app()
dr_get(app, "/text", function(req) "Hello, world!")
dr_get(app, "/json", function(req) list(ok = TRUE))
dr_get(app, "/user/<id>", function(req) req$params[["id"]])
dr_post(app, "/post", function(req) {
  body <- req$json
  list(name = body$name, twice = body$x * 2)
})

if (identical(arguments, "loaded")) {
  repeat Sys.sleep(3600)
} else {
  dr_static(app, "/static", arguments[2])
  dr_serve(app, port = as.integer(arguments[1]), threads = 1L, block = TRUE)
}
