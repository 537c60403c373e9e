# Cookies that the engine seals: what dr_session() and dr_auth_oidc() say of theirs. Neighbours: policy-session.R,
# auth-oidc.R.

# list(name, max_age, secure), as the engine reads them.
check_sealed_cookie <- function(name, max_age, secure, same_site, call) {
  if (!is_string(name) || !is_token(name) || nchar(name) > 64L) {
    stop_argument("name", "a single string of at most 64 letters, digits and hyphens", name, call)
  }
  max_age <- as_seconds(max_age)
  check_seconds(max_age, "max_age", call = call)
  if (max_age < 1) stop_argument("max_age", "at least one second", max_age, call)
  check_flag(secure, "secure", call = call)
  if (!secure && (identical(same_site, "None") || grepl("^__(Host|Secure)-", name, ignore.case = TRUE))) {
    problem <- paste0(
      "`secure` must be TRUE when `same_site` is \"None\" or `name` begins with \"__Host-\" or \"__Secure-\": ",
      "browsers refuse the cookie otherwise"
    )
    stop_drover("argument", problem, call = call, argument = "secure")
  }
  list(name = name, max_age = max_age, secure = secure)
}

# Keys are not shown.
check_cookie_keys <- function(keys, arg, call) {
  if (is.null(keys)) return(invisible())
  if (is.character(keys) && length(keys) && !anyNA(keys) && all(nchar(enc2utf8(keys), "bytes") >= 32L)) {
    return(invisible())
  }
  right <- "NULL or keys of at least 32 bytes, such as of `openssl rand -hex 32`: a character vector"
  stop_drover("argument", sprintf("`%s` must be %s", arg, right), call = call, argument = arg)
}
