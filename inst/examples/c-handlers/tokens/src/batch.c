/* Answers that come later and from another thread: requests are put together while the thread is busy, and then scored
 * in one go, which is how a model on a GPU is best asked. The handler itself is inline: it does nothing but pass the
 * request on. */
#include "tokens.h"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

typedef struct item {
  drover_request *handle;
  const drover_api *api;
  struct item *next;
} item;

typedef struct batcher {
  const model *m;
  pthread_t thread;
  pthread_mutex_t lock; /* for all below */
  pthread_cond_t news;
  item *first, *last;
  int stop;
} batcher;

static void answer(const model *m, item *one) {
  /* its client may have gone while it waited */
  if (!one->api->is_cancelled(one->handle)) {
    drover_bytes text = one->api->body(one->handle);
    char json[SCORE_JSON];
    size_t len = score_json(model_score(m, text.ptr, text.len), json);
    one->api->respond(one->handle, 200, "application/json", json, len);
  }
  one->api->release(one->handle);
  free(one);
}

static void *work(void *arg) {
  batcher *b = arg;
  pthread_mutex_lock(&b->lock);
  while (!b->stop) {
    if (b->first == NULL) {
      pthread_cond_wait(&b->news, &b->lock);
      continue;
    }
    item *batch = b->first;
    b->first = b->last = NULL;
    pthread_mutex_unlock(&b->lock);
    while (batch != NULL) {
      item *next = batch->next;
      answer(b->m, batch);
      batch = next;
    }
    pthread_mutex_lock(&b->lock);
  }
  pthread_mutex_unlock(&b->lock);
  return NULL;
}

int tokens_batched(drover_request *req, const drover_api *api, void *data) {
  batcher *b = data;
  item *one = calloc(1, sizeof *one);
  if (one == NULL) return 1;
  one->api = api;
  one->handle = api->defer(req);
  if (one->handle == NULL) {
    free(one);
    return 1;
  }
  pthread_mutex_lock(&b->lock);
  if (b->last != NULL) b->last->next = one;
  else b->first = one;
  b->last = one;
  pthread_cond_signal(&b->news);
  pthread_mutex_unlock(&b->lock);
  return 0;
}

/* R has no use for the pointer any more: the server has stopped. What still waits gets an error from the server. */
static void finalize(SEXP pointer) {
  batcher *b = R_ExternalPtrAddr(pointer);
  if (b == NULL) return;
  R_ClearExternalPtr(pointer);
  pthread_mutex_lock(&b->lock);
  b->stop = 1;
  pthread_cond_signal(&b->news);
  pthread_mutex_unlock(&b->lock);
  pthread_join(b->thread, NULL);
  while (b->first != NULL) {
    item *next = b->first->next;
    b->first->api->release(b->first->handle);
    free(b->first);
    b->first = next;
  }
  pthread_cond_destroy(&b->news);
  pthread_mutex_destroy(&b->lock);
  free(b);
}

SEXP batcher_make(SEXP model) {
  if (TYPEOF(model) != EXTPTRSXP || R_ExternalPtrAddr(model) == NULL) Rf_error("`model` must be what tokens_model() makes");
  batcher *b = calloc(1, sizeof *b);
  if (b == NULL) Rf_error("no memory for the batcher");
  b->m = R_ExternalPtrAddr(model);
  pthread_mutex_init(&b->lock, NULL);
  pthread_cond_init(&b->news, NULL);
  /* Signals are for R's thread, and a thread that is born now has this one's mask. */
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failed = pthread_create(&b->thread, NULL, work, b);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (failed) {
    free(b);
    Rf_error("no thread for the batcher");
  }
  /* the third argument: the model lives as long as the batcher */
  SEXP pointer = PROTECT(R_MakeExternalPtr(b, R_NilValue, model));
  R_RegisterCFinalizer(pointer, finalize);
  UNPROTECT(1);
  return pointer;
}
