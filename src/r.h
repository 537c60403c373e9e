#ifndef DROVER_R_H
#define DROVER_R_H
#include "drover_rust.h"
#define R_NO_REMAP
#include <Rinternals.h>

/* The namespace of the package. */
SEXP drv_namespace(void);
/* Calls a function of the package with one value. */
SEXP drv_call_package(const char *name, SEXP argument);
/* Signals the condition of a part of a request that cannot be read. */
_Noreturn void drv_stop_field(int status, drv_str message);

/* A single string's text, empty when it is none. Lives as long as the .Call. */
drv_str drv_text(SEXP string);
/* All of a character vector, until the call from R returns. */
const drv_str *drv_texts(SEXP strings);

#endif
