# What an app says of itself as an API: title, version, and what else stands at the top of its description.
# Not for what is said of single routes: that is with them (app-routes.R). Neighbour: openapi.R, which writes it.

#' Say what an API is called
#'
#' Sets the title, version and contact that stand at the top of the description of the app, see [dr_openapi()], and of
#' its page of documentation. A further call changes the arguments that it is given and keeps the rest.
#'
#' Of an app that is mounted in another, see [dr_mount()], `tags` and `hide` count; all else is that of the app that is
#' served. A router of the package 'plumber' has its own description: what is said here goes before it.
#'
#' @param app An app, see [dr_app()].
#' @param title What the API is called: a single string. Without it, `"API"`.
#' @param version The version of the API, in any form: a single string. Without it, `"0.0.0"`.
#' @param description What it is for, in Markdown (CommonMark): a single string.
#' @param ... Must be empty: arguments that follow are given by name.
#' @param summary The same in a line: a single string.
#' @param terms The address of its terms of service: a single string.
#' @param contact Contact for the API: a named character vector with some of `name`, `url` and `email`.
#' @param license Its license: a named character vector with `name`, and one of `url` and `identifier` (of SPDX, such as
#'   `"MIT"`), or none of them.
#' @param servers Addresses that it is reached at, the first one by default: a character vector; names are descriptions.
#'   Without it, clients take the address that the description comes from.
#' @param tags Descriptions of the tags that routes have, in the order in which they are to be shown: a named character
#'   vector, such as `c(orders = "What was bought")`.
#' @param hide Paths below which routes are left out of the description: a character vector, such as `"/internal"`,
#'   with placeholders as in [dr_get()]. They answer all the same.
#' @returns `app`, invisibly; it is changed in place.
#' @section Errors: `drover_error_argument` when an argument is not as described.
#' @seealso [dr_openapi()]
#' @examples
#' app <- dr_app()
#' dr_about(app, "Orders", "1.2.0", "What was **bought**, and by whom.",
#'   contact = c(name = "Shop team", email = "shop@example.org"),
#'   license = c(name = "MIT License", identifier = "MIT"),
#'   tags = c(orders = "What was bought"), hide = "/internal"
#' )
#' dr_get(app, "/orders/<id:int>", function(req) list(id = req$params$id))
#' dr_get(app, "/internal/state", function(req) "all is well")
#' cat(dr_openapi(app, "yaml"))
#' @export
dr_about <- function(app, title = NULL, version = NULL, description = NULL, ..., summary = NULL, terms = NULL,
                     contact = NULL, license = NULL, servers = NULL, tags = NULL, hide = NULL) {
  check_registrar(app)
  call <- sys.call()
  check_dots_empty(..., call = call)
  texts <- list(title = title, version = version, description = description, summary = summary, terms = terms)
  for (name in names(texts)) check_about_text(texts[[name]], name, call)
  given <- c(texts, list(
    contact = check_members(contact, "contact", c("name", "url", "email"), character(), call),
    license = check_license(license, call),
    servers = check_servers(servers, call), tags = check_tag_texts(tags, call),
    hide = check_policy_routes(hide, call, "hide")
  ))
  given <- Filter(Negate(is.null), given)
  app$about[names(given)] <- given
  invisible(app)
}

check_about_text <- function(x, arg, call) {
  if (is.null(x)) return(invisible())
  if (!is_string(x) || !nzchar(x)) stop_argument(arg, "NULL or a single string that is not empty", x, call)
}

# A named list of strings out of `known`, with all of `needed`; NULL for none.
check_members <- function(x, arg, known, needed, call) {
  if (is.null(x)) return(NULL)
  fits <- is.character(x) && length(x) && !anyNA(x) && all(nzchar(x)) && !is.null(names(x)) &&
    !anyDuplicated(names(x)) && all(names(x) %in% known) && all(needed %in% names(x))
  if (!fits) {
    right <- paste0("NULL or a character vector with names out of ", paste0("\"", known, "\"", collapse = ", "))
    if (length(needed)) right <- paste0(right, ", \"", needed, "\" among them")
    stop_argument(arg, right, x, call)
  }
  as.list(enc2utf8(x))
}

check_license <- function(license, call) {
  license <- check_members(license, "license", c("name", "url", "identifier"), "name", call)
  if (all(c("url", "identifier") %in% names(license))) {
    stop_argument("license", "NULL or have one of `url` and `identifier`, not both", unlist(license), call)
  }
  license
}

check_servers <- function(servers, call) {
  if (is.null(servers)) return(NULL)
  right <- "NULL or addresses such as \"https://api.example.org/v1\" or \"/v1\": a character vector"
  fits <- is.character(servers) && length(servers) && !anyNA(servers) &&
    all(grepl("^(https?://[^[:space:]/]+|/)[^[:space:]]*$", servers))
  if (!fits) stop_argument("servers", right, servers, call)
  names <- names(servers) %||% character(length(servers))
  unname(Map(function(url, name) c(list(url = url), if (nzchar(name)) list(description = name)), enc2utf8(servers),
    enc2utf8(names)))
}

check_tag_texts <- function(tags, call) {
  if (is.null(tags)) return(NULL)
  right <- "NULL or descriptions by the names of tags: a named character vector, each name once"
  fits <- is.character(tags) && !anyNA(tags) && length(names(tags)) == length(tags) && all(nzchar(names(tags))) &&
    !anyDuplicated(names(tags))
  if (!fits) stop_argument("tags", right, tags, call)
  unname(Map(function(name, text) c(list(name = name), if (nzchar(text)) list(description = text)),
    enc2utf8(names(tags)), enc2utf8(tags)))
}
