# What a file, folder or expression that was given as an app is, told by its name and contents. Not for loading it:
# load-app.R.

# The kinds that may be asked for by name. "annotations" is a file of plumber that is read without the package. Others
# are told by what is in them: "shiny", "document" (R Markdown with Shiny) and "plumber2" (a _server.yml).
app_kinds <- c("auto", "script", "plumber", "annotations", "rds", "expression")

# Files that a folder is looked through for, the first that is there.
app_file_names <- c("_server.yml", "_server.yaml", "entrypoint.R", "plumber.R", "app.R", "server.R", "index.Rmd")

# list(kind, path), or list(kind = "expression", text). An entrypoint is a script that expects plumber.
find_app <- function(given, kind = "auto") {
  if (dir.exists(given)) {
    if (kind == "expression") stop_load("a folder is no expression")
    given <- file_in_folder(given)
  }
  if (kind == "expression" || (kind == "auto" && !file.exists(given) && is_expression(given))) {
    return(list(kind = "expression", text = given))
  }
  if (!file.exists(given)) {
    stop_load("it cannot be read: there is no such file, and it is no call such as pkg::make_app()")
  }
  if (is_settings_file(given)) {
    lines <- lines_of(given)
    if (engine_of_settings(given, lines) == "plumber2") return(list(kind = "plumber2", path = normalizePath(given)))
    given <- file_of_settings(given, lines)
  }
  list(kind = if (kind == "auto") kind_of_file(given) else kind, path = normalizePath(given))
}

file_in_folder <- function(folder) {
  there <- list.files(folder)
  found <- match(tolower(app_file_names), tolower(there))
  if (all(is.na(found))) {
    stop_load(
      "there is no app in this folder: looked for ", paste(app_file_names, collapse = ", "),
      if (length(there)) paste0("; found ", paste(first_of(there, 10L), collapse = ", ")) else "; it is empty"
    )
  }
  file.path(folder, there[[found[!is.na(found)][[1L]]]])
}

is_settings_file <- function(file) grepl("^_server[.]ya?ml$", basename(file), ignore.case = TRUE)

# For which server a _server.yml is written, which has these lines.
engine_of_settings <- function(settings, lines) {
  engine <- yaml_value(lines, "engine")
  right <- ": it must be plumber, plumber2 or drover"
  if (is.null(engine)) stop_load(basename(settings), " has no `engine`", right)
  if (!engine %in% c("plumber", "plumber2", "drover")) {
    stop_load(basename(settings), " is for the engine ", engine, ", which is not served", right)
  }
  if (engine == "plumber2" && !is_installed("plumber2")) stop_load(plumber2_problem(settings, lines))
  engine
}

# The file that it means.
file_of_settings <- function(settings, lines) {
  keys <- c("file", "routes", "constructor")
  named <- unlist(lapply(keys, yaml_value, lines = lines))
  folder <- dirname(settings)
  names <- if (length(named)) named[[1L]] else setdiff(app_file_names, c("_server.yml", "_server.yaml"))
  there <- file.path(folder, names)[file.exists(file.path(folder, names))]
  if (!length(there)) stop_load(basename(settings), ": there is no ", paste(names, collapse = ", "), " beside it")
  there[[1L]]
}

# Apps of plumber2 need that package: what was found, and how to go on.
plumber2_problem <- function(settings, lines) {
  routes <- yaml_words(lines, "routes")
  constructor <- yaml_value(lines, "constructor")
  named <- c(
    if (length(routes)) paste("routes:", paste(routes, collapse = ", ")),
    if (!is.null(constructor)) paste("constructor:", constructor)
  )
  there <- file.path(dirname(settings), routes)
  is_annotated <- function(file) file.exists(file) && !dir.exists(file) && has_annotations(lines_of(file))
  annotated <- routes[vapply(there, is_annotated, NA)]
  paste0(
    basename(settings), " is for the engine plumber2",
    if (length(named)) paste0(" (", paste(named, collapse = "; "), ")"),
    ", and the package 'plumber2' is not installed: install.packages(\"plumber2\")",
    if (length(annotated)) {
      paste0(". Annotations that plumber has, too, are served as its own: drover serve ", annotated[[1L]])
    }
  )
}

# The words of a key at the top of a file in YAML: one beside it, several in brackets, or one on each line below.
yaml_words <- function(lines, key) {
  at <- grep(paste0("^", key, "\\s*:"), lines)
  if (!length(at)) return(character())
  beside <- sub("^[^:]*:", "", lines[[at[[1L]]]])
  below <- lines[-seq_len(at[[1L]])]
  is_item <- grepl("^\\s*-\\s", below)
  items <- below[cumprod(is_item) == 1L]
  text <- c(strsplit(gsub("[][]", "", sub("\\s#.*$", "", beside)), ",")[[1L]], sub("^\\s*-\\s", "", items))
  words <- gsub("^[\"']|[\"']$", "", trimws(sub("\\s#.*$", "", text)))
  words[nzchar(words)]
}

# The value of a key at the top of a file in YAML, if it is a single word.
yaml_value <- function(lines, key) {
  pattern <- paste0("^", key, "\\s*:\\s*[\"']?([^\"'#\\s]+)[\"']?\\s*(#.*)?$")
  found <- regmatches(lines, regexec(pattern, lines, perl = TRUE))
  found <- found[lengths(found) > 0L]
  if (length(found)) found[[1L]][[2L]]
}

# One call, such as pkg::make_app().
is_expression <- function(text) {
  parsed <- tryCatch(parse(text = text, keep.source = FALSE), error = function(error) NULL)
  length(parsed) == 1L && is.call(parsed[[1L]]) && grepl("[(:]", text) && !identical(parsed[[1L]][[1L]], quote(`/`))
}

kind_of_file <- function(file) {
  if (grepl("[.]rds$", file, ignore.case = TRUE)) return("rds")
  if (grepl("^entrypoint[.]r$", basename(file), ignore.case = TRUE)) return("script")
  lines <- lines_of(file)
  if (grepl("[.]rmd$", file, ignore.case = TRUE)) return(kind_of_document(file, lines))
  words <- words_of(lines)
  if (makes_shiny(file, words)) return("shiny")
  if (has_annotations(lines) && !makes_app(words)) "plumber" else "script"
}

lines_of <- function(file) {
  tryCatch(readLines(file, warn = FALSE, encoding = "UTF-8"), error = function(error) character())
}

has_annotations <- function(lines) any(grepl(annotation, lines, perl = TRUE, useBytes = TRUE))

# A line that makes a file one of plumber's: what is above a function there.
annotation <- paste0(
  "^#['*]\\s*@(get|post|put|delete|head|options|patch|use|filter|assets|plumber|apiTitle|apiDescription)\\b"
)

# Whether code with these words makes an app by itself. Its comments may look like those of plumber all the same.
makes_app <- function(words) any(c("dr_app", "dr_serve", "dr_rook") %in% words)

# The names in code, none when it does not parse.
words_of <- function(lines) {
  all.names(tryCatch(parse(text = lines, keep.source = FALSE), error = function(error) NULL))
}

# Whether a file makes an app of Shiny, which it leaves to others to run. Of one that calls runApp(), that call is told.
makes_shiny <- function(file, words) {
  if (!grepl("[.]r$", file, ignore.case = TRUE)) return(FALSE)
  if (is_part_of_shiny(file)) return(TRUE)
  any(c("shinyApp", "shinyAppDir") %in% words) && !makes_app(words) && !"runApp" %in% words
}

# A document of R Markdown says in its header that its code runs in sessions of Shiny.
kind_of_document <- function(file, lines) {
  borders <- grep("^---\\s*$", lines)
  header <- if (length(borders) > 1L) lines[seq(borders[[1L]], borders[[2L]])]
  if (any(grepl("^shiny", c(yaml_value(header, "runtime"), yaml_value(header, "server"))))) return("document")
  stop_load(basename(file), " is no app: a document of R Markdown is one with `runtime: shiny` in its header")
}

is_part_of_shiny <- function(file) tolower(basename(file)) %in% c("server.r", "ui.r")
