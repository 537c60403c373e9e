# `drover openapi`: the description of an app, without serving it. Neighbours: command.R; openapi.R, which makes it.

# FILE [--kind KIND] --format FORMAT [--output OUTPUT].
command_openapi <- function(arguments) {
  output <- option_of(arguments, "--output")
  # the app's folder becomes the working directory
  if (!is.null(output)) output <- file.path(normalizePath(dirname(output), mustWork = FALSE), basename(output))
  text <- dr_openapi(load_for_command(arguments), option_of(arguments, "--format"))
  if (is.null(output)) {
    writeLines(text, sep = "", useBytes = TRUE)
    return(0L)
  }
  tryCatch(writeLines(text, output, sep = "", useBytes = TRUE), error = function(error) {
    stop_drover("file", paste0(output, " cannot be written: ", conditionMessage(error)), call = NULL)
  }, warning = function(warning) {
    stop_drover("file", paste0(output, " cannot be written: ", conditionMessage(warning)), call = NULL)
  })
  message("drover: wrote ", output)
  0L
}
