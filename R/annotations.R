# A plumber.R read without the package 'plumber': endpoints, their serializers and parsers, as far as annotation-app.R
# serves them. What needs plumber is an error with its line. Neighbours: load-plumber.R, for when it is installed;
# load-without-plumber.R.

# list(endpoints, hooks) of a file: what endpoints_of() gives, in order, and worker_hooks_in(). Its code is evaluated in
# an environment of its own.
read_annotations <- function(file) {
  expressions <- parse_file(file)
  lines <- readLines(file, warn = FALSE, encoding = "UTF-8")
  unknown <- unknown_annotations(lines, expressions)
  if (nrow(unknown)) stop_at_line(unknown$line[[1L]], unknown$problem[[1L]])
  warn_of_plumber(expressions, file)
  envir <- new.env(parent = globalenv())
  skipped <- FALSE
  put_before_base(loaders_without_plumber(function() skipped <<- TRUE))
  on.exit(clear_before_base())
  endpoints <- list()
  for (i in seq_along(expressions)) {
    starts_at <- attr(expressions, "srcref")[[i]][[1L]]
    block <- block_above(lines, starts_at)
    value <- tryCatch(
      withCallingHandlers(eval(expressions[[i]], envir), warning = function(warning) {
        tell_warning(sprintf("%s, line %d: %s", basename(file), starts_at, load_problem(warning)), warning)
      }),
      error = function(error) {
        stop_load(sprintf("line %d: ", starts_at), load_problem(error), plumber_hint(error, skipped, envir))
      }
    )
    came_from(file, starts_at)
    endpoints <- c(endpoints, endpoints_of(block, value, envir))
  }
  list(endpoints = endpoints, hooks = worker_hooks_in(expressions, lines, envir))
}

stop_at_line <- function(line, ...) stop_load(sprintf("line %d: ", line), ...)

needs_plumber <- function(line, what) {
  stop_at_line(line, what, " needs ", how_to_have_plumber())
}

# What is in none of plumber's lists may be the file's own, which needs plumber as well.
needs_plumber_or_name <- function(line, name, what, names) {
  if (name %in% names || is.null(nearest(name, names))) needs_plumber(line, paste("the", what, name))
  stop_at_line(line, unknown_name(name, paste("is no", what, "of plumber"), names))
}

# One endpoint for each line with a path.
endpoints_of <- function(block, fn, envir) {
  about <- annotated_about(block)
  block <- block[!block$tag %in% c("", annotated_docs, roxygen_names, names(annotated_hooks)), ]
  paths <- block[block$tag %in% names(annotated_verbs), ]
  how <- block[!block$tag %in% names(annotated_verbs), ]
  for (i in seq_len(nrow(how))) {
    if (!how$tag[[i]] %in% c("serializer", "json", "html", "parser", "contentType")) {
      needs_plumber(how$line[[i]], paste0("@", how$tag[[i]]))
    }
  }
  if (!nrow(paths)) return(list())
  if (!is.function(fn)) stop_at_line(paths$line[[1L]], "below it must be a function, not ", describe(fn))
  serializer <- annotated_serializer(how, envir)
  parsers <- annotated_parsers(how)
  lapply(seq_len(nrow(paths)), function(i) {
    if (!nzchar(paths$text[[i]])) stop_at_line(paths$line[[i]], "#* @", paths$tag[[i]], " names no path")
    path <- sub("^/?", "/", paths$text[[i]])
    list(
      verbs = annotated_verbs[[paths$tag[[i]]]], path = path, regex = annotated_regex(path, fn), fn = fn, envir = envir,
      serializer = serializer, parsers = parsers, about = about
    )
  })
}

annotated_serializer <- function(how, envir) {
  how <- how[how$tag %in% c("serializer", "json", "html"), ]
  if (!nrow(how)) return(own_serializer("json", list()))
  line <- how$line[[1L]]
  if (nrow(how) > 1L) stop_at_line(how$line[[2L]], "a second serializer for one function")
  given <- if (how$tag == "serializer") how$text else paste(how$tag, sub("^[(](.*)[)]$", "list(\\1)", how$text))
  alias <- sub("\\s.*$", "", given)
  text <- trimws(substring(given, nchar(alias) + 1L))
  arguments <- tryCatch(
    if (nzchar(text)) eval(str2lang(text), envir) else list(),
    error = function(error) stop_at_line(line, "the arguments of the serializer: ", conditionMessage(error))
  )
  serializer <- own_serializer(alias, arguments)
  if (is.null(serializer)) needs_plumber_or_name(line, alias, "serializer", serializer_names)
  serializer
}

# Names of own parsers; NULL for the default ones.
annotated_parsers <- function(how) {
  how <- how[how$tag == "parser", ]
  for (i in seq_len(nrow(how))) {
    if (!how$text[[i]] %in% c("json", "form", "text", "octet", "none")) {
      needs_plumber_or_name(how$line[[i]], how$text[[i]], "parser", parser_names)
    }
  }
  if (nrow(how)) how$text else c("json", "form", "text", "octet")
}

# What the types of placeholders match, and become.
annotated_types <- list(
  boolean = list(regex = "[01tfTF]|true|false|TRUE|FALSE", read = as.logical),
  number = list(regex = "-?\\d*\\.?\\d+", read = as.numeric),
  integer = list(regex = "-?\\d+", read = as.integer),
  string = list(regex = "[^/]+", read = as.character)
)

# list(names, types, areArrays, regex, converters), as a router of plumber has it.
annotated_regex <- function(path, fn) {
  found <- gregexpr("(?<=/)<([.]?[a-zA-Z][\\w.]*)(:[^>]*)?>", path, perl = TRUE)
  slots <- regmatches(path, found)[[1L]]
  if (!length(slots)) return(list(names = character(), types = NULL, regex = paste0("^", path, "$")))
  names <- sub("^<([^:>]*).*$", "\\1", slots)
  told <- sub("^<[^:>]*:?(.*)>$", "\\1", slots)
  shapes <- Map(function(name, told) placeholder_shape(told, formals(fn)[[name]], name %in% names(formals(fn)), fn),
    names, told)
  types <- vapply(shapes, `[[`, "", "type", USE.NAMES = FALSE)
  arrays <- vapply(shapes, `[[`, NA, "array", USE.NAMES = FALSE)
  regex <- vapply(annotated_types[types], `[[`, "", "regex")
  regmatches(path, found) <- list(ifelse(arrays, paste0("((?:(?:", regex, "),?)+)"), paste0("(", regex, ")")))
  readers <- lapply(annotated_types[types], `[[`, "read")
  converters <- Map(function(read, array) {
    if (array) function(x) read(strsplit(paste0(x, ","), ",", fixed = TRUE)[[1L]]) else read
  }, unname(readers), arrays)
  list(names = names, types = types, areArrays = arrays, regex = paste0("^", path, "$"), converters = converters)
}

# Its type as the path says, or else that of the argument's default.
placeholder_shape <- function(told, default, is_formal, fn) {
  array <- grepl("^\\[.*\\]$", told)
  type <- type_names[sub("^\\[(.*)\\]$", "\\1", told)]
  if (!is.na(type)) return(list(type = type[[1L]], array = array))
  if (nzchar(told)) warning("Unrecognized type: ", told, ". Using type: string", call. = FALSE)
  value <- if (is_formal) tryCatch(eval(default, environment(fn)), error = function(error) NA) else NA
  if (is.null(value) || anyNA(value)) return(list(type = "string", array = array))
  type <- type_names[typeof(value)]
  list(type = if (is.na(type)) "string" else type[[1L]], array = array || length(value) > 1L)
}
