/* The model: made once from vectors of R, and copied, so that it is not R's memory and needs no R to be read. */
#include "tokens.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct model {
  int n;         /* words */
  char **words;  /* in the order of strcmp() */
  int *start;    /* those that follow word w are at start[w] to start[w + 1] of: */
  int *to;       /* which word */
  double *count; /* how often */
  double *total; /* of each word: how often something follows it */
};

enum { LONGEST_WORD = 63 };

static void model_free(model *m) {
  if (m == NULL) return;
  for (int i = 0; m->words != NULL && i < m->n; i++) free(m->words[i]);
  free(m->words);
  free(m->start);
  free(m->to);
  free(m->count);
  free(m->total);
  free(m);
}

static void finalize(SEXP pointer) {
  model_free(R_ExternalPtrAddr(pointer));
  R_ClearExternalPtr(pointer);
}

SEXP model_make(SEXP words, SEXP from, SEXP to, SEXP count) {
  int n = LENGTH(words), pairs = LENGTH(from);
  model *m = calloc(1, sizeof *m);
  /* R knows of it before anything below can fail */
  SEXP pointer = PROTECT(R_MakeExternalPtr(m, R_NilValue, R_NilValue));
  R_RegisterCFinalizerEx(pointer, finalize, TRUE);
  if (m == NULL) Rf_error("no memory for the model");
  m->n = n;
  m->words = calloc((size_t)n + 1, sizeof *m->words);
  m->start = calloc((size_t)n + 1, sizeof *m->start);
  m->total = calloc((size_t)n + 1, sizeof *m->total);
  m->to = calloc((size_t)pairs + 1, sizeof *m->to);
  m->count = calloc((size_t)pairs + 1, sizeof *m->count);
  if (!m->words || !m->start || !m->total || !m->to || !m->count) Rf_error("no memory for the model");
  for (int i = 0; i < n; i++) {
    m->words[i] = strdup(CHAR(STRING_ELT(words, i)));
    if (m->words[i] == NULL) Rf_error("no memory for the model");
  }
  for (int i = 0; i < pairs; i++) {
    int word = INTEGER(from)[i] - 1;
    m->start[word + 1]++;
    m->to[i] = INTEGER(to)[i] - 1;
    m->count[i] = REAL(count)[i];
    m->total[word] += m->count[i];
  }
  for (int i = 0; i < n; i++) m->start[i + 1] += m->start[i];
  UNPROTECT(1);
  return pointer;
}

int model_word(const model *m, const char *word, size_t len) {
  int low = 0, high = m->n - 1;
  while (low <= high) {
    int middle = low + (high - low) / 2;
    int order = strncmp(m->words[middle], word, len);
    if (order == 0 && m->words[middle][len] != 0) order = 1;
    if (order == 0) return middle;
    if (order < 0) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

const char *model_text(const model *m, int word) { return m->words[word]; }

double model_count(const model *m, int word) { return m->total[word]; }

int model_next(const model *m, int word, double random) {
  double left = random * m->total[word];
  for (int i = m->start[word]; i < m->start[word + 1]; i++) {
    left -= m->count[i];
    if (left < 0) return m->to[i];
  }
  return -1;
}

static double pair_count(const model *m, int from, int to) {
  for (int i = m->start[from]; i < m->start[from + 1]; i++) {
    if (m->to[i] == to) return m->count[i];
  }
  return 0;
}

/* The next word of a text, in lower case. Its length, 0 at the end. */
static size_t take_word(const char **at, const char *end, char word[LONGEST_WORD]) {
  size_t len = 0;
  for (; *at < end; (*at)++) {
    char c = **at;
    if (c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
    int part = (c >= 'a' && c <= 'z') || c == '\'';
    if (part && len < LONGEST_WORD) word[len++] = c;
    if (!part && len > 0) break;
  }
  return len;
}

score model_score(const model *m, const char *text, size_t len) {
  score s = {0, 0, 0};
  char word[LONGEST_WORD];
  const char *at = text, *end = text + len;
  int before = -1;
  size_t n;
  while ((n = take_word(&at, end, word)) > 0) {
    int now = model_word(m, word, n);
    s.tokens++;
    s.known += now >= 0;
    if (s.tokens > 1) {
      /* every pair counts as seen once more than it was */
      double seen = before >= 0 && now >= 0 ? pair_count(m, before, now) : 0;
      double of = before >= 0 ? m->total[before] : 0;
      s.log_probability += log((seen + 1) / (of + m->n));
    }
    before = now;
  }
  return s;
}

size_t score_json(score s, char out[SCORE_JSON]) {
  int n = snprintf(out, SCORE_JSON, "{\"tokens\":%zu,\"known\":%zu,\"log_probability\":%.4f}", s.tokens, s.known,
                   s.log_probability);
  return (size_t)n;
}
