# The handlers of plumber.R, in drover's own API.

library(drover)

app <- dr_app()
dr_get(app, "/ping", function(req) dr_json(list(ok = TRUE, time = "now"), auto_unbox = FALSE))
dr_get(app, "/ping-text", function(req) "pong")
