/* What the files of this package share. model.c: the model. handlers.c, batch.c: handlers for drover's interface.
 * socket.c: a handler of WebSockets. classic.c: handlers with the signatures of drogonR. init.c: what R and drover
 * may call. */
#ifndef TOKENS_H
#define TOKENS_H

#define R_NO_REMAP
#include <Rinternals.h>
#include <drover.h>

/* How often which word follows which. Never changed after it was made: any number of threads may read it. */
typedef struct model model;

typedef struct score {
  size_t tokens; /* words of the text */
  size_t known;  /* those that the model knows */
  double log_probability;
} score;

/* The number of a word, or -1. */
int model_word(const model *m, const char *word, size_t len);
/* What it is, ended by a NUL. */
const char *model_text(const model *m, int word);
/* How often something follows it. */
double model_count(const model *m, int word);
/* One of the words that follow, by `random` in [0, 1); -1 when none does. */
int model_next(const model *m, int word, double random);
score model_score(const model *m, const char *text, size_t len);

/* Writes a score as JSON; returns its length. */
enum { SCORE_JSON = 128 };
size_t score_json(score s, char out[SCORE_JSON]);

/* .Call: an external pointer to a model. */
SEXP model_make(SEXP words, SEXP from, SEXP to, SEXP count);
/* .Call: an external pointer to a batcher. */
SEXP batcher_make(SEXP model);

/* handlers */
int tokens_health(drover_request *req, const drover_api *api, void *data);
int tokens_word(drover_request *req, const drover_api *api, void *data);
int tokens_score(drover_request *req, const drover_api *api, void *data);
int tokens_generate(drover_request *req, const drover_api *api, void *data);
int tokens_batched(drover_request *req, const drover_api *api, void *data);
int tokens_next(drover_socket *socket, const drover_socket_event *event, const drover_api *api, void *data);
int tokens_shout(const char *body, size_t body_len, const char *query, const char *const *path_params,
                 size_t path_params_n, const char *const *headers, size_t headers_n, char **out_body, size_t *out_len,
                 int *out_status, char **out_content_type);
int tokens_spell(const char *body, size_t body_len, const char *query, const char *const *path_params,
                 size_t path_params_n, const char *const *headers, size_t headers_n, drogonr_stream_session_t *session,
                 drogonr_send_chunk_fn send, drogonr_close_stream_fn close, drogonr_is_cancelled_fn is_cancelled,
                 char **out_content_type);

#endif
