/* Handlers of drover's interface that take their time: for the pool. */
#define _POSIX_C_SOURCE 200809L
#include "handlers.h"
#include <signal.h>
#include <string.h>

/* ?ms=100, or ?at=NAME */
int h_block(drover_request *req, const drover_api *api, void *data) {
  (void)data;
  drover_bytes query = api->query(req);
  if (!stand_at(query)) sleep_ms(ask_number(query, "ms", 100));
  return api->respond(req, 200, "text/plain", "waited", 6);
}

/* Answers, and then sleeps: ?ms=100, or ?at=NAME */
int h_answer_and_block(drover_request *req, const drover_api *api, void *data) {
  (void)data;
  drover_bytes query = api->query(req);
  int code = api->respond(req, 200, "text/plain", "answered", 8);
  if (!stand_at(query)) sleep_ms(ask_number(query, "ms", 100));
  return code;
}

/* ?ms=100 of work */
int h_spin(drover_request *req, const drover_api *api, void *data) {
  (void)data;
  uint64_t until = api->now_ns() + (uint64_t)ask_number(api->query(req), "ms", 100) * 1000000;
  while (api->now_ns() < until) {
  }
  return api->respond(req, 200, "text/plain", "worked", 6);
}

/* Waits until its request is cancelled, two minutes at most; then answers too late, and notes the code for that. */
int h_until_cancelled(drover_request *req, const drover_api *api, void *data) {
  (void)data;
  for (int i = 0; i < 24000 && !api->is_cancelled(req); i++) sleep_ms(5);
  codes_forget();
  codes_note(api->respond(req, 200, "text/plain", "too late", 8));
  return 0;
}

static void set(void *flag) { __atomic_store_n((int *)flag, 1, __ATOMIC_SEQ_CST); }

/* The same, but told rather than asking. The flag is on the stack: the function is removed before it goes. */
int h_on_cancel(drover_request *req, const drover_api *api, void *data) {
  (void)data;
  int flag = 0;
  codes_forget();
  codes_note(api->on_cancel(req, set, &flag));
  for (int i = 0; i < 24000 && !__atomic_load_n(&flag, __ATOMIC_SEQ_CST); i++) sleep_ms(5);
  codes_note(api->on_cancel(req, NULL, NULL));
  codes_note(api->respond(req, 200, "text/plain", "too late", 8));
  return 0;
}

/* In an inline handler there is nothing yet that could be cancelled: it is told so. */
int h_on_cancel_inline(drover_request *req, const drover_api *api, void *data) {
  int flag = 0;
  (void)data;
  codes_forget();
  codes_note(api->on_cancel(req, set, &flag));
  codes_note(api->is_cancelled(req));
  return api->respond(req, 200, "text/plain", "ok", 2);
}

/* seconds to the deadline, or "none" */
int h_deadline(drover_request *req, const drover_api *api, void *data) {
  drover_times times;
  text t = {NULL, 0, 0};
  (void)data;
  times.size = sizeof times;
  api->times(req, &times);
  if (times.deadline_ns == 0) {
    text_printf(&t, "none");
  } else {
    text_printf(&t, "%llu", (unsigned long long)((times.deadline_ns - api->now_ns()) / 1000000000 + 1));
  }
  int code = api->respond(req, 200, "text/plain", t.ptr, t.len);
  text_free(&t);
  return code;
}

/* whether this thread gets signals */
int h_signals(drover_request *req, const drover_api *api, void *data) {
  sigset_t mask;
  (void)data;
  pthread_sigmask(SIG_BLOCK, NULL, &mask);
  const char *answer = sigismember(&mask, SIGINT) && sigismember(&mask, SIGTERM) ? "blocked" : "not blocked";
  return api->respond(req, 200, "text/plain", answer, strlen(answer));
}
