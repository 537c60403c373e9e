/* Requests of dr_test() to the server of this session. Neighbours: rust/crates/binding/src/exchange.rs,
 * R/test-client.R. */
#include "exchange.h"
#include "build.h"
#include "drover_rust.h"
#include "r.h"
#include <string.h>

static void finalize(SEXP pointer) {
  drv_exchange_free(R_ExternalPtrAddr(pointer));
  R_ClearExternalPtr(pointer);
}

SEXP drv_call_exchange_begin(SEXP path, SEXP request) {
  SEXP pointer = PROTECT(R_MakeExternalPtr(NULL, R_NilValue, R_NilValue));
  R_RegisterCFinalizer(pointer, finalize);
  drv_error error;
  drv_exchange *exchange = drv_exchange_begin(drv_text(path), RAW(request), (size_t)XLENGTH(request), &error);
  UNPROTECT(1);
  if (!exchange) return Rf_ScalarString(drv_mkchar(error.message));
  R_SetExternalPtrAddr(pointer, exchange);
  return pointer;
}

SEXP drv_call_exchange_go_on(SEXP pointer, SEXP enough) {
  drv_exchange *exchange = R_ExternalPtrAddr(pointer);
  if (!exchange) Rf_error("this exchange has ended");
  if (!drv_exchange_go_on(exchange) && Rf_asLogical(enough) != TRUE) return R_NilValue;
  drv_str answer = drv_exchange_answer(exchange);
  SEXP raw = PROTECT(Rf_allocVector(RAWSXP, (R_xlen_t)answer.len));
  if (answer.len) memcpy(RAW(raw), answer.ptr, answer.len);
  finalize(pointer);
  UNPROTECT(1);
  return raw;
}
