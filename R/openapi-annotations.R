# What annotations of plumber say for documentation, in a file that is read without the package: a description as
# plumber's own would be. Neighbours: annotations.R, which reads the rest; openapi-plumber.R.

# What a block says: comments (the first line is the summary), params (by name: type, array, required, description),
# responses (descriptions by status) and tags.
annotated_about <- function(block) {
  texts <- function(tag) block$text[block$tag == tag]
  list(
    comments = Filter(nzchar, texts("")), params = do.call(c, lapply(texts("param"), annotated_param)),
    responses = do.call(c, lapply(texts("response"), annotated_text, "^(\\w+)\\s+(\\S.*)$")),
    tags = vapply(regmatches(texts("tag"), regexpr("\"[^\"]+\"|'[^']+'|\\S+", texts("tag"))), unquoted, "",
      USE.NAMES = FALSE)
  )
}

unquoted <- function(text) gsub("^[\"']|[\"']$", "", text)

# A text by the name before it, a list; NULL where that is not its form.
annotated_text <- function(text, form) {
  parts <- regmatches(text, regexec(form, text, perl = TRUE))[[1L]]
  if (length(parts)) one_named(unquoted(parts[[2L]]), parts[[3L]])
}

# "name:type* what it is": the star says that it must be there, and [type] that there may be several.
annotated_param <- function(text) {
  parts <- regmatches(text, regexec("^([^\\s:*]+):?([^\\s*]+)?([*])?(?:\\s+(.*))?$", text, perl = TRUE))[[1L]]
  if (!length(parts)) return(NULL)
  type <- sub("^\\[(.*)\\]$", "\\1", parts[[3L]])
  one_named(parts[[2L]], list(
    type = api_type(type), array = type != parts[[3L]], required = nzchar(parts[[4L]]), description = parts[[5L]]
  ))
}

# As OpenAPI has it, "" for none.
api_type <- function(type) {
  known <- c(type_names, list = "object", data.frame = "object", df = "object", object = "object", file = "file",
    binary = "file")
  found <- known[type]
  if (is.na(found)) "" else found[[1L]]
}

# What @apiTitle and the like say, wherever they are: list(info, tags). `envir`: where list(...) is evaluated.
annotated_globals <- function(lines, envir) {
  lines <- regmatches(lines, regexec("^#['*]\\s*(?:@([A-Za-z]+)\\s*)?(.*?)\\s*$", lines, perl = TRUE))
  about <- list(info = list(), tags = list())
  told <- NULL
  for (parts in c(lines, list(character()))) {
    # a comment below goes on with it
    if (length(parts) && !nzchar(parts[[2L]])) {
      if (!is.null(told)) told$text <- paste(told$text, parts[[3L]])
      next
    }
    if (!is.null(told)) about <- annotated_global(about, told$tag, trimws(told$text), envir)
    told <- if (length(parts) && startsWith(parts[[2L]], "api")) list(tag = parts[[2L]], text = parts[[3L]])
  }
  about
}

annotated_global <- function(about, tag, text, envir) {
  field <- c(
    apiTitle = "title", apiDescription = "description", apiTOS = "termsOfService", apiContact = "contact",
    apiLicense = "license", apiVersion = "version"
  )[tag]
  if (tag == "apiTag") {
    told <- annotated_text(text, "^(\"[^\"]+\"|'[^']+'|\\S+)\\s+(\\S.*)$")
    if (!is.null(told)) about$tags <- c(about$tags, list(list(name = names(told), description = told[[1L]])))
  } else if (!is.na(field) && nzchar(text)) {
    is_list <- field %in% c("contact", "license") && startsWith(text, "list(")
    about$info[[field]] <- if (is_list) eval(str2lang(text), envir) else text
  }
  about
}

# As OpenAPI has it, in the way of plumber.
annotated_description <- function(app) {
  globals <- app$annotated_globals
  info <- utils::modifyList(
    list(title = "API Title", description = "API Description", version = "1.0.0"), globals$info
  )
  paths <- list()
  for (endpoint in app$annotated_endpoints) {
    path <- gsub("<([^:>]+)(:[^>]+)?>", "{\\1}", endpoint$path)
    for (verb in tolower(endpoint$verbs)) {
      if (is.null(paths[[path]][[verb]])) paths[[path]][[verb]] <- annotated_operation(endpoint, verb)
    }
  }
  list(info = info, tags = globals$tags, paths = paths)
}

annotated_operation <- function(endpoint, verb) {
  about <- endpoint$about
  arguments <- formals(endpoint$fn)
  arguments <- arguments[!names(arguments) %in% c("req", "res", "...")]
  names <- unique(c(names(about$params), endpoint$regex$names, names(arguments)))
  params <- lapply(with_names(names, names), annotated_parameter, endpoint = endpoint)
  in_body <- vapply(params, function(param) param$type %in% c("object", "file"), NA)
  responses <- lapply(about$responses, function(text) list(description = text))
  if (is.null(responses[["200"]])) responses <- c(list("200" = list(description = "OK")), responses)
  type <- endpoint$serializer$type
  if (!is.null(type)) {
    schema <- if (startsWith(type, "text/")) list(type = "string") else no_members
    responses[["200"]]$content <- one_named(bare_type(type), list(schema = schema))
  }
  if (is.null(responses[["500"]])) responses[["500"]] <- list(description = status_phrase(500L))
  if (is.null(responses$default)) responses$default <- list(description = "Default response.")
  list(
    summary = about$comments[1L][length(about$comments) > 0L],
    description = paste(about$comments[-1L], collapse = "\n"),
    tags = some(as.list(about$tags)), parameters = some(unname(lapply(params[!in_body], `[[`, "parameter"))),
    requestBody = annotated_request_body(params[in_body]), responses = responses
  )
}

# list(type, required, description, schema, parameter).
annotated_parameter <- function(name, endpoint) {
  said <- endpoint$about$params[[name]]
  at <- match(name, endpoint$regex$names)
  given <- formals(endpoint$fn)[name]
  is_formal <- !is.na(names(given))
  default <- if (is_formal) argument_default(given[[1L]], endpoint$fn)
  type <- c(if (!is.na(at)) endpoint$regex$types[[at]], said$type, api_type(typeof(default)), "string")
  type <- type[nzchar(type)][[1L]]
  array <- isTRUE(said$array) || length(default) > 1L || (!is.na(at) && isTRUE(endpoint$regex$areArrays[[at]]))
  required <- !is.na(at) || if (is_formal) is_empty_symbol(given[[1L]]) else isTRUE(said$required)
  value <- compact(list(type = if (type == "file") "string" else type, format = api_formats[[type]]))
  schema <- if (array) list(type = "array", items = value) else value
  schema$default <- default
  where <- if (is.na(at)) "query" else "path"
  style <- if (array) list(style = c(query = "form", path = "simple")[[where]], explode = where == "query")
  list(
    type = type, required = required, schema = schema, description = said$description,
    parameter = c(parameter(where, name, schema, required, said$description), style)
  )
}

# What plumber says of types beside their names.
api_formats <- list(integer = "int64", number = "double", file = "binary")

# Of an argument that has no default.
is_empty_symbol <- function(x) is.symbol(x) && !nzchar(x)

# That of an argument, as far as OpenAPI can tell it; NULL for none.
argument_default <- function(default, fn) {
  if (is_empty_symbol(default)) return(NULL)
  value <- tryCatch(eval(default, environment(fn)), error = function(error) NULL)
  if (is.atomic(value) && length(value) && !anyNA(value) && !is.raw(value) && !is.complex(value)) unname(value)
}

annotated_request_body <- function(params) {
  if (!length(params)) return(NULL)
  properties <- lapply(params, function(param) {
    c(param$schema, if (length(param$description) && nzchar(param$description)) list(description = param$description))
  })
  needed <- names(params)[vapply(params, `[[`, NA, "required")]
  is_file <- any(vapply(params, `[[`, "", "type") == "file")
  schema <- c(list(type = "object", properties = properties), if (length(needed)) list(required = as.list(needed)))
  list(content = one_named(if (is_file) "multipart/form-data" else "application/json", list(schema = schema)))
}
