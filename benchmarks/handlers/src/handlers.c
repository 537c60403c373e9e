/* The handlers of the trial "native": fixed answers, by drover's interface and by drogonR's. */
#define R_NO_REMAP
#include <R_ext/Rdynload.h>
#include <R_ext/Visibility.h>
#include <Rinternals.h>
#include <drover.h>
#include <stdlib.h>
#include <string.h>

static int bench_text(drover_request *req, const drover_api *api, void *data) {
  (void)data;
  api->respond_static(req, 200, "text/plain", "Hello, world!", 13);
  return 0;
}

static int bench_json(drover_request *req, const drover_api *api, void *data) {
  (void)data;
  api->respond_static(req, 200, "application/json", "{\"ok\":true}", 11);
  return 0;
}

static int bench_unary(const char *body, size_t body_len, const char *query, const char *const *path_params,
                       size_t path_params_n, const char *const *headers, size_t headers_n, char **out_body,
                       size_t *out_len, int *out_status, char **out_content_type) {
  (void)body, (void)body_len, (void)query, (void)path_params, (void)path_params_n, (void)headers, (void)headers_n;
  (void)out_status;
  *out_body = strdup("Hello, world!");
  *out_content_type = strdup("text/plain");
  if (*out_body == NULL || *out_content_type == NULL) return 1;
  *out_len = 13;
  return 0;
}

void attribute_visible R_init_benchhandlers(DllInfo *dll) {
  R_registerRoutines(dll, NULL, NULL, NULL, NULL);
  R_useDynamicSymbols(dll, FALSE);
  /* by way of void (*)(void), which the compiler knows to be any function */
  DROVER_REGISTER("benchhandlers", "bench_text", bench_text);
  DROVER_REGISTER("benchhandlers", "bench_json", bench_json);
  R_RegisterCCallable("benchhandlers", "bench_unary", (DL_FUNC)(void (*)(void))bench_unary);
}
