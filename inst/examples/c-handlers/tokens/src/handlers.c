/* Handlers that answer before they return. They run on several threads at once, and never on R's. */
#include "tokens.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Inline, and without any work: text that is there as long as the process. */
int tokens_health(drover_request *req, const drover_api *api, void *data) {
  (void)data;
  api->respond_static(req, 200, "text/plain; charset=utf-8", "ok\n", 3);
  return 0;
}

/* Inline: GET /words/:word. A search among some words takes less than a microsecond, and waits for nothing. */
int tokens_word(drover_request *req, const drover_api *api, void *data) {
  const model *m = data;
  drover_bytes given = api->param(req, "word");
  int word = model_word(m, given.ptr, given.len);
  if (word < 0) {
    api->fail(req, 404, "the model does not know this word");
    return 0;
  }
  char json[160];
  /* the model's words are letters and apostrophes: nothing to escape */
  int n = snprintf(json, sizeof json, "{\"word\":\"%s\",\"followed\":%.0f}", model_text(m, word), model_count(m, word));
  if (n < 0 || (size_t)n >= sizeof json) return 1;
  api->respond(req, 200, "application/json", json, (size_t)n);
  return 0;
}

/* On the pool: POST /score of any text. The larger it is, the longer it takes. */
int tokens_score(drover_request *req, const drover_api *api, void *data) {
  drover_bytes text = api->body(req);
  if (text.len == 0) {
    api->fail(req, 422, "send some text");
    return 0;
  }
  uint64_t began = api->now_ns();
  score s = model_score(data, text.ptr, text.len);
  api->mark(req, "score", api->now_ns() - began);
  char json[SCORE_JSON];
  api->respond(req, 200, "application/json", json, score_json(s, json));
  return 0;
}

/* On the pool: GET /generate/:word/<n:int>, server-sent events. send() waits for a slow client, which blocks this
 * thread and nothing else; it fails when the client has gone, and then there is no point in going on. */
int tokens_generate(drover_request *req, const drover_api *api, void *data) {
  const model *m = data;
  drover_bytes given = api->param(req, "word"), wanted = api->param(req, "n");
  int word = model_word(m, given.ptr, given.len);
  if (word < 0) {
    api->fail(req, 404, "the model does not know this word");
    return 0;
  }
  char digits[12] = "";
  memcpy(digits, wanted.ptr, wanted.len < sizeof digits ? wanted.len : sizeof digits - 1);
  long n = strtol(digits, NULL, 10);
  /* the same word gets the same story */
  uint64_t state = 88172645463325252u + (uint64_t)word;
  api->add_header(req, "Cache-Control", "no-cache");
  if (api->begin(req, 200, "text/event-stream") != DROVER_OK) return 0;
  for (long i = 0; i < n && word >= 0; i++) {
    char event[80];
    int len = snprintf(event, sizeof event, "data: %s\n\n", model_text(m, word));
    if (api->send(req, event, (size_t)len) != DROVER_OK) return 0;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    word = model_next(m, word, (double)(state >> 11) / 9007199254740992.0);
  }
  api->end(req);
  return 0;
}
