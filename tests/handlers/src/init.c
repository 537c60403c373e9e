/* What R may call, and the handlers by name. Not for the handlers: those are in the other files. */
#include "handlers.h"
#include <R.h>
#include <R_ext/Rdynload.h>
#include <Rinternals.h>
#include <stdlib.h>

static void counter_free(SEXP counter) {
  free(R_ExternalPtrAddr(counter));
  R_ClearExternalPtr(counter);
}

static SEXP new_counter(void) {
  long *value = calloc(1, sizeof *value);
  if (value == NULL) Rf_error("no memory");
  SEXP counter = PROTECT(R_MakeExternalPtr(value, R_NilValue, R_NilValue));
  R_RegisterCFinalizer(counter, counter_free);
  UNPROTECT(1);
  return counter;
}

static SEXP counter_value(SEXP counter) {
  long *value = R_ExternalPtrAddr(counter);
  if (value == NULL) Rf_error("not a counter of this process");
  return Rf_ScalarReal((double)__atomic_load_n(value, __ATOMIC_SEQ_CST));
}

/* by way of void (*)(void), which the compiler knows to be any function */
#define AS_CALLABLE(function) ((DL_FUNC)(void (*)(void))(function))

static const R_CallMethodDef calls[] = {
    {"C_new_counter", AS_CALLABLE(new_counter), 0}, {"C_counter_value", AS_CALLABLE(counter_value), 1}, {NULL, NULL, 0}};

void R_init_drover_handlers(DllInfo *dll) {
  R_registerRoutines(dll, NULL, calls, NULL, NULL);
  R_useDynamicSymbols(dll, FALSE);
#define REGISTER(name) R_RegisterCCallable("drover.handlers", #name, AS_CALLABLE(name));
#define REGISTER_TAGGED(name) DROVER_REGISTER("drover.handlers", #name, name);
#define REGISTER_SOCKET(name) DROVER_REGISTER_SOCKET("drover.handlers", #name, name);
  DROVER_HANDLERS(REGISTER_TAGGED)
  SOCKET_HANDLERS(REGISTER_SOCKET)
  WS_HANDLERS(REGISTER)
  UNARY_HANDLERS(REGISTER)
  STREAM_HANDLERS(REGISTER)
#undef REGISTER_SOCKET
#undef REGISTER_TAGGED
#undef REGISTER
}
