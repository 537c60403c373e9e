# JSON Web Tokens. Neighbours: auth.R; the engine's crate identity, which says what is a right one.

#' Require a JSON Web Token
#'
#' Requests below the paths that it covers need a token (`Authorization: Bearer`) that an issuer has signed, such as an
#' identity provider of OpenID Connect. The engine checks signature and claims and refuses all others with 401, before R
#' hears of them; handlers read in `req$auth$claims` what the token says, and in `req$auth$user` its claim `sub`.
#'
#' What is checked is for you to say, and not for the token: `algorithms`, `issuer` and `audience` have no defaults. A
#' key is used with algorithms of its kind only. Claims have to have their types: `exp`, `nbf` and `iat` numbers, `iss`,
#' `sub`, `jti` and `scope` strings, `aud` a string or an array of strings; a token with others is refused. So is one
#' with `crit` in its header, one of another type than `JWT` or `at+jwt`, and one longer than 8 kB. Keys within a token
#' count for nothing.
#'
#' A token that was found to be right is remembered by a keyed hash, so that its signature is checked once; its times
#' are looked at with each request. A WebSocket or stream that was opened with it goes on when it expires.
#'
#' @inheritParams dr_auth_basic
#' @param algorithms The algorithms that may be used: a character vector out of `"HS256"`, `"HS384"`, `"HS512"`,
#'   `"RS256"`, `"RS384"`, `"RS512"`, `"PS256"`, `"PS384"`, `"PS512"`, `"ES256"`, `"ES384"` and `"EdDSA"`.
#' @param issuer Accepted issuers, the claim `iss`: a character vector, or `NULL` for any issuer that has the key.
#' @param audience Accepted audiences, the claim `aud`: a character vector, or `NULL` for tokens without an audience;
#'   tokens with one are refused then.
#' @param file Files of keys: a character vector, or `NULL`. A public key in PEM, a set of keys in JSON (JWKS, RFC
#'   7517), or for `HS` algorithms the secret itself, of at least as many bytes as the hash has.
#' @param env The name of an environment variable with the secret, for `HS` algorithms: a single string, or `NULL`.
#' @param jwks The address of a set of keys (JWKS), as identity providers have it, such as
#'   `"https://login.example.org/.well-known/jwks.json"`: a single string, or `NULL`. Without TLS only from this
#'   machine. The set is fetched before the server listens, which is an error if it cannot be had, and anew every
#'   `refresh`; also when a token names a key that is not in it, every 10 seconds at most. A set that cannot be had, or
#'   has no key for `algorithms`, does not take the place of the one before, and the log says why.
#' @param required Claims that a token must have: a character vector. Without `"exp"` tokens may hold for ever.
#' @param scope Scopes that it must have, all of them, in its claim `scope`: a character vector, or `NULL`. A token that
#'   is right otherwise gets 403.
#' @param leeway How much clocks may differ: a single number of seconds, or a time such as `"1m"`.
#' @param refresh How often the set of `jwks` is fetched: a single number of seconds, or a time such as `"10m"`.
#' @param ca A file with the authorities (PEM) that the server of `jwks` is trusted by, or `NULL` for those of the
#'   system.
#' @inherit dr_auth_basic return
#' @inheritSection dr_auth_basic Several ways
#' @inheritSection dr_auth_basic Secrets
#' @inheritSection dr_auth_basic Errors
#' @seealso [dr_auth_bearer()], [dr_rate_limit()], whose `dr_key_claim()` counts by claim.
#' @examples
#' secret <- tempfile()
#' writeLines(strrep("0123456789abcdef", 4), secret)
#' app <- dr_app()
#' dr_get(app, "/orders", function(req) list(of = req$auth$claims$sub))
#' dr_auth_jwt(app, "HS256", issuer = "https://login.example.org", audience = "orders", file = secret)
#' dr_rate_limit(app, 100, "1m", key = dr_key_claim("sub"))
#' @export
dr_auth_jwt <- function(app, algorithms, issuer, audience, file = NULL, env = NULL, jwks = NULL, required = "exp",
                        scope = NULL, leeway = 30, refresh = "10m", ca = NULL, realm = "api", optional = FALSE,
                        routes = NULL) {
  check_registrar(app)
  call <- sys.call()
  algorithms <- check_algorithms(algorithms, jwt_algorithms, call)
  if (!is.null(file) && !length(file)) stop_argument("file", "NULL or paths of existing files", file, call)
  files <- lapply(file, check_secret_file, call = call)
  secret <- check_variables(env, "env", call, named = FALSE)
  if (length(secret) > 1L) {
    stop_argument("env", "NULL or the name of an environment variable: a single string", env, call)
  }
  jwks <- check_jwks(jwks, refresh, ca, call)
  if (!is.null(jwks) && all(startsWith(unlist(algorithms), "HS"))) {
    stop_argument("jwks", "NULL for HS algorithms: a shared secret is not to be had at an address", jwks$url, call)
  }
  check_some(list(files, secret, jwks), c("file", "env", "jwks"), call)
  leeway <- as_seconds(leeway)
  check_seconds_or_none(leeway, "leeway")
  by <- list(
    algorithms = algorithms, files = files, issuers = check_claim_texts(issuer, "issuer", call),
    audiences = check_claim_texts(audience, "audience", call),
    required = if (length(required)) check_claim_texts(required, "required", call) else list(),
    leeway = leeway
  )
  secret <- if (!is.null(secret)) list(secret = enc2utf8(secret[[1L]]))
  by <- c(by, secret, if (!is.null(jwks)) list(jwks = jwks))
  add_auth(app, list(jwt = by), realm, optional, routes, call, check_scopes(scope, call))
}

jwt_algorithms <- c(
  "HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"
)

# Those of the `known` that are named, each once, as the engine reads them.
check_algorithms <- function(algorithms, known, call) {
  right <- paste0("one or more of ", paste0("\"", known, "\"", collapse = ", "), ": a character vector")
  if (!length(algorithms)) stop_argument("algorithms", right, algorithms, call)
  unique(check_strings(algorithms, "algorithms", right, function(x) x %in% known, call))
}

# An address of keys as the engine reads it, or NULL.
check_jwks <- function(jwks, refresh, ca, call) {
  fetched <- check_fetched(refresh, ca, call)
  if (is.null(jwks)) return(NULL)
  check_address(jwks, "jwks", call, "NULL or ")
  c(list(url = jwks), fetched)
}

# How often something is fetched of an identity provider, and by whom that is trusted, as the engine reads them.
check_fetched <- function(refresh, ca, call) {
  refresh <- as_seconds(refresh)
  check_seconds(refresh, "refresh", call = call)
  check_string(ca, "ca", null = TRUE, call = call)
  if (!is.null(ca) && !file.exists(ca)) stop_argument("ca", "NULL or the path of an existing file", ca, call)
  c(list(refresh = refresh), if (!is.null(ca)) list(ca = enc2utf8(normalizePath(ca))))
}

# An address that the server asks: over TLS, or on this machine.
check_address <- function(x, arg, call, or = "") {
  this_machine <- "^http://(localhost|127[.][0-9.]+|\\[::1\\])(:[0-9]+)?(/|$)"
  if (is_string(x) && grepl(paste0("^https://[^/?#@ ]+([/?]|$)|", this_machine), x)) return(invisible())
  right <- paste0(or, "an address that begins with \"https://\", or \"http://\" and a host of this machine")
  stop_argument(arg, right, x, call)
}
