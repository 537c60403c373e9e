/* What R may call, in one table. */
#include <R_ext/Rdynload.h>
#define R_NO_REMAP
#include <Rinternals.h>

static const R_CallMethodDef calls[] = {
    {NULL, NULL, 0},
};

void R_init_drover(DllInfo *dll) {
  R_registerRoutines(dll, NULL, calls, NULL, NULL);
  R_useDynamicSymbols(dll, FALSE);
  R_forceSymbols(dll, TRUE);
}
