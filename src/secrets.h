#ifndef DROVER_SECRETS_H
#define DROVER_SECRETS_H
#define R_NO_REMAP
#include <Rinternals.h>

/* .Call entries */
SEXP drv_call_secret_hash(SEXP secret, SEXP is_token);
SEXP drv_call_password_verify(SEXP password, SEXP hash);
SEXP drv_call_text_seal(SEXP key, SEXP purpose, SEXP text, SEXP seconds);
SEXP drv_call_text_open(SEXP key, SEXP purpose, SEXP sealed);

#endif
