# The app that the WebSocket cases talk to, and Autobahn: it sends back each message as it came. It serves on a free
# port until it is ended. Settings of dr_serve() come as NAME=VALUE.

suppressPackageStartupMessages(library(drover))

app <- dr_app()
dr_get(app, "/ok", function(req) "ok")
# the longest message of the cases has 16 MB
dr_ws(app, "/echo", on_message = function(conn, msg, binary) dr_ws_send(conn, msg, binary),
  # a connection that the server should end is ended by no clock
  max_message = 32 * 1024^2, deflate = TRUE, ping_interval = 0)

settings <- list(workers = 1)
for (argument in strsplit(commandArgs(trailingOnly = TRUE), "=", fixed = TRUE)) {
  settings[[argument[1]]] <- as.numeric(argument[2])
}
do.call(dr_serve, c(list(app, port = 0L, block = TRUE), settings))
