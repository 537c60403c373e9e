# Files that handlers choose or make: the engine reads and sends them, in ranges where the client asks for that.

library(drover)

folder <- tempfile("reports-")
dir.create(folder)
write.csv(head(mtcars, 3), file.path(folder, "cars.csv"))
writeLines(c("line one", "line two"), file.path(folder, "notes.txt"))

# A name from a client is looked up among the files there are; it is never pasted into a path.
report <- function(req) {
  name <- dr_param(req, "name")
  if (!name %in% list.files(folder)) dr_abort(404, "there is no such report")
  file.path(folder, name)
}

app <- dr_app()

# Shown by the browser; the type is that of the extension.
dr_get(app, "/reports/:name", function(req) dr_file(report(req)))

# Saved by the browser, under a name that the handler chooses.
dr_get(app, "/download/:name", function(req) dr_file(report(req), download_as = paste("Report", dr_param(req, "name"))))

# Drawn for this request.
dr_get(app, "/plot.png", function(req) {
  dr_png({
    par(mar = rep(0, 4))
    image(matrix(c(0, 1), 64, 64), axes = FALSE)
  }, width = 64, height = 64)
})

# Made for this request, and removed when it is sent.
dr_get(app, "/cars.rds", function(req) {
  file <- tempfile(fileext = ".rds")
  saveRDS(cars, file)
  dr_file(file, download_as = "cars.rds", delete = TRUE)
})

# A data frame as CSV.
dr_get(app, "/cars.csv", function(req) {
  lines <- capture.output(write.csv(mtcars[1:2, 1:3], quote = FALSE))
  dr_text(paste0(lines, "\n", collapse = ""), headers = list("Content-Type" = "text/csv; charset=utf-8"))
})

dr_serve(app, port = as.integer(Sys.getenv("PORT", "8080")), block = TRUE)
