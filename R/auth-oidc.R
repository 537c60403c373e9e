# Logins of people with browsers, at an identity provider. Neighbours: auth.R; the engine's
# src/rust/crates/engine/src/edge/auth/oidc, which has the paths of a login and asks the provider.

#' Have users log in at an identity provider
#'
#' Pages below the paths that it covers are for users who have logged in at a provider of OpenID Connect: that of your
#' company (Keycloak, Entra ID, Okta, Auth0, Zitadel, Authentik), or Google. A browser that opens a page without is sent
#' there, and comes back to the page when its user has logged in; handlers read in `req$auth$claims` what the provider
#' says of the user, and in `req$auth$user` the claim `sub`. Everything is the engine's: no R code, no package, no
#' filter, and no worker has the secret.
#'
#' Requests that no browser opens a page with, such as those of scripts, and WebSockets, get 401 instead.
#'
#' The code flow with PKCE is used, with `state` and `nonce` that are bound to the browser. Signature, issuer, audience,
#' times and nonce of the ID token are checked, and the issuer of the answer where the provider names it (RFC 9207).
#' Access tokens are not kept.
#'
#' A login is kept with the browser, in a cookie that is encrypted and signed as those of [dr_session()]: it holds in
#' any worker and over a reload, for `max_age` from the login, also when the user is locked out meanwhile. An open
#' WebSocket or stream goes on when it is over.
#'
#' @section Paths: Three paths belong to the login; no handler gets their requests.
#'
#'   | | |
#'   |---|---|
#'   | `/login?to=/page` | begins a login that leads to `to`, a path of this server |
#'   | `/login/callback` | where the provider sends the browser back to |
#'   | `/login/logout` | logs out, here and at the provider if it has a place for that |
#'
#'   They are below the path that an app is mounted at. The provider has to know the second, such as
#'   `https://app.example.org/login/callback`. A logout takes links (`GET`) and forms (`POST`), but none of other sites'
#'   pages.
#' @section Client secret: The provider gives it out when the server is registered there as a confidential client. It
#'   must have at least 32 bytes, as cookies are sealed with keys that are derived from it. The first one is the present
#'   one. To change it without logging anybody out, put the new one before it, and remove the old one after `max_age`.
#'   What is said of files and variables of [dr_auth_basic()] holds for it, too.
#'
#' @inheritParams dr_auth_basic
#' @param issuer The provider's name, an address such as `"https://login.example.org/realms/staff"`: a single string.
#'   What it says of itself at `/.well-known/openid-configuration` below it, and its keys, are fetched before the server
#'   listens, which is an error if they cannot be had. Without TLS only on this machine.
#' @param client_id The server's name at the provider: a single string.
#' @param file A file with the client secret in its first line, or `NULL`; further lines have former ones, and `#`
#'   begins a comment.
#' @param env Names of environment variables with the client secret, and former ones: a character vector, or `NULL`.
#' @param scope What is asked for besides `openid`: a character vector, or `NULL`.
#' @param claims The claims that are kept, besides `sub`: a character vector, or `NULL` for all but those of the
#'   protocol. Together they may have about 2900 bytes as JSON, as browsers take cookies of 4096 bytes; a user with more
#'   gets a 500, and the log says so.
#' @param userinfo `TRUE` to ask the provider's userinfo for claims that its ID tokens do not have.
#' @param max_age How long a login lasts: a single number of seconds, or a time such as `"8h"`.
#' @param after_logout Where a logout leads in the end, a path of the app: a single string.
#' @param path The path that those of the login are below: a single string.
#' @param origin Where browsers find the server, such as `"https://app.example.org"`, without the `base_path` of
#'   [dr_serve()], which `path` and `after_logout` are below; or `NULL` for what their requests and
#'   [trusted proxies][dr_serve()] say.
#' @param algorithms The algorithms that ID tokens may be signed with: a character vector, as for [dr_auth_jwt()],
#'   without those of `HS`.
#' @param name The name of the cookie: a single string. With the prefix `__Host-` browsers take it over TLS and from
#'   this host only.
#' @param secure `FALSE` to have the cookie sent without TLS, too; `name` must not begin with `__Host-` or `__Secure-`
#'   then. Browsers take secure cookies of `http://localhost`.
#' @param leeway How much clocks may differ: a single number of seconds, or a time such as `"1m"`.
#' @param refresh How often the provider's keys are fetched: a single number of seconds, or a time such as `"10m"`.
#' @param ca A file with the authorities (PEM) that the provider is trusted by, or `NULL` for those of the system.
#' @inherit dr_auth_basic return
#' @inheritSection dr_auth_basic Several ways
#' @inheritSection dr_auth_basic Errors
#' @seealso [dr_session()] for a login page of your own, [dr_csrf()], which guards what cookies let in.
#' @examples
#' secret <- tempfile()
#' writeLines(strrep("0123456789abcdef", 4), secret)
#' app <- dr_app()
#' dr_get(app, "/", function(req) paste("Hello", req$auth$claims$name))
#' # the provider is asked when the app is served
#' dr_auth_oidc(app, "https://login.example.org", client_id = "reports", file = secret)
#' @export
dr_auth_oidc <- function(app, issuer, client_id, file = NULL, env = NULL, scope = c("profile", "email"), claims = NULL,
                         userinfo = FALSE, max_age = "8h", after_logout = "/", path = "/login", origin = NULL,
                         algorithms = c("RS256", "PS256", "ES256", "EdDSA"), name = "__Host-login", secure = TRUE,
                         leeway = 30, refresh = "10m", ca = NULL, realm = "app", optional = FALSE, routes = NULL) {
  check_registrar(app)
  call <- sys.call()
  check_address(issuer, "issuer", call)
  if (!is_string(client_id) || !nzchar(client_id)) {
    stop_argument("client_id", "a single string that is not empty", client_id, call)
  }
  file <- check_secret_file(file, call)
  of_env <- check_variables(env, "env", call, named = FALSE)
  check_cookie_keys(of_env, "env", call)
  check_some(list(file, of_env), c("file", "env"), call)
  algorithms <- check_algorithms(algorithms, setdiff(jwt_algorithms, c("HS256", "HS384", "HS512")), call)
  check_flag(userinfo, "userinfo", call = call)
  leeway <- as_seconds(leeway)
  check_seconds_or_none(leeway, "leeway")
  path <- check_own_path(path, "path", call)
  if (!nzchar(path)) stop_argument("path", "a path below the root, such as \"/login\"", "/", call)
  after_logout <- check_own_path(after_logout, "after_logout", call, query = TRUE)
  cookie <- check_sealed_cookie(name, max_age, secure, "Lax", call)
  by <- c(
    list(
      issuer = issuer, client_id = enc2utf8(client_id), secrets = as.list(enc2utf8(as.character(unname(of_env)))),
      scopes = check_scopes(scope, call),
      algorithms = algorithms, userinfo = userinfo, leeway = leeway
    ),
    cookie, check_fetched(refresh, ca, call), if (!is.null(file)) list(file = file),
    if (!is.null(claims)) list(claims = check_claim_texts(claims, "claims", call)),
    if (!is.null(origin)) list(origin = check_own_origin(origin, call))
  )
  below <- function(prefix) {
    if (grepl("[<*]|/:", prefix)) {
      problem <- paste("dr_auth_oidc(): an app with a login cannot be mounted below a placeholder, such as", prefix)
      stop_drover("argument", problem, call = call, argument = "prefix")
    }
    c(by, list(path = paste0(prefix, path), after_logout = paste0(prefix, after_logout)))
  }
  add_auth(app, function(prefix) list(oidc = below(prefix)), realm, optional, routes, call)
}

# A path of the server as browsers send it, without a slash at its end.
check_own_path <- function(x, arg, call, query = FALSE) {
  allowed <- if (query) "^/([!-~]*[!-~])?$" else "^/[-._~!$&'()*+,;=:@%A-Za-z0-9/]*$"
  if (!is_string(x) || !grepl(allowed, x) || grepl("^/[/\\\\]", x)) {
    stop_argument(arg, "a path that starts with \"/\", in ASCII: a single string", x, call)
  }
  if (query) x else sub("/+$", "", x)
}

check_own_origin <- function(origin, call) {
  right <- "NULL or an origin such as \"https://app.example.org\", without a path: a single string"
  if (!is_string(origin) || !grepl("^https?://([-_.A-Za-z0-9]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]{1,5})?$", origin)) {
    stop_argument("origin", right, origin, call)
  }
  tolower(origin)
}
