/* What this process serves: the handlers of an app, the link that requests come by, and the request object that is used
 * for one after the other. Not for the loop that calls handlers: worker.c. */
#include "serving.h"
#include "hygiene.h"
#include "request.h"
#include "rest.h"
#include "state.h"
#include "streams.h"

struct drv_app drv_app;

static SEXP req_symbol(void) {
  static SEXP symbol = NULL;
  if (!symbol) symbol = Rf_install("req");
  return symbol;
}

SEXP drv_serving_cell(void) {
  if (!drv_app.req || Rf_findVarInFrame(drv_app.scope, req_symbol()) != drv_app.req) return NULL;
  return drv_app.cell;
}

void drv_serving_ensure_request(void) {
  if (drv_serving_cell() && drv_request_is_pristine(drv_app.req) && !drv_cell_is_open(drv_request_cell(drv_app.cell))) {
    drv_request_reset(drv_app.cell);
    return;
  }
  drv_app.req = NULL;
  /* an object takes longer to make than a small reply: what was replied does not wait for it */
  drv_link_notify(drv_here.link);
  SEXP req = PROTECT(drv_request_new());
  Rf_defineVar(req_symbol(), req, drv_app.scope);
  drv_app.cell = drv_request_pointer(req);
  drv_app.req = req;
  UNPROTECT(1);
}

/* .Call: takes the handlers of an app: `scope` has `names` bound to them. */
SEXP drv_serving_app(SEXP scope, SEXP names, SEXP limits) {
  if (drv_here.link) Rf_error("a server is running");
  drv_serving_forget_app();
  SEXP calls = PROTECT(Rf_allocVector(VECSXP, XLENGTH(names)));
  SEXP plain = PROTECT(Rf_allocVector(VECSXP, XLENGTH(names)));
  for (R_xlen_t i = 0; i < XLENGTH(names); i++) {
    SEXP name = Rf_installTrChar(STRING_ELT(names, i));
    SET_VECTOR_ELT(calls, i, Rf_lang2(name, req_symbol()));
    SET_VECTOR_ELT(plain, i, Rf_getAttrib(Rf_findVarInFrame(scope, name), Rf_install("plain")));
  }
  R_PreserveObject(calls);
  R_PreserveObject(plain);
  R_PreserveObject(scope);
  drv_app = (struct drv_app){.calls = calls, .plain = plain, .scope = scope};
  drv_here.max_json_depth = (uint32_t)Rf_asInteger(VECTOR_ELT(limits, 0));
  drv_here.max_collisions = (size_t)Rf_asReal(VECTOR_ELT(limits, 1));
  UNPROTECT(2);
  return R_NilValue;
}

void drv_serving_forget_app(void) {
  if (!drv_app.calls) return;
  R_ReleaseObject(drv_app.calls);
  R_ReleaseObject(drv_app.plain);
  R_ReleaseObject(drv_app.scope);
  drv_app = (struct drv_app){NULL};
}

void drv_serving_open(drv_link *link) {
  drv_app.req = NULL;
  drv_here.stops = drv_here.in_handler = drv_here.awaiting = drv_here.callbacks_left = drv_here.unseen = 0;
  drv_here.link = link;
  drv_rest_note();
  drv_hygiene_note();
}

void drv_serving_close(void) {
  drv_link *link = drv_here.link;
  drv_here.link = NULL;
  if (link) drv_link_free(link);
  drv_streams_forget();
  drv_serving_forget_app();
}
