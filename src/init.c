/* What R may call, in one table. */
#include <R_ext/Rdynload.h>
#include <R_ext/Visibility.h>
#define R_NO_REMAP
#include <Rinternals.h>
#include "values.h"

static const R_CallMethodDef calls[] = {
    {"pick", (DL_FUNC)&drv_pick, 2},
    {"plain_response", (DL_FUNC)&drv_plain_response, 4},
    {NULL, NULL, 0},
};

void attribute_visible R_init_drover(DllInfo *dll) {
  R_registerRoutines(dll, NULL, calls, NULL, NULL);
  R_useDynamicSymbols(dll, FALSE);
  R_forceSymbols(dll, TRUE);
}
