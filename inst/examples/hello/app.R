# The smallest app: text, a path parameter, a query, and JSON.
#   Rscript app.R, then open http://127.0.0.1:8080

library(drover)

app <- dr_app()

# A string is sent as text.
dr_get(app, "/", function(req) "Hello, world!\n")

# `:name` takes one segment of the path.
dr_get(app, "/hello/:name", function(req) {
  greeting <- dr_query(req, "greeting")
  if (is.null(greeting)) greeting <- "Hello"
  paste0(greeting, ", ", dr_param(req, "name"), "!\n")
})

# A list is sent as JSON.
dr_get(app, "/status", function(req) list(ok = TRUE, r = paste(R.version$major, R.version$minor, sep = ".")))

dr_serve(app, port = as.integer(Sys.getenv("PORT", "8080")), block = TRUE)
