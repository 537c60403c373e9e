/* What ps and top show of a zygote and of workers: they would all be "R --no-echo ...". The kernel shows the memory
 * that the arguments of the program were put in, so the title is written there; R has copied them when it started. */
#include "title.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Where the arguments are: fields 48 and 49 of /proc/self/stat, proc(5). 0 where it does not tell. */
static int find_arguments(uintptr_t *start, uintptr_t *end) {
  char line[2048];
  FILE *stat = fopen("/proc/self/stat", "re");
  if (!stat) return 0;
  char *read = fgets(line, sizeof line, stat);
  fclose(stat);
  /* the second field is a name in brackets that may hold anything */
  char *rest = read ? strrchr(line, ')') : NULL;
  if (!rest) return 0;
  for (int field = 2; field < 47; field++) {
    rest = strchr(rest + 1, ' ');
    if (!rest) return 0;
  }
  return sscanf(rest, " %*s %" SCNuPTR " %" SCNuPTR, start, end) == 2 && *start && *end > *start + 1;
}

SEXP drv_title(SEXP text) {
  uintptr_t start, end;
  if (!find_arguments(&start, &end)) return R_NilValue;
  size_t room = end - start;
  memset((char *)start, 0, room);
  /* the last byte stays 0: otherwise the kernel would read on */
  strncpy((char *)start, CHAR(STRING_ELT(text, 0)), room - 1);
  return R_NilValue;
}
