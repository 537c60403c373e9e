/* C handlers of other packages on their way from R to the engine: their addresses, and what R keeps for them. They are
 * not called from here, and not with R: crate `native`. Neighbours: R/worker-natives.R, binding/src/natives.rs. */
#include "natives.h"
#include "r.h"
#include <R_ext/Rdynload.h>
#include <string.h>

struct name {
  const char *package, *callable;
};

static SEXP look_up(void *data) {
  const struct name *name = data;
  return R_MakeExternalPtrFn(R_GetCCallable(name->package, name->callable), R_NilValue, R_NilValue);
}

static SEXP say_why(SEXP condition, void *data) {
  (void)data;
  /* R's own errors have a message first */
  SEXP message = TYPEOF(condition) == VECSXP && XLENGTH(condition) > 0 ? VECTOR_ELT(condition, 0) : R_NilValue;
  return TYPEOF(message) == STRSXP && XLENGTH(message) == 1 ? message : Rf_mkString("it is not known why");
}

SEXP drv_natives_resolve(SEXP package, SEXP callable) {
  struct name name = {CHAR(STRING_ELT(package, 0)), CHAR(STRING_ELT(callable, 0))};
  return R_tryCatchError(look_up, &name, say_why, NULL);
}

static int32_t interface_of(SEXP name) {
  drv_str text = drv_text(name);
  static const char *const names[] = {"unary", "stream", "drover", "ws", "socket"};
  for (int32_t i = 0; i < 5; i++) {
    if (strlen(names[i]) == text.len && !memcmp(names[i], text.ptr, text.len)) return i;
  }
  Rf_error("unknown interface of a C handler");
}

/* list(pointer, interface, data, content_type, params, route), as natives_for_engine() makes it */
static drv_native one(SEXP handler) {
  SEXP data = VECTOR_ELT(handler, 2), params = VECTOR_ELT(handler, 4);
  drv_native out = {
      .function = (void (*)(void))R_ExternalPtrAddrFn(VECTOR_ELT(handler, 0)),
      .interface = interface_of(VECTOR_ELT(handler, 1)),
      .route = drv_text(VECTOR_ELT(handler, 5)),
      .content_type = drv_text(VECTOR_ELT(handler, 3)),
      .params = drv_texts(params),
      .n_params = (size_t)XLENGTH(params),
  };
  if (TYPEOF(data) == EXTPTRSXP) {
    out.data_kind = DRV_DATA_POINTER;
    out.data = R_ExternalPtrAddr(data);
  } else if (TYPEOF(data) == RAWSXP) {
    out.data_kind = DRV_DATA_BYTES;
    out.data = RAW(data);
    out.data_len = (size_t)XLENGTH(data);
  }
  return out;
}

drv_natives drv_natives_of(SEXP handlers) {
  size_t n = (size_t)XLENGTH(handlers);
  drv_native *all = (drv_native *)R_alloc(n ? n : 1, sizeof(drv_native));
  for (size_t i = 0; i < n; i++) all[i] = one(VECTOR_ELT(handlers, (R_xlen_t)i));
  return (drv_natives){all, n};
}
