/* What the handlers of this package share, and all of them by name. README.md says what each does. */
#ifndef HANDLERS_H
#define HANDLERS_H

#include <drogonR.h> /* which is drover.h */

#ifdef __cplusplus
extern "C" {
#endif

/* --- text.c: text that grows --- */

typedef struct text {
  char *ptr;
  size_t len, room;
} text;

void text_add(text *t, const char *bytes, size_t len);
void text_printf(text *t, const char *format, ...);
/* as a JSON string; null when `bytes` is NULL */
void text_json(text *t, const char *bytes, size_t len);
/* malloc()ed and ended by a NUL */
void text_free(text *t);

/* --- ask.c: numbers, words and gates from a query string, codes for a later look --- */

long ask_number(drover_bytes query, const char *name, long otherwise);
/* copies up to `size` - 1 bytes; "" when it is not there */
void ask_word(drover_bytes query, const char *name, char *to, size_t size);
drover_bytes query_of(const char *query);
void sleep_ms(long ms);
/* ?at=NAME: leaves that mark in the folder MARKS, and waits until the test opens the gate (tests/lib/gates.R). 0 at
   once without a name. */
int stand_at(drover_bytes query);
/* the last codes that functions of the table returned, for h_codes */
void codes_forget(void);
int codes_note(int code);

/* --- handlers of drover's interface --- */
#define DROVER_HANDLERS(X) \
  X(h_text) X(h_json) X(h_echo) X(h_body) X(h_respond) X(h_headers) X(h_session) X(h_mark) X(h_log) X(h_fail) \
  X(h_static) X(h_owned) X(h_released) X(h_count) X(h_data) X(h_codes) \
  X(h_nonzero) X(h_silent) X(h_throw) X(h_throw_int) X(h_answer_then_throw) X(h_twice) X(h_invalid) \
  X(h_block) X(h_answer_and_block) X(h_spin) X(h_until_cancelled) X(h_on_cancel) X(h_on_cancel_inline) \
  X(h_deadline) X(h_signals) \
  X(h_later) X(h_later_twice) X(h_later_cancelled) X(h_later_on_cancel) X(h_never) X(h_dropped) X(h_defer_then_fail) \
  X(h_stream) X(h_stream_endless) X(h_stream_fail) X(h_stream_throw) X(h_stream_break) X(h_stream_open) \
  X(h_stream_later) X(h_stream_order) X(h_stream_full) \
  X(h_use_after_free) X(h_race) X(h_segfault) X(h_abort) X(h_exit) X(h_end_thread)

/* --- handlers with drogonR's signature --- */
#define UNARY_HANDLERS(X) \
  X(old_text) X(old_json) X(old_echo) X(old_body) X(old_respond) X(old_block) \
  X(old_nonzero) X(old_nonzero_with_output) X(old_throw) X(old_empty) X(old_null_body) X(old_garbage_length) X(old_too_long) \
  X(old_bad_type)

/* --- streaming ones --- */
#define STREAM_HANDLERS(X) \
  X(old_stream) X(old_stream_endless) X(old_stream_empty) X(old_stream_close) X(old_stream_fail_first) \
  X(old_stream_fail) X(old_stream_throw) X(old_stream_bad_type)

/* --- of WebSockets, by drover's interface and drogonR's --- */
#define SOCKET_HANDLERS(X) X(s_talk)
#define WS_HANDLERS(X) X(ws_talk)

#define DECLARE(name) \
  int name(drover_socket *socket, const drover_socket_event *event, const drover_api *api, void *data);
SOCKET_HANDLERS(DECLARE)
#undef DECLARE
#define DECLARE(name)                                                                                                  \
  int name(drogonr_ws_session_t *session, drogonr_ws_event_t event, const char *msg, size_t len, int binary,            \
           drogonr_ws_send_fn send, drogonr_ws_close_fn close, drogonr_ws_is_connected_fn is_connected);
WS_HANDLERS(DECLARE)
#undef DECLARE
#define DECLARE(name) int name(drover_request *req, const drover_api *api, void *data);
DROVER_HANDLERS(DECLARE)
#undef DECLARE
#define DECLARE(name)                                                                                                     \
  int name(const char *body, size_t body_len, const char *query, const char *const *params, size_t params_n,             \
           const char *const *headers, size_t headers_n, char **out_body, size_t *out_len, int *out_status,               \
           char **out_content_type);
UNARY_HANDLERS(DECLARE)
#undef DECLARE
#define DECLARE(name)                                                                                                     \
  int name(const char *body, size_t body_len, const char *query, const char *const *params, size_t params_n,             \
           const char *const *headers, size_t headers_n, drogonr_stream_session_t *session, drogonr_send_chunk_fn send,   \
           drogonr_close_stream_fn close, drogonr_is_cancelled_fn is_cancelled, char **out_content_type);
STREAM_HANDLERS(DECLARE)
#undef DECLARE

#ifdef __cplusplus
}
#endif

#endif
