# Tokens and keys that were handed out. Neighbours: auth.R; auth-password.R, which makes hashes of them.

#' Require a token or key
#'
#' Requests below the paths that it covers need a secret that you have handed out: `dr_auth_bearer()` takes it from
#' `Authorization: Bearer` (RFC 6750), `dr_auth_key()` from a header field of its own. The engine refuses all others
#' with 401, before R hears of them; handlers read in `req$auth$user` the name of the token. Tokens are compared by
#' their SHA-256, in a time that tells nothing of them.
#'
#' Make tokens of random bytes, such as by `openssl rand -hex 32`: the hash of one that can be guessed can be guessed,
#' too.
#'
#' @inheritParams dr_auth_basic
#' @param tokens,keys The secrets, each of at least 16 bytes: a character vector with the names of their holders, or
#'   `NULL`. `"sha256:"` and 64 hexadecimal digits stand for a secret by its hash: `printf %s SECRET | sha256sum`.
#' @param file A file of them, or `NULL`: `name:secret` or `name:sha256:hash` in each line; `#` begins a comment.
#' @param env Names of environment variables with the secrets: a character vector with the names of their holders, or
#'   `NULL`.
#' @param scopes What those that have them may do: a list with the names of holders, a character vector for each, such
#'   as `list(ci = c("read", "write"))`, or `NULL`. Handlers read them in `req$auth$scopes`.
#' @param header The name of the header field: a single string.
#' @inherit dr_auth_basic return
#' @inheritSection dr_auth_basic Several ways
#' @inheritSection dr_auth_basic Secrets
#' @inheritSection dr_auth_basic Errors
#' @seealso [dr_auth_jwt()] for tokens that name their bearer, [dr_auth_basic()]
#' @examples
#' app <- dr_app()
#' dr_post(app, "/builds", function(req) list(by = req$auth$user))
#' dr_auth_bearer(app, c(ci = "d54f1a8f3c0e4c7b9a0d"), routes = "/builds")
#' hash <- "sha256:fcf730b6d95236ecd3c9fc2d92d7b6b2bb061514961aec041d6c7a7192f592e4"
#' dr_auth_key(app, c(partner = hash), routes = "/partners", scopes = list(partner = "read"), scope = "read")
#' @export
dr_auth_bearer <- function(app, tokens = NULL, file = NULL, env = NULL, realm = "api", optional = FALSE,
                           routes = NULL, scopes = NULL, scope = NULL) {
  check_registrar(app)
  call <- sys.call()
  by <- c(check_tokens(tokens, "tokens", file, env, call), scopes_of(scopes, call))
  add_auth(app, list(bearer = by), realm, optional, routes, call, check_scopes(scope, call))
}

#' @rdname dr_auth_bearer
#' @export
dr_auth_key <- function(app, keys = NULL, file = NULL, env = NULL, header = "X-Api-Key", realm = "api",
                        optional = FALSE, routes = NULL, scopes = NULL, scope = NULL) {
  check_registrar(app)
  call <- sys.call()
  taken <- c("authorization", "cookie", "host")
  if (!is_string(header) || !is_token(header) || tolower(header) %in% taken) {
    stop_argument("header", "the name of a header field of its own, such as \"X-Api-Key\"", header, call)
  }
  keys <- c(check_tokens(keys, "keys", file, env, call), scopes_of(scopes, call))
  by <- list(header = tolower(header), keys = keys)
  add_auth(app, list(key = by), realm, optional, routes, call, check_scopes(scope, call))
}

check_tokens <- function(tokens, arg, file, env, call) {
  right <- "secrets of at least 16 bytes, or \"sha256:\" and 64 hexadecimal digits, by the names of those who have them"
  fits <- function(x) {
    ifelse(startsWith(x, "sha256:"), grepl("^sha256:[0-9A-Fa-f]{64}$", x), nchar(enc2utf8(x), "bytes") >= 16L)
  }
  given <- check_named(tokens, arg, right, fits, call)
  of_env <- check_named(check_variables(env, "env", call), "env", paste("variables with", right), fits, call)
  # what stays in the app are hashes
  tokens <- lapply(c(given, of_env), function(token) list(name = token$name, value = token_hash(token$value)))
  file <- check_secret_file(file, call)
  check_some(list(tokens, file), c(arg, "file", "env"), call)
  c(list(tokens = tokens), if (!is.null(file)) list(file = file))
}
