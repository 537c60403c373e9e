# A service of several apps: each can be written and tested alone, and is mounted below a path.

library(drover)

# A counter that any app can have at hand; `name` keeps them apart.
counter_app <- function(name) {
  count <- 0L
  app <- dr_app()
  dr_get(app, "/", function(req) list(name = name, count = count))
  dr_post(app, "/", function(req) {
    count <<- count + 1L
    list(name = name, count = count)
  })
  app
}

# An app with a middleware and an error handler of its own: they are for its routes only.
admin <- dr_app()
dr_use(admin, function(req, nxt) {
  if (!identical(dr_header(req, "x-admin"), "yes")) dr_abort(403)
  nxt()
})
dr_on_error(admin, function(req, err) {
  dr_text(paste0("admin: ", conditionMessage(err), "\n"), status = if (is.null(err$status)) 500L else err$status)
})
dr_get(admin, "/users/<id:int>", function(req) list(tenant = dr_param(req, "tenant"), id = req$params$id))

app <- dr_app()
dr_get(app, "/", function(req) "front page\n")
dr_mount(app, "/visits", counter_app("visits"))
dr_mount(app, "/likes", counter_app("likes"))

# A prefix may have placeholders; their values are with those of the route.
dr_mount(app, "/admin/:tenant", admin)

print(app)
dr_serve(app, port = as.integer(Sys.getenv("PORT", "8080")), block = TRUE)
