/* Handlers with drogonR's signature. */
#include "handlers.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define UNARY(name)                                                                                                       \
  int name(const char *body, size_t body_len, const char *query, const char *const *params, size_t params_n,             \
           const char *const *headers, size_t headers_n, char **out_body, size_t *out_len, int *out_status,               \
           char **out_content_type)
#define UNUSED_INPUTS (void)body, (void)body_len, (void)query, (void)params, (void)params_n, (void)headers, (void)headers_n
#define UNUSED_OUTPUTS (void)out_body, (void)out_len, (void)out_status, (void)out_content_type

static char *copy(const char *bytes, size_t len) {
  char *to = malloc(len + 1);
  if (len > 0) memcpy(to, bytes, len);
  to[len] = '\0';
  return to;
}

static int answer(const char *content_type, const char *bytes, size_t len, char **out_body, size_t *out_len,
                  char **out_content_type) {
  *out_body = copy(bytes, len);
  *out_len = len;
  if (content_type != NULL) *out_content_type = copy(content_type, strlen(content_type));
  return 0;
}

UNARY(old_text) {
  UNUSED_INPUTS, (void)out_status;
  return answer("text/plain; charset=utf-8", "Hello, World!", 13, out_body, out_len, out_content_type);
}

UNARY(old_json) {
  UNUSED_INPUTS, (void)out_status;
  static const char hello[] = "{\"message\":\"Hello, World!\"}";
  return answer("application/json", hello, sizeof hello - 1, out_body, out_len, out_content_type);
}

/* the request's body */
UNARY(old_body) {
  UNUSED_INPUTS, (void)out_status;
  return answer(NULL, body, body_len, out_body, out_len, out_content_type);
}

/* ?status=201&n=10: n times "x" */
UNARY(old_respond) {
  UNUSED_INPUTS, (void)out_content_type;
  size_t n = (size_t)ask_number(query_of(query), "n", 2);
  *out_status = (int)ask_number(query_of(query), "status", 200);
  *out_body = malloc(n + 1);
  *out_len = n;
  memset(*out_body, 'x', n);
  return 0;
}

/* ?ms=100, or ?at=NAME */
UNARY(old_block) {
  UNUSED_INPUTS, (void)out_status;
  if (!stand_at(query_of(query))) sleep_ms(ask_number(query_of(query), "ms", 100));
  return answer("text/plain", "waited", 6, out_body, out_len, out_content_type);
}

UNARY(old_nonzero) {
  UNUSED_INPUTS, UNUSED_OUTPUTS;
  return 1;
}

UNARY(old_nonzero_with_output) {
  UNUSED_INPUTS, (void)out_status;
  answer("text/plain", "secret", 6, out_body, out_len, out_content_type);
  return -1;
}

/* neither body nor length nor type */
UNARY(old_empty) {
  UNUSED_INPUTS, UNUSED_OUTPUTS;
  return 0;
}

UNARY(old_null_body) {
  UNUSED_INPUTS, (void)out_body, (void)out_status, (void)out_content_type;
  *out_len = 5;
  return 0;
}

UNARY(old_garbage_length) {
  UNUSED_INPUTS, (void)out_status;
  answer("text/plain", "x", 1, out_body, out_len, out_content_type);
  *out_len = SIZE_MAX - 7;
  return 0;
}

/* a megabyte, of which there are some bytes */
UNARY(old_too_long) {
  UNUSED_INPUTS, (void)out_status;
  answer("text/plain", "x", 1, out_body, out_len, out_content_type);
  *out_len = 1000000;
  return 0;
}

UNARY(old_bad_type) {
  UNUSED_INPUTS, (void)out_status;
  return answer("text/plain\r\nx-injected: 1", "x", 1, out_body, out_len, out_content_type);
}
