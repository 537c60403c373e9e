/* Handlers with the signatures of drogonR: what was written for it needs no change but the name of the header. */
#include "tokens.h"
#include <stdlib.h>
#include <string.h>

/* GET /shout/:word */
int tokens_shout(const char *body, size_t body_len, const char *query, const char *const *path_params,
                 size_t path_params_n, const char *const *headers, size_t headers_n, char **out_body, size_t *out_len,
                 int *out_status, char **out_content_type) {
  (void)body, (void)body_len, (void)query, (void)headers, (void)headers_n, (void)out_status;
  if (path_params_n < 1) return 1;
  char *word = strdup(path_params[0]);
  if (word == NULL) return 1;
  for (char *c = word; *c != 0; c++) {
    if (*c >= 'a' && *c <= 'z') *c = (char)(*c - 'a' + 'A');
  }
  *out_body = word;
  *out_len = strlen(word);
  *out_content_type = strdup("text/plain; charset=utf-8");
  return 0;
}

/* GET /spell/:word, a letter at a time */
int tokens_spell(const char *body, size_t body_len, const char *query, const char *const *path_params,
                 size_t path_params_n, const char *const *headers, size_t headers_n, drogonr_stream_session_t *session,
                 drogonr_send_chunk_fn send, drogonr_close_stream_fn close, drogonr_is_cancelled_fn is_cancelled,
                 char **out_content_type) {
  (void)body, (void)body_len, (void)query, (void)headers, (void)headers_n, (void)out_content_type;
  if (path_params_n < 1) return 1;
  for (const char *c = path_params[0]; *c != 0; c++) {
    char event[] = "data: ?\n\n";
    event[6] = *c;
    if (is_cancelled(session) || send(session, event, sizeof event - 1) != 0) return 0;
  }
  close(session);
  return 0;
}
