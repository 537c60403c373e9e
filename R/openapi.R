# The description of an app as an API, by OpenAPI 3.1: one list for all that it answers. Not for serving it: that is the
# engine's (src/rust/crates/engine/src/edge/docs.rs). Neighbours: about.R (title, version), openapi-operations.R (a
# route), openapi-security.R (authentication), openapi-errors.R, openapi-plumber.R (what plumber says of its endpoints).

#' Describe an app by OpenAPI
#'
#' The description of what an app answers, by OpenAPI 3.1: paths and methods, params, bodies, responses, authentication
#' and errors. It is made of what the app has registered: placeholders of paths, the types, summaries and tags of
#' [dr_get()] and its kin, [dr_about()], and policies that cover a path, such as [dr_auth_jwt()] and [dr_rate_limit()].
#' A server has it at `/openapi.json` and `/openapi.yaml`, and a page of documentation at `/__docs__/`, see `docs` of
#' [dr_serve()]; `drover openapi FILE` writes it without serving.
#'
#' Left out are WebSockets, which OpenAPI does not know, static files, and the paths that are hidden by [dr_about()]. Of
#' routes whose paths differ only in the names or types of placeholders, OpenAPI can tell no two: the first one of a
#' method is described. Of a route without types, what it returns is not known, and nothing is claimed of it.
#'
#' A router of the package 'plumber' says itself what it answers (`pr$getApiSpec()`), which is brought to OpenAPI 3.1. A
#' file with its annotations that is read without the package is described by the same annotations.
#'
#' @param app An app, see [dr_app()], or what [dr_serve()] takes besides.
#' @param format `"list"`, `"json"` or `"yaml"`.
#' @returns A list, which [dr_to_json()] writes with `auto_unbox = TRUE`; or the text: a single string.
#' @section Errors: `drover_error_argument` when an argument is not as described.
#' @seealso [dr_about()]
#' @examples
#' app <- dr_app()
#' dr_about(app, "Squares", "1.0.0")
#' dr_get(app, "/square/<n:int>", function(req) list(square = req$params$n^2))
#' names(dr_openapi(app)$paths)
#' cat(dr_openapi(app, "yaml"))
#' @export
dr_openapi <- function(app, format = c("list", "json", "yaml")) {
  app <- as_app(app)
  format <- check_choice(format, "format", c("list", "json", "yaml"))
  spec <- openapi(app)
  switch(format,
    list = spec, json = paste0(dr_to_json(spec, auto_unbox = TRUE, pretty = 2), "\n"),
    yaml = yaml_of(openapi_json(spec))
  )
}

# What the engine is told: list(json), or list(problem) for its log; nothing where no one is to have it. `docs`: the
# setting.
served_openapi <- function(app, docs) {
  if (docs == "false" || !is_describable(app, docs)) return(no_members)
  tryCatch({
    spec <- openapi(app)
    list(json = openapi_json(spec), has_servers = length(spec$servers) > 0L)
  }, error = function(error) {
    list(problem = paste0("there is no description of the app at /openapi.json: ", valid_text(conditionMessage(error))))
  })
}

# Not for an app that takes all paths and declares none, nor, unless it was asked for, for a router of plumber that has
# a page of its own or was run without one.
is_describable <- function(app, docs) {
  is_unknown <- !is.null(app$rest) && !is_plumber(app$source) && is.null(app$annotated)
  if (is_unknown || (docs == "auto" && (isTRUE(app$has_docs) || isFALSE(app$run$docs)))) return(FALSE)
  at_root <- Filter(function(mount) !nzchar(mount$prefix), app$mounts)
  all(vapply(at_root, function(mount) is_describable(mount$app, docs), NA))
}

openapi_json <- function(spec) dr_to_json(spec, auto_unbox = TRUE)

yaml_of <- function(json) .Call(C_yaml, json)

# The version that tools know best.
openapi_version <- "3.1.0"

# The whole description.
openapi <- function(app) {
  found <- described(app)
  operations <- operations_of(found$routes, found$hidden)
  guards <- guards_of(app_policies(app), operations)
  operations <- Map(guarded, operations, guards$security, guards$errors)
  used <- unique(unlist(lapply(operations, `[[`, "errors"), use.names = FALSE))
  has_form <- !is.null(app$on_error)
  about <- app$about
  own <- found$about
  given <- function(name, otherwise = NULL) about[[name]] %||% own[[name]] %||% otherwise
  info <- list(
    title = given("title", "API"), summary = given("summary"), description = given("description"),
    termsOfService = given("terms"), contact = given("contact"), license = given("license"),
    version = given("version", "0.0.0")
  )
  tags <- c(about$tags, found$tags)
  compact(list(
    openapi = openapi_version, info = compact(info), servers = given("servers"), security = own$security,
    tags = some(tags[!duplicated(vapply(tags, `[[`, "", "name"))]), paths = paths_of(operations),
    components = some(merge_components(error_components(used, has_form, guards$schemes), found$components)),
    externalDocs = own$externalDocs
  ))
}

# Of two components of a kind and name, theirs stays.
merge_components <- function(ours, theirs) {
  kinds <- union(names(theirs), names(ours))
  both <- lapply(kinds, function(kind) {
    new <- setdiff(names(ours[[kind]]), names(theirs[[kind]]))
    c(theirs[[kind]], ours[[kind]][new])
  })
  names(both) <- kinds
  both[lengths(both) > 0L]
}

# What an app and those mounted in it say: routes, lists of method, path, and what else the app registered, in the order
# in which the engine tries them; hidden, patterns; tags; components; and about, what a router of plumber says of the
# whole, when that is all there is.
described <- function(app) {
  routes <- list()
  found <- list(hidden = character(), tags = list(), components = list(), about = list())
  visit <- function(one, prefix, field) {
    routes <<- c(routes, list(lapply(unname(Filter(Negate(is_private), one[[field]])), function(route) {
      route$path <- join_path(prefix, route$path)
      route
    })))
    if (field == "routes") {
      found$hidden <<- c(found$hidden, paste0(prefix, one$about$hide, recycle0 = TRUE))
      if (!identical(one, app)) found$tags <<- c(found$tags, one$about$tags)
      theirs <- foreign_description(one)
      if (!is.null(theirs)) {
        routes <<- c(routes, list(foreign_routes(theirs, prefix)))
        found$tags <<- c(found$tags, theirs$tags)
        found$components <<- merge_components(theirs$components, found$components)
        if (identical(one, app)) found$about <<- foreign_about(theirs)
      }
    }
    for (mount in one$mounts) visit(mount$app, paste0(prefix, mount$prefix), field)
  }
  for (field in route_fields) visit(app, "", field)
  c(found, list(routes = unlist(routes, recursive = FALSE)))
}
