# {{name}}: `drover serve .`, then open http://127.0.0.1:8080 in two windows

library(drover)

app <- dr_app()

# Whoever is connected gets what anybody there says. The server holds rooms and connections, for all workers.
dr_ws(app, "/rooms/:room",
  on_connect = function(conn) dr_ws_join(conn, conn$params$room),
  on_message = function(conn, msg) dr_ws_broadcast(conn$params$room, msg)
)

# How many are in a room, over plain HTTP.
dr_get(app, "/rooms/:room/members", function(room) list(members = nrow(dr_ws_members(room))))

dr_get(app, "/", function(req) dr_file("page.html"))

app
