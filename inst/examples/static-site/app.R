# A folder of files, and one route beside it. Files are served by the engine: R takes no part.

library(drover)

# Where this file is, so that the folder is found from any working directory.
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1L]))

app <- dr_app()

# /site/ is index.html; /site/css/style.css is that file; nothing outside the folder is reachable.
dr_static(app, "/site", file.path(here, "site"))

dr_get(app, "/", function(req) dr_redirect("/site/"))
dr_get(app, "/api/time", function(req) list(time = format(Sys.time(), "%H:%M:%S")))

dr_serve(app, port = as.integer(Sys.getenv("PORT", "8080")), block = TRUE)
