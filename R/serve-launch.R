# How a platform that knows nothing of this package starts a server: by the function that it looks for in the package
# that _server.yml names. Neighbours: serve-file.R, which does it; load-kind.R, which reads _server.yml.

#' Start what a _server.yml describes
#'
#' Platforms that host R services, such as Posit Connect, look into the file `_server.yml` of a project for the package
#' that serves it (`engine: drover`), and call this function of that package. To start a server yourself use
#' [dr_run()] or `drover serve`.
#'
#' `engine: plumber` is served as well. The file of the app is the one that the key `file` names, or else
#' `entrypoint.R`, `plumber.R` or `app.R` beside it.
#'
#' Further keys with the names of arguments of [dr_run()] that are settings, such as `workers: [2, 4]` or
#' `base_path_field: X-Forwarded-Prefix`, are those arguments, unless the platform gives them: each a word, or several
#' in brackets. Other keys are for other programs.
#'
#' @param settings The path of a `_server.yml`, or of the folder that has it: a single string.
#' @param host The address to listen on: a single string, or `NULL` for that of [dr_run()].
#' @param port The port: a single integer, or `NULL` for that of [dr_run()].
#' @param ... Further arguments of [dr_run()].
#' @returns `NULL`, invisibly, when the server has ended.
#' @section Errors: Those of [dr_run()]; `drover_error_argument` when there is no such file.
#' @seealso [dr_run()]
#' @examples
#' folder <- tempfile("service-")
#' dir.create(folder)
#' writeLines(c("engine: drover", "file: api.R"), file.path(folder, "_server.yml"))
#' writeLines(c("app <- dr_app()", "dr_get(app, '/', function(req) 'Hello')"), file.path(folder, "api.R"))
#' launch_server(file.path(folder, "_server.yml"), port = 0L, block = FALSE)
#' dr_stop()
#' unlink(folder, recursive = TRUE)
#' @export
launch_server <- function(settings = "_server.yml", host = NULL, port = NULL, ...) {
  call <- sys.call()
  check_string(settings, "settings", call = call)
  if (!file.exists(settings)) stop_argument("settings", "the path of a _server.yml that exists", settings, call)
  given <- utils::modifyList(settings_in(settings), list(...))
  given$host <- host
  # platforms may have it as text
  given$port <- if (is_string(port) && grepl("^[0-9]{1,5}$", port)) as.integer(port) else port
  invisible(do.call(dr_run, c(list(settings), given)))
}

# The settings that a _server.yml has, by their names.
settings_in <- function(file) {
  if (dir.exists(file)) file <- file_in_folder(file)
  if (!is_settings_file(file)) return(list())
  lines <- readLines(file, warn = FALSE, encoding = "UTF-8")
  table <- settings_table()
  names <- c(settings_of("serving"), "workers")
  words <- with_names(lapply(names, function(name) yaml_words(lines, name)), names)
  words <- words[lengths(words) > 0L]
  is_text <- table[names(words), "Kind"] %in% c("text", "list", "lines", "choice", "target", "paths")
  words[!is_text] <- lapply(words[!is_text], as_value)
  words
}

# Words of YAML as what they say: flags, numbers, or else strings.
as_value <- function(words) {
  if (all(words %in% c("true", "false"))) as.logical(words) else utils::type.convert(words, as.is = TRUE)
}
