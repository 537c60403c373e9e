/* Everything that can be asked of a request, as JSON: by both interfaces. */
#include "handlers.h"
#include <stdlib.h>
#include <string.h>

static void field(text *t, const char *name, drover_bytes value) {
  text_printf(t, "%s\"%s\":", t->len == 0 ? "{" : ",", name);
  text_json(t, value.ptr, value.len);
}

/* param "id", cookie "session" and header "X-Test" by name; params and headers all; ids and ports as numbers */
int h_echo(drover_request *req, const drover_api *api, void *data) {
  (void)data;
  text t = {NULL, 0, 0};
  field(&t, "method", api->method(req));
  field(&t, "path", api->path(req));
  field(&t, "target", api->target(req));
  field(&t, "query", api->query(req));
  field(&t, "body", api->body(req));
  field(&t, "remote_addr", api->remote_addr(req));
  field(&t, "param_id", api->param(req, "id"));
  field(&t, "cookie_session", api->cookie(req, "session"));
  field(&t, "header_x_test", api->header(req, "X-Test"));
  field(&t, "header_missing", api->header(req, "X-Missing"));
  if (DROVER_HAS(api, auth)) {
    field(&t, "tls_protocol", api->tls(req, "protocol"));
    field(&t, "tls_client_subject", api->tls(req, "client_subject"));
    field(&t, "tls_missing", api->tls(req, "no such fact"));
    text_printf(&t, ",\"https\":%s", api->is_https(req) ? "true" : "false");
    /* it is JSON already */
    drover_bytes auth = api->auth(req);
    text_printf(&t, ",\"auth\":%.*s", auth.ptr ? (int)auth.len : 4, auth.ptr ? auth.ptr : "null");
  }
  if (DROVER_HAS(api, base_path)) field(&t, "base_path", api->base_path(req));
  text_printf(&t, ",\"remote_port\":%u,\"http2\":%s,\"id\":\"%016llx\",\"params\":[", (unsigned)api->remote_port(req),
              api->is_http2(req) ? "true" : "false", (unsigned long long)api->id(req));
  for (size_t i = 0; i < api->param_count(req); i++) {
    drover_bytes value = api->param_at(req, i);
    if (i > 0) text_add(&t, ",", 1);
    text_json(&t, value.ptr, value.len);
  }
  text_printf(&t, "],\"headers\":[");
  drover_bytes name, value;
  for (size_t i = 0; api->header_at(req, i, &name, &value); i++) {
    text_add(&t, i == 0 ? "[" : ",[", i == 0 ? 1 : 2);
    text_json(&t, name.ptr, name.len);
    text_add(&t, ",", 1);
    text_json(&t, value.ptr, value.len);
    text_add(&t, "]", 1);
  }
  text_printf(&t, "],\"header_count\":%zu}", api->header_count(req));
  int code = api->respond(req, 200, "application/json", t.ptr, t.len);
  text_free(&t);
  return code;
}

int old_echo(const char *body, size_t body_len, const char *query, const char *const *params, size_t params_n,
             const char *const *headers, size_t headers_n, char **out_body, size_t *out_len, int *out_status,
             char **out_content_type) {
  (void)out_status;
  text t = {NULL, 0, 0};
  text_printf(&t, "{\"body\":");
  text_json(&t, body, body_len);
  text_printf(&t, ",\"query\":");
  text_json(&t, query, query == NULL ? 0 : strlen(query));
  text_printf(&t, ",\"params\":%s", params == NULL ? "null" : "[");
  for (size_t i = 0; i < params_n; i++) {
    if (i > 0) text_add(&t, ",", 1);
    text_json(&t, params[i], strlen(params[i]));
  }
  text_printf(&t, "%s,\"headers\":[", params == NULL ? "" : "]");
  for (size_t i = 0; i < headers_n; i++) {
    text_add(&t, i == 0 ? "[" : ",[", i == 0 ? 1 : 2);
    text_json(&t, headers[2 * i], strlen(headers[2 * i]));
    text_add(&t, ",", 1);
    text_json(&t, headers[2 * i + 1], strlen(headers[2 * i + 1]));
    text_add(&t, "]", 1);
  }
  text_printf(&t, "]}");
  *out_body = t.ptr;
  *out_len = t.len;
  *out_content_type = strcpy(malloc(17), "application/json");
  return 0;
}
