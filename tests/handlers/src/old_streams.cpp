// Handlers with drogonR's signatures that stream, and one that throws.
#include "handlers.h"

#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

#define STREAM(name)                                                                                                      \
  int name(const char *, size_t, const char *query, const char *const *, size_t, const char *const *, size_t,             \
           drogonr_stream_session_t *session, drogonr_send_chunk_fn send, drogonr_close_stream_fn close,                  \
           drogonr_is_cancelled_fn is_cancelled, char **out_content_type)
#define UNUSED (void)query, (void)session, (void)send, (void)close, (void)is_cancelled, (void)out_content_type

int old_throw(const char *, size_t, const char *, const char *const *, size_t, const char *const *, size_t, char **,
              size_t *, int *, char **) {
  throw std::runtime_error("the model has no weights");
}

// ?n=3&ms=0&type=text/csv: n events, ms apart
STREAM(old_stream) {
  UNUSED;
  char type[64];
  ask_word(query_of(query), "type", type, sizeof type);
  if (type[0] != '\0') *out_content_type = strdup(type);
  long n = ask_number(query_of(query), "n", 3), ms = ask_number(query_of(query), "ms", 0);
  for (long i = 1; i <= n; i++) {
    char event[32];
    int len = std::snprintf(event, sizeof event, "data: %ld\n\n", i);
    if (send(session, event, static_cast<size_t>(len)) != 0) break;
    if (ms > 0) sleep_ms(ms);
  }
  return 0;
}

// until nobody reads; notes what it was told then
STREAM(old_stream_endless) {
  UNUSED;
  std::string piece(1000, '.');
  codes_forget();
  while (send(session, piece.data(), piece.size()) == 0) {
  }
  codes_note(is_cancelled(session));
  return 0;
}

STREAM(old_stream_empty) {
  UNUSED;
  *out_content_type = strdup("text/csv");
  return 0;
}

STREAM(old_stream_close) {
  UNUSED;
  codes_forget();
  codes_note(send(session, "one", 3));
  close(session);
  close(session);
  codes_note(send(session, "two", 3));
  return 0;
}

STREAM(old_stream_fail_first) {
  UNUSED;
  return 1;
}

STREAM(old_stream_fail) {
  UNUSED;
  send(session, "one", 3);
  return 1;
}

STREAM(old_stream_throw) {
  UNUSED;
  send(session, "one", 3);
  throw std::runtime_error("in the middle");
}

STREAM(old_stream_bad_type) {
  UNUSED;
  *out_content_type = strdup("text/plain\nx-injected: 1");
  codes_forget();
  codes_note(send(session, "one", 3));
  return 0;
}
