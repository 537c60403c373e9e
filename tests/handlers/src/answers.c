/* Handlers of drover's interface that answer at once. */
#include "handlers.h"
#include <stdlib.h>
#include <string.h>

#define UNUSED(x) (void)(x)

int h_text(drover_request *req, const drover_api *api, void *data) {
  UNUSED(data);
  static const char hello[] = "Hello, World!";
  return api->respond_static(req, 200, "text/plain; charset=utf-8", hello, sizeof hello - 1);
}

int h_json(drover_request *req, const drover_api *api, void *data) {
  UNUSED(data);
  static const char hello[] = "{\"message\":\"Hello, World!\"}";
  return api->respond_static(req, 200, "application/json", hello, sizeof hello - 1);
}

int h_body(drover_request *req, const drover_api *api, void *data) {
  UNUSED(data);
  drover_bytes body = api->body(req);
  if (body.ptr == NULL) return api->fail(req, 500, "no body");
  return api->respond(req, 200, "application/octet-stream", body.ptr, body.len);
}

/* ?status=201&type=text/csv&n=10: n times "x" */
int h_respond(drover_request *req, const drover_api *api, void *data) {
  UNUSED(data);
  drover_bytes query = api->query(req);
  char type[64];
  ask_word(query, "type", type, sizeof type);
  size_t n = (size_t)ask_number(query, "n", 2);
  char *bytes = malloc(n + 1);
  memset(bytes, 'x', n);
  codes_forget();
  codes_note(api->respond(req, (int)ask_number(query, "status", 200), type[0] == '\0' ? NULL : type, bytes, n));
  free(bytes);
  return 0;
}

int h_headers(drover_request *req, const drover_api *api, void *data) {
  UNUSED(data);
  codes_forget();
  codes_note(api->add_header(req, "X-One", "1"));
  codes_note(api->add_header(req, "set-cookie", "a=1"));
  codes_note(api->add_header(req, "set-cookie", "b=2"));
  codes_note(api->add_header(req, "x-split", "a\r\nx-injected: 1"));
  codes_note(api->add_header(req, "x injected", "1"));
  codes_note(api->add_header(req, "Content-Length", "5"));
  codes_note(api->add_header(req, "content-type", "text/html"));
  codes_note(api->add_header(req, NULL, "x"));
  return api->respond(req, 200, "text/plain", "ok", 2);
}

/* Answers with the session. A body takes its place: "-" ends it; ?fails=1 has the answer fail. */
int h_session(drover_request *req, const drover_api *api, void *data) {
  UNUSED(data);
  drover_bytes body = api->body(req);
  codes_forget();
  if (body.len > 0) {
    char *json = malloc(body.len + 1);
    memcpy(json, body.ptr, body.len);
    json[body.len] = '\0';
    codes_note(api->set_session(req, ""));
    codes_note(api->set_session(req, "{\"n\":0}"));
    codes_note(api->set_session(req, strcmp(json, "-") == 0 ? NULL : json));
    free(json);
  }
  if (ask_number(api->query(req), "fails", 0)) return api->fail(req, 503, "not now");
  drover_bytes session = api->session(req);
  if (session.ptr == NULL) return api->respond(req, 200, "application/json", "null", 4);
  return api->respond(req, 200, "application/json", session.ptr, session.len);
}

int h_mark(drover_request *req, const drover_api *api, void *data) {
  UNUSED(data);
  drover_times times;
  memset(&times, 0, sizeof times);
  codes_forget();
  codes_note(api->times(req, &times));
  times.size = sizeof times;
  codes_note(api->times(req, &times));
  uint64_t now = api->now_ns();
  if (times.received_ns > times.started_ns || times.started_ns > now) return 1;
  if (DROVER_HAS(api, mark)) codes_note(api->mark(req, "db", 12345678));
  codes_note(api->mark(req, "not a name", 1));
  codes_note(api->mark(req, "render", 1000));
  return api->respond(req, 200, "text/plain", "ok", 2);
}

int h_log(drover_request *req, const drover_api *api, void *data) {
  UNUSED(data);
  api->log(req, DROVER_INFO, "for your information");
  api->log(req, DROVER_WARN, "a warning\nof two lines");
  api->log(req, DROVER_ERROR, "an error");
  api->log(req, 99, NULL);
  return api->respond(req, 204, "", NULL, 0);
}

/* ?status=404 */
int h_fail(drover_request *req, const drover_api *api, void *data) {
  UNUSED(data);
  codes_forget();
  codes_note(api->fail(req, (int)ask_number(api->query(req), "status", 404), "there is no such thing"));
  return 0;
}

/* ?n=1000 zeros that are never freed */
int h_static(drover_request *req, const drover_api *api, void *data) {
  UNUSED(data);
  static const char zeros[8 << 20];
  size_t n = (size_t)ask_number(api->query(req), "n", 1000);
  return api->respond_static(req, 200, "application/octet-stream", zeros, n > sizeof zeros ? sizeof zeros : n);
}

static long released;

static void release(void *bytes) {
  free(bytes);
  __atomic_add_fetch(&released, 1, __ATOMIC_SEQ_CST);
}

/* ?n=1000 "o" that are freed when they were sent; and a second answer, which is freed at once */
int h_owned(drover_request *req, const drover_api *api, void *data) {
  UNUSED(data);
  size_t n = (size_t)ask_number(api->query(req), "n", 1000);
  char *bytes = malloc(n + 1), *second = malloc(10);
  memset(bytes, 'o', n);
  codes_forget();
  codes_note(api->respond_owned(req, 200, "application/octet-stream", bytes, n, release, bytes));
  codes_note(api->respond_owned(req, 200, NULL, second, 10, release, second));
  codes_note(api->respond_owned(req, 200, NULL, NULL, 10, release, malloc(1)));
  return 0;
}

/* how many bodies of h_owned were released */
int h_released(drover_request *req, const drover_api *api, void *data) {
  UNUSED(data);
  text t = {NULL, 0, 0};
  text_printf(&t, "%ld", __atomic_load_n(&released, __ATOMIC_SEQ_CST));
  int code = api->respond(req, 200, "text/plain", t.ptr, t.len);
  text_free(&t);
  return code;
}

/* `data` is the address of a long, as new_counter() makes it: counts, and says how far */
int h_count(drover_request *req, const drover_api *api, void *data) {
  if (data == NULL) return api->fail(req, 500, "no data");
  text t = {NULL, 0, 0};
  text_printf(&t, "%ld", __atomic_add_fetch((long *)data, 1, __ATOMIC_SEQ_CST));
  int code = api->respond(req, 200, "text/plain", t.ptr, t.len);
  text_free(&t);
  return code;
}

/* `data` is a string or raw vector: sends it back */
int h_data(drover_request *req, const drover_api *api, void *data) {
  const drover_bytes *bytes = data;
  if (bytes == NULL) return api->respond(req, 200, "text/plain", "no data", 7);
  return api->respond(req, 200, "text/plain", bytes->ptr, bytes->len);
}
