# An identity provider for tests, as an app: what dr_auth_oidc() needs of OpenID Connect, with a form to log in. Anybody
# may, with the password "open-sesame". It remembers nothing: a code says itself what it is for. Its last value is the
# app. PROVIDER_SECRET in the environment is the secret of its only client, "app".

library(drover)

key <- tempfile("key-")
stopifnot(!system2("openssl", c("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", key),
  stderr = FALSE))
modulus <- sub("^Modulus=", "", system2("openssl", c("rsa", "-in", key, "-noout", "-modulus"), stdout = TRUE))

from_hex <- function(hex) as.raw(strtoi(substring(hex, seq(1L, nchar(hex), 2L), seq(2L, nchar(hex), 2L)), 16L))
b64url <- function(bytes) {
  gsub("=", "", chartr("+/", "-_", gsub("\n", "", jsonlite::base64_enc(bytes))), fixed = TRUE)
}
from_b64url <- function(text) {
  rawToChar(jsonlite::base64_dec(paste0(chartr("-_", "+/", text), strrep("=", -nchar(text) %% 4L))))
}
to_json <- function(x) jsonlite::toJSON(x, auto_unbox = TRUE)

# What openssl makes of these bytes.
digested <- function(bytes, ...) {
  files <- c(tempfile(), tempfile())
  on.exit(unlink(files))
  writeBin(bytes, files[[1L]])
  stopifnot(!system2("openssl", c("dgst", "-sha256", "-binary", ..., "-out", files[[2L]], files[[1L]])))
  readBin(files[[2L]], "raw", 1000L)
}

token_of <- function(claims) {
  parts <- vapply(list(list(alg = "RS256", kid = "1"), claims), function(x) b64url(charToRaw(to_json(x))), "")
  message <- paste(parts, collapse = ".")
  paste(message, b64url(digested(charToRaw(message), "-sign", key)), sep = ".")
}

issuer_of <- function(req) paste0("http://", req$headers[["host"]])

# The address that a login or a logout leads back to, with these parameters.
back_to <- function(address, ...) {
  params <- c(...)
  query <- paste(names(params), vapply(params, utils::URLencode, "", reserved = TRUE), sep = "=", collapse = "&")
  dr_redirect(if (length(params)) paste0(address, "?", query) else address, 303L)
}

app <- dr_app()

dr_get(app, "/.well-known/openid-configuration", function(req) {
  places <- c("authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint", "end_session_endpoint")
  own <- as.list(paste0(issuer_of(req), c("/authorize", "/token", "/keys", "/me", "/out")))
  names(own) <- places
  c(list(issuer = issuer_of(req), authorization_response_iss_parameter_supported = TRUE), own)
})

dr_get(app, "/keys", function(req) {
  list(keys = list(list(kty = "RSA", kid = "1", use = "sig", alg = "RS256", n = b64url(from_hex(modulus)), e = "AQAB")))
})

dr_get(app, "/authorize", function(req) {
  asked <- req$query[c("client_id", "redirect_uri", "state", "nonce", "code_challenge")]
  hidden <- sprintf("<input type=hidden name=%s value=\"%s\">", names(asked), unlist(asked))
  dr_html(paste(c(
    "<!DOCTYPE html><title>Provider</title><link rel=icon href=data:,><form method=post>", hidden,
    "<input name=name placeholder=Name><input name=password type=password placeholder=Password>",
    "<button name=how value=in>Continue</button><button name=how value=not>Cancel</button></form>"
  ), collapse = ""))
})

dr_post(app, "/authorize", function(req) {
  form <- req$form
  stopifnot(form$client_id == "app")
  back <- function(...) back_to(form$redirect_uri, state = form$state, iss = issuer_of(req), ...)
  if (form$how != "in" || form$password != "open-sesame") return(back(error = "access_denied"))
  known <- as.list(form[c("name", "redirect_uri", "nonce", "code_challenge")])
  back(code = b64url(charToRaw(to_json(known))))
})

dr_post(app, "/token", function(req) {
  form <- req$form
  basic <- paste("Basic", jsonlite::base64_enc(paste0("app:", Sys.getenv("PROVIDER_SECRET"))))
  code <- jsonlite::fromJSON(from_b64url(form$code))
  is_right <- identical(req$headers[["authorization"]], gsub("\n", "", basic)) &&
    form$redirect_uri == code$redirect_uri && b64url(digested(charToRaw(form$code_verifier))) == code$code_challenge
  if (!is_right) return(dr_json(list(error = "invalid_grant"), 400L))
  now <- as.integer(Sys.time())
  claims <- list(iss = issuer_of(req), aud = "app", sub = code$name, iat = now, exp = now + 60L, nonce = code$nonce,
    name = paste("User", code$name))
  list(id_token = token_of(claims), access_token = b64url(charToRaw(code$name)), token_type = "Bearer")
})

dr_get(app, "/me", function(req) {
  name <- from_b64url(sub("^Bearer ", "", req$headers[["authorization"]]))
  list(sub = name, groups = list("staff", name))
})

dr_get(app, "/out", function(req) {
  dr_html(sprintf("<!DOCTYPE html><title>Out</title><link rel=icon href=data:,><a href=\"%s\">Back</a>",
    req$query$post_logout_redirect_uri))
})

app
