# An API that pages of other origins use: with cookies by the site's own pages, and without by anybody's.

library(drover)

app <- dr_app()
dr_get(app, "/account", function(req) list(user = dr_cookie(req, "user")))
dr_put(app, "/account", function(req) req$json)

# The site has several sub-domains; a page on the developer's machine is let in as well.
dr_cors(app, c("https://*.example.org", "http://localhost:3000"), credentials = TRUE, expose = "X-Total")

# What is below a mount can have another policy.
public <- dr_app()
dr_get(public, "/stations", function(req) {
  dr_set_header(dr_json(c("north", "south")), "X-Total", "2")
})
dr_cors(public, "*", expose = "*")
dr_mount(app, "/public", public)

dr_serve(app, port = as.integer(Sys.getenv("PORT", "8080")), block = TRUE)
