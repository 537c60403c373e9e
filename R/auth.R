# Authentication: what its schemes have in common. Each has a file: auth-basic.R, auth-tokens.R, auth-jwt.R,
# auth-oidc.R. Neighbours: policy.R; the engine's src/rust/crates/engine/src/edge/auth, which checks credentials.

# Registers one. `by`: a named list with one element, as the engine reads it, or a function as that of add_policy().
add_auth <- function(app, by, realm, optional, routes, call, scope = list()) {
  check_realm(realm, call)
  check_flag(optional, "optional", call = call)
  rule <- function(by) list(auth = list(realm = realm, optional = optional, scope = scope, by = by))
  add_policy(app, if (is.function(by)) function(prefix) rule(by(prefix)) else rule(by), routes, call)
}

check_realm <- function(realm, call) {
  if (is_string(realm) && grepl("^[ -~]+$", realm)) return(invisible())
  stop_argument("realm", "a single string of ASCII characters", realm, call)
}

# An existing file as an absolute path: the server may have another working directory. NULL for none.
check_secret_file <- function(file, call) {
  if (is.null(file)) return(NULL)
  if (!is_string(file) || !file.exists(file) || dir.exists(file)) {
    stop_argument("file", "NULL or the path of an existing file", file, call)
  }
  enc2utf8(normalizePath(file))
}

# A named character vector as the engine reads it. `fits` says of each value whether it is right; values are not shown.
check_named <- function(x, arg, right, fits, call) {
  if (is.null(x)) return(list())
  has_names <- is.character(x) && !anyNA(x) && !is.null(names(x)) && !anyNA(names(x)) && all(nzchar(names(x)))
  if (!has_names || !length(x) || !all(fits(x))) {
    problem <- sprintf("`%s` must be NULL or a named character vector: %s", arg, right)
    stop_drover("argument", problem, call = call, argument = arg)
  }
  unname(Map(function(name, value) list(name = name, value = value), enc2utf8(names(x)), enc2utf8(unname(x))))
}

# What those with these names may do, as the engine reads it: list(scopes = ), or NULL.
scopes_of <- function(scopes, call) {
  if (is.null(scopes)) return(NULL)
  right <- "NULL or a named list: the scopes of each user, token or key, such as list(ci = c(\"read\", \"write\"))"
  has_names <- is.vector(scopes) && length(scopes) && !is.null(names(scopes)) && !anyDuplicated(names(scopes)) &&
    all(nzchar(names(scopes)) & !is.na(names(scopes)))
  if (!has_names) stop_argument("scopes", right, scopes, call)
  list(scopes = lapply(as.list(scopes), function(scope) check_scopes(unlist(scope), call, "scopes")))
}

check_scopes <- function(scope, call, arg = "scope") {
  scopes <- check_claim_texts(scope, arg, call)
  if (any(grepl("[^!#-[^-~]|\\]", unlist(scopes)))) {
    stop_argument(arg, "NULL or scopes without spaces, quotes or backslashes: a character vector", scope, call)
  }
  scopes
}

check_claim_texts <- function(x, arg, call) {
  if (is.null(x)) return(list())
  right <- "NULL or one or more strings: a character vector"
  if (!length(x)) stop_argument(arg, right, x, call)
  check_strings(x, arg, right, nzchar, call)
}

# What is in environment variables, which are named as in a shell, by the names of `x`. They are read here: whoever runs
# R code can read them in any case.
check_variables <- function(x, arg, call, named = TRUE) {
  if (is.null(x)) return(NULL)
  has_names <- !named || (!is.null(names(x)) && !anyNA(names(x)) && all(nzchar(names(x))))
  if (!is.character(x) || !length(x) || anyNA(x) || !has_names || !all(grepl("^[A-Za-z_][A-Za-z0-9_]*$", x))) {
    right <- if (named) {
      "NULL or names, and which environment variable each has its secret in, such as c(ci = \"CI_TOKEN\")"
    } else {
      "NULL or names of environment variables: a character vector"
    }
    stop_argument(arg, right, x, call)
  }
  values <- Sys.getenv(x, names = FALSE)
  if (any(!nzchar(values))) {
    missing <- x[!nzchar(values)][[1L]]
    problem <- sprintf("`%s`: the environment variable %s is not set, or empty", arg, missing)
    stop_drover("argument", problem, call = call, argument = arg)
  }
  structure(values, names = names(x))
}

# At least one of the arguments that say where secrets are.
check_some <- function(given, args, call) {
  if (any(lengths(given) > 0L)) return(invisible())
  all <- paste0("`", args, "`", collapse = ", ")
  stop_drover("argument", sprintf("one of %s must be given", all), call = call, argument = args[[1L]])
}
