/* Text that grows, and JSON strings. */
#include "handlers.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_add(text *t, const char *bytes, size_t len) {
  if (t->len + len + 1 > t->room) {
    t->room = 2 * (t->len + len + 1);
    t->ptr = realloc(t->ptr, t->room);
    if (t->ptr == NULL) abort();
  }
  if (len > 0) memcpy(t->ptr + t->len, bytes, len);
  t->len += len;
  t->ptr[t->len] = '\0';
}

void text_printf(text *t, const char *format, ...) {
  char piece[512];
  va_list arguments;
  va_start(arguments, format);
  int n = vsnprintf(piece, sizeof piece, format, arguments);
  va_end(arguments);
  text_add(t, piece, n < (int)sizeof piece ? (size_t)n : sizeof piece - 1);
}

void text_json(text *t, const char *bytes, size_t len) {
  if (bytes == NULL) {
    text_add(t, "null", 4);
    return;
  }
  text_add(t, "\"", 1);
  for (size_t i = 0; i < len; i++) {
    unsigned char c = (unsigned char)bytes[i];
    if (c == '"' || c == '\\') {
      text_printf(t, "\\%c", c);
    } else if (c < 0x20) {
      text_printf(t, "\\u%04x", c);
    } else {
      text_add(t, bytes + i, 1);
    }
  }
  text_add(t, "\"", 1);
}

void text_free(text *t) {
  free(t->ptr);
  t->ptr = NULL;
  t->len = t->room = 0;
}
