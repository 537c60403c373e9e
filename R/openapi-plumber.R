# What routers of the package 'plumber' say of themselves, brought to OpenAPI 3.1; and files with its annotations, see
# openapi-annotations.R. Neighbours: openapi.R; plumber-app.R, which serves them.

# The description of an app that is no app of this package, or NULL.
foreign_description <- function(app) {
  if (is_plumber(app$source)) return(as_openapi_31(without_docs(app$source$getApiSpec(), app$has_docs)))
  if (!is.null(app$annotated)) return(as_openapi_31(annotated_description(app)))
}

# Without the paths of plumber's own page, which it adds to the router while it serves.
without_docs <- function(spec, has_docs) {
  if (isTRUE(has_docs)) spec$paths <- spec$paths[!grepl("^/(openapi[.]json|__[a-z]+__/.*)$", names(spec$paths))]
  spec
}

# What it has to say of the whole, by the names that dr_about() has.
foreign_about <- function(spec) {
  info <- spec$info
  compact(list(
    title = info$title, version = info$version, description = info$description, summary = info$summary,
    terms = info$termsOfService, contact = info$contact, license = info$license, servers = spec$servers,
    security = spec$security, externalDocs = spec$externalDocs
  ))
}

openapi_methods <- c("get", "put", "post", "delete", "options", "head", "patch")

# Its operations as routes, see described(). Paths that this package has no pattern for are left out.
foreign_routes <- function(spec, prefix) {
  routes <- Map(function(item, path) {
    names <- placeholders_in(path)
    taken <- gsub("[^A-Za-z0-9_]", "_", sub("^[^A-Za-z_]", "_", names))
    for (i in seq_along(names)) {
      path <- sub(paste0("{", names[[i]], "}"), paste0("{", taken[[i]], "}"), path, fixed = TRUE)
    }
    full <- join_path(prefix, path)
    if (is.character(.Call(C_pattern_parse, enc2utf8(full)))) return(list())
    added <- lapply(placeholders_in(prefix), function(name) {
      parameter("path", name, placeholder_schemas$str, required = TRUE, description = NULL)
    })
    lapply(intersect(openapi_methods, names(item)), function(method) {
      fields <- item[[method]]
      parameters <- renamed(c(item$parameters, fields$parameters), names, taken)
      fields$parameters <- some(c(added, parameters))
      id <- fields$operationId
      fields$operationId <- NULL
      if (!length(fields$responses)) fields$responses <- list(default = list(description = "The answer."))
      list(method = method, path = full, operation = list(fields = fields, id = id))
    })
  }, spec$paths, names(spec$paths))
  unlist(unname(routes), recursive = FALSE)
}

placeholders_in <- function(path) {
  found <- regmatches(path, gregexpr("[{][^}]*[}]|<[^>]*>", path))[[1L]]
  sub(":.*$", "", substring(found, 2L, nchar(found) - 1L))
}

# A description of version 3.0 or 3.1, as R lists, in the form of 3.1: what OpenAPI wants as an array or object is one,
# and what is empty or NULL is not there.
as_openapi_31 <- function(spec) {
  spec <- in_31(spec)
  if (is.character(spec$info$contact)) spec$info$contact <- list(name = spec$info$contact)
  if (is.character(spec$info$license)) spec$info$license <- list(name = spec$info$license)
  spec
}

# Values of users, which are not looked into.
values_of_users <- c("example", "default", "const", "value")
# Arrays, also of one element.
always_arrays <- c("required", "tags", "enum", "examples", "allOf", "anyOf", "oneOf")

in_31 <- function(x, key = "") {
  if (key %in% values_of_users || startsWith(key, "x-")) return(x)
  if (!is.list(x)) {
    is_array <- key %in% always_arrays && is.atomic(x) && !is.null(x) && !is.logical(x)
    return(if (is_array) as.list(unname(x)) else x)
  }
  if (is.null(names(x))) return(lapply(unname(x), in_31))
  x <- Map(in_31, x, names(x))
  is_empty <- vapply(x, function(one) is.null(one) || (is.character(one) && !any(nzchar(one))), NA)
  x <- x[!is_empty]
  for (bound in c("Minimum", "Maximum")) x <- exclusive_bound(x, paste0("exclusive", bound), tolower(bound))
  if (is.logical(x$nullable)) {
    if (isTRUE(x$nullable) && is.character(x$type)) x$type <- c(x$type, "null")
    x$nullable <- NULL
  }
  if (length(x)) x else no_members
}

# In 3.0 `exclusiveMinimum` says of `minimum` that it is not allowed itself; in 3.1 it is the bound.
exclusive_bound <- function(x, exclusive, bound) {
  if (!is.logical(x[[exclusive]])) return(x)
  if (isTRUE(x[[exclusive]]) && is.numeric(x[[bound]])) {
    x[[exclusive]] <- x[[bound]]
    x[[bound]] <- NULL
  } else {
    x[[exclusive]] <- NULL
  }
  x
}
