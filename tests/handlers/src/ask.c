/* Settings of a call from its query, gates that tests open, and the codes that the last call got. */
#define _POSIX_C_SOURCE 200809L
#include "handlers.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

drover_bytes query_of(const char *query) {
  drover_bytes bytes = {query, query == NULL ? 0 : strlen(query)};
  return bytes;
}

void ask_word(drover_bytes query, const char *name, char *to, size_t size) {
  size_t n = strlen(name);
  to[0] = '\0';
  for (size_t at = 0; at < query.len;) {
    const char *pair = query.ptr + at;
    const char *end = memchr(pair, '&', query.len - at);
    size_t len = end == NULL ? query.len - at : (size_t)(end - pair);
    if (len > n && memcmp(pair, name, n) == 0 && pair[n] == '=') {
      snprintf(to, size, "%.*s", (int)(len - n - 1), pair + n + 1);
      return;
    }
    at += len + 1;
  }
}

long ask_number(drover_bytes query, const char *name, long otherwise) {
  char word[32];
  ask_word(query, name, word, sizeof word);
  return word[0] == '\0' ? otherwise : strtol(word, NULL, 10);
}

/* not at all for 0: the shortest sleep is too long for a handler that is to be quick */
void sleep_ms(long ms) {
  if (ms <= 0) return;
  struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

static int is_there(const char *folder, const char *name, const char *end) {
  char file[512];
  snprintf(file, sizeof file, "%s/%s%s", folder, name, end);
  return access(file, F_OK) == 0;
}

int stand_at(drover_bytes query) {
  char name[64], file[512], part[512];
  const char *folder = getenv("MARKS");
  ask_word(query, "at", name, sizeof name);
  if (name[0] == '\0' || folder == NULL) return 0;
  snprintf(file, sizeof file, "%s/%s", folder, name);
  snprintf(part, sizeof part, "%s/%s~", folder, name);
  FILE *mark = fopen(part, "w");
  if (mark != NULL) {
    fprintf(mark, "%ld\n", (long)getpid());
    fclose(mark);
    /* it is there whole or not at all */
    rename(part, file);
  }
  while (!is_there(folder, name, ".open") && !is_there(folder, "all", ".open")) sleep_ms(5);
  return 1;
}

/* Tests that read the codes have one writer at a time; the atomics are for tests that do not read them. */
static int codes[16];
static int codes_n;

void codes_forget(void) { __atomic_store_n(&codes_n, 0, __ATOMIC_SEQ_CST); }

int codes_note(int code) {
  int at = __atomic_fetch_add(&codes_n, 1, __ATOMIC_SEQ_CST);
  if (at < 16) __atomic_store_n(&codes[at], code, __ATOMIC_SEQ_CST);
  return code;
}

/* {"codes":[0,3]}: what the functions of the table returned in the last handler that notes it. */
int h_codes(drover_request *req, const drover_api *api, void *data) {
  (void)data;
  text t = {NULL, 0, 0};
  int n = __atomic_load_n(&codes_n, __ATOMIC_SEQ_CST);
  text_printf(&t, "{\"codes\":[");
  for (int i = 0; i < n && i < 16; i++) {
    text_printf(&t, i == 0 ? "%d" : ",%d", __atomic_load_n(&codes[i], __ATOMIC_SEQ_CST));
  }
  text_printf(&t, "]}");
  api->respond(req, 200, "application/json", t.ptr, t.len);
  text_free(&t);
  return 0;
}
