/* What a worker process prints, as lines of the log, which then name the request: with log_format = "json" whoever
 * reads standard error reads JSON and nothing else. Not for what programs and compiled code print past R: that goes
 * where it went. Neighbour: worker.c, which knows the request. */
#include "printed.h"
#define R_INTERFACE_PTRS
#include <stdio.h>
#include <Rinterface.h>
#include <string.h>

/* A longer line is cut into pieces. */
enum { LONGEST = 8192 };

/* Of R's output, and of what it writes to standard error. */
static struct {
  char text[LONGEST];
  size_t len;
} lines[2];

/* NULL as long as nothing goes to the log. */
static printed_line *log_line;

static void end_line(int to_stderr) {
  size_t len = lines[to_stderr].len;
  lines[to_stderr].len = 0;
  if (len) log_line((drv_str){lines[to_stderr].text, len}, to_stderr);
}

/* R's messages go to standard error: what was printed before them comes first. */
static void on_write(const char *text, int n, int to_stderr) {
  to_stderr = to_stderr != 0;
  if (lines[!to_stderr].len) end_line(!to_stderr);
  for (int i = 0; i < n; i++) {
    if (text[i] == '\n') {
      end_line(to_stderr);
      continue;
    }
    if (lines[to_stderr].len == LONGEST) end_line(to_stderr);
    lines[to_stderr].text[lines[to_stderr].len++] = text[i];
  }
}

void drv_printed_goes_to(printed_line *line) {
  R_Outputfile = NULL;
  R_Consolefile = NULL;
  ptr_R_WriteConsole = NULL;
  ptr_R_WriteConsoleEx = on_write;
  log_line = line;
}

void drv_printed_flush(void) {
  if (!log_line) return;
  end_line(0);
  end_line(1);
}
