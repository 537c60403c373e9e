# Files with an app of Shiny: one that ends in shinyApp(), one for the page and one for the server, or a document. Shiny
# reads them by itself, with the folders `R` and `www` beside them. Neighbours: load-kind.R, which tells what such a
# file is; rook-shiny.R, what becomes of the app.

load_shiny <- function(file) {
  check_shiny()
  attach_shiny()
  is_folder <- is_part_of_shiny(file)
  files <- if (is_folder) list.files(dirname(file), "^(ui|server|global)[.]r$", ignore.case = TRUE) else basename(file)
  # Shiny does not say where a file does not parse
  for (one in files) parse_file(file.path(dirname(file), one))
  load_by(
    withCallingHandlers(shiny::as.shiny.appobj(if (is_folder) dirname(file) else file), warning = function(warning) {
      tell_warning(paste0(basename(file), ": ", load_problem(warning)), warning)
    })
  )
}

# A document of R Markdown whose code runs in sessions: rmarkdown makes an app of it, and runs that.
load_document <- function(file) {
  check_shiny()
  if (!is_installed("rmarkdown")) {
    stop_load("it is a document, and the package 'rmarkdown' is not installed: install.packages(\"rmarkdown\")")
  }
  attach_shiny()
  # a changed file is a matter of `drover dev`
  load_by(rmarkdown::run(file, auto_reload = FALSE))
}

# In the place of shiny::runApp().
run_shiny_app <- function(appDir = getwd(), ...) {
  register_app(as_app(shiny::as.shiny.appobj(appDir)), NULL, NULL, ...names(), "runApp()")
}
