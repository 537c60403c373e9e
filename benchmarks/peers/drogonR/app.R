# The app of the scenarios for drogonR. Arguments: PORT STATIC_DIR.

library(drogonR)

arguments <- commandArgs(trailingOnly = TRUE)

app <- dr_app()
dr_get(app, "/text", function(req) "Hello, world!")
dr_get(app, "/json", function(req) dr_json(list(ok = TRUE)))
dr_get(app, "/user/<id>", function(req) req$params[["id"]])
dr_post(app, "/post", function(req) {
  body <- dr_body(req, "json")
  dr_json(list(name = body$name, twice = body$x * 2))
})
dr_static(app, "/static", arguments[2])

dr_serve(app, port = as.integer(arguments[1]), threads = 1L)
repeat later::run_now(timeoutSecs = 3600)
