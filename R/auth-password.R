# Hashes of passwords and tokens. Neighbours: auth-basic.R, auth-tokens.R; the engine's crate identity.

#' Hash passwords, and check them
#'
#' `dr_password_hash()` makes what is kept in the place of a password, by [dr_auth_basic()] or by an app with a login
#' page of its own: Argon2id with a salt of its own, 19 MiB and two passes, as OWASP recommends. From it the password
#' cannot be read. `dr_password_verify()` says whether a hash is of a password. Both take tens of milliseconds, which is
#' their purpose.
#'
#' In a shell, `drover hash-password` asks for the password without showing it, and prints its hash.
#'
#' A login page tells whether there is such a user by how long it takes, unless it checks a password in any case:
#' against the hash of no one's when there is none. Limit how many a client may guess, see [dr_rate_limit()].
#'
#' @param password A single string; for a hash, of 1 to 1024 bytes.
#' @param hash A single string: what `dr_password_hash()` has made, or another program as a hash of Argon2
#'   (`"$argon2..."`).
#' @returns `dr_password_hash()`: a single string, such as `"$argon2id$v=19$m=19456,t=2,p=1$..."`, another one each
#'   time. `dr_password_verify()`: `TRUE` or `FALSE`; `FALSE` also for what is no hash of Argon2.
#' @section Errors: `drover_error_argument` when an argument is not as described.
#' @seealso [dr_auth_basic()], [dr_session()]
#' @examples
#' hash <- dr_password_hash("correct horse")
#' dr_password_verify("correct horse", hash)
#' @export
dr_password_hash <- function(password) {
  check_secret_text(password, "password", sys.call())
  hash <- .Call(C_secret_hash, enc2utf8(password), FALSE)
  if (is.character(hash)) return(hash)
  stop_drover("argument", paste0("`password` cannot be hashed: ", hash[[1L]]), argument = "password")
}

#' @rdname dr_password_hash
#' @export
dr_password_verify <- function(password, hash) {
  check_secret_text(password, "password", sys.call())
  check_secret_text(hash, "hash", sys.call())
  .Call(C_password_verify, enc2utf8(password), enc2utf8(hash))
}

# What is wrong is said without showing it.
check_secret_text <- function(x, arg, call) {
  if (is_string(x)) return(invisible())
  stop_drover("argument", sprintf("`%s` must be a single string", arg), call = call, argument = arg)
}

# A token as it is kept.
token_hash <- function(token) {
  if (startsWith(token, "sha256:")) return(token)
  .Call(C_secret_hash, enc2utf8(token), TRUE)
}
