/* Hashes of passwords and tokens, and sealed texts. Neighbours: rust/crates/binding/src/secrets.rs, R/auth-password.R,
   R/mcp-rounds.R. */
#include "secrets.h"
#include "build.h"
#include "r.h"

/* .Call: the hash of a password or a token, a string; or why there is none, a list of that. */
SEXP drv_call_secret_hash(SEXP secret, SEXP is_token) {
  drv_error answer;
  int is_made = drv_secret_hash(drv_text(secret), Rf_asLogical(is_token), &answer);
  SEXP text = PROTECT(Rf_ScalarString(drv_mkchar(answer.message)));
  SEXP result = text;
  if (!is_made) {
    result = PROTECT(Rf_allocVector(VECSXP, 1));
    SET_VECTOR_ELT(result, 0, text);
    UNPROTECT(1);
  }
  UNPROTECT(1);
  return result;
}

/* .Call: whether the hash is of this password. */
SEXP drv_call_password_verify(SEXP password, SEXP hash) {
  return Rf_ScalarLogical(drv_password_verify(drv_text(password), drv_text(hash)));
}

/* .Call: a text that is opened with the same key and purpose within these seconds; NULL when it is too long. */
SEXP drv_call_text_seal(SEXP key, SEXP purpose, SEXP text, SEXP seconds) {
  drv_error answer;
  int is_made = drv_text_seal(drv_text(key), drv_text(purpose), drv_text(text), Rf_asReal(seconds), &answer);
  return is_made ? Rf_ScalarString(drv_mkchar(answer.message)) : R_NilValue;
}

/* .Call: what was sealed; NULL for anything else. */
SEXP drv_call_text_open(SEXP key, SEXP purpose, SEXP sealed) {
  drv_error answer;
  int is_open = drv_text_open(drv_text(key), drv_text(purpose), drv_text(sealed), &answer);
  return is_open ? Rf_ScalarString(drv_mkchar(answer.message)) : R_NilValue;
}
