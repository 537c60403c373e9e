#ifndef DROVER_ZYGOTE_H
#define DROVER_ZYGOTE_H
#define R_NO_REMAP
#include <Rinternals.h>

SEXP drv_zygote_fork(SEXP body);
SEXP drv_zygote_adopt(SEXP settings);
SEXP drv_zygote_enter(SEXP fd, SEXP settings);
SEXP drv_zygote_fail(SEXP why);
SEXP drv_zygote_variable(SEXP name);
SEXP drv_zygote_arguments(SEXP arguments);
SEXP drv_zygote_report(SEXP app, SEXP unshared);
SEXP drv_zygote_run(SEXP body);
/* .Call: see zygote.c. */
SEXP drv_zygote_apart(SEXP fun);

#endif
