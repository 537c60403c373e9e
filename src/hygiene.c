/* Whether a handler left the session as it found it: working directory, locale, options that change what errors and warnings
 * do, sinks, graphics devices. Only the look is here, in some hundred nanoseconds; the repair is in R/hygiene.R. */
#include "hygiene.h"
#include <locale.h>
#include <string.h>
#include <sys/stat.h>
#define R_NO_REMAP
#include <Rinternals.h>
/* after Rinternals.h, whose types it uses */
#include <R_ext/GraphicsEngine.h>

static struct {
  dev_t device;
  ino_t directory;
  char locale[512];
  SEXP warn, error, expressions;
  int devices, sinks;
} noted;

static SEXP option(const char *name) { return Rf_GetOption1(Rf_install(name)); }

static int sinks(void) {
  static SEXP call = NULL;
  if (!call) {
    /* base::sink.number() without its argument matching */
    SEXP inner = PROTECT(Rf_lang2(Rf_install("sink.number"), Rf_ScalarLogical(TRUE)));
    call = Rf_lang2(Rf_install(".Internal"), inner);
    R_PreserveObject(call);
    UNPROTECT(1);
  }
  return Rf_asInteger(Rf_eval(call, R_BaseEnv));
}

static void directory(dev_t *device, ino_t *inode) {
  struct stat s;
  int known = stat(".", &s) == 0;
  *device = known ? s.st_dev : 0;
  *inode = known ? s.st_ino : 0;
}

void drv_hygiene_note(void) {
  directory(&noted.device, &noted.directory);
  const char *locale = setlocale(LC_ALL, NULL);
  strncpy(noted.locale, locale ? locale : "", sizeof noted.locale - 1);
  noted.warn = option("warn");
  noted.error = option("error");
  noted.expressions = option("expressions");
  noted.devices = Rf_NumDevices();
  noted.sinks = sinks();
}

int drv_hygiene_is_disturbed(void) {
  dev_t device;
  ino_t inode;
  directory(&device, &inode);
  if (device != noted.device || inode != noted.directory) return 1;
  const char *locale = setlocale(LC_ALL, NULL);
  if (strncmp(noted.locale, locale ? locale : "", sizeof noted.locale - 1)) return 1;
  if (option("warn") != noted.warn || option("error") != noted.error || option("expressions") != noted.expressions)
    return 1;
  return Rf_NumDevices() != noted.devices || sinks() != noted.sinks;
}
