/* Whether a handler left the session as it found it: working directory, locale, options that change what errors and
 * warnings do, sinks, graphics devices. Only the look is here, in some hundred nanoseconds; the repair is in
 * R/worker-hygiene.R. */
#include "hygiene.h"
#include <locale.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#define R_NO_REMAP
#include <Rinternals.h>
/* after Rinternals.h, whose types it uses */
#include <R_ext/GraphicsEngine.h>

static const char *const noted_options[] = {"warn", "error", "expressions"};

static struct {
  dev_t device;
  ino_t directory;
  char locale[512];
  SEXP cell[3], value[3];
  double number[3]; /* of values that are one number, and NaN of others: the value itself may be collected */
  int devices, sinks;
} noted;

/* The cell of R's list of options that holds this one: R changes its value in place. One that is not set (as `error`
 * usually is) has none; then the empty list stands for it, whose CAR never changes. */
static SEXP option(const char *name) {
  SEXP tag = Rf_install(name);
  for (SEXP cell = SYMVALUE(Rf_install(".Options")); TYPEOF(cell) == LISTSXP; cell = CDR(cell)) {
    if (TAG(cell) == tag) return cell;
  }
  return R_NilValue;
}

static double number(SEXP value) {
  if (TYPEOF(value) != INTSXP && TYPEOF(value) != REALSXP) return NAN;
  return XLENGTH(value) == 1 && ATTRIB(value) == R_NilValue ? Rf_asReal(value) : NAN;
}

/* Whether option `i` is as it was: the same value, or the same number again, as when a function has set and restored
 * it. */
static int is_as_noted(int i) {
  SEXP now = CAR(noted.cell[i]);
  if (now == noted.value[i]) return 1;
  if (!(number(now) == noted.number[i])) return 0;
  noted.value[i] = now;
  return 1;
}

/* A call of what base's closures call, without their argument matching. */
static SEXP internal(SEXP inner) {
  PROTECT(inner);
  SEXP call = Rf_lang2(Rf_install(".Internal"), inner);
  R_PreserveObject(call);
  UNPROTECT(1);
  return call;
}

/* Sinks of output, and the connection that messages go to. */
static int sinks(void) {
  static SEXP output = NULL, messages;
  if (!output) {
    SEXP number = Rf_install("sink.number");
    output = internal(Rf_lang2(number, Rf_ScalarLogical(TRUE)));
    messages = internal(Rf_lang2(number, Rf_ScalarLogical(FALSE)));
  }
  return Rf_asInteger(Rf_eval(output, R_BaseEnv)) + 1000 * Rf_asInteger(Rf_eval(messages, R_BaseEnv));
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
  for (int i = 0; i < 3; i++) {
    noted.cell[i] = option(noted_options[i]);
    noted.value[i] = CAR(noted.cell[i]);
    noted.number[i] = number(noted.value[i]);
  }
  noted.devices = Rf_NumDevices();
  noted.sinks = sinks();
}

int drv_hygiene_options_changed(void) {
  return !is_as_noted(0) || !is_as_noted(1) || !is_as_noted(2);
}

int drv_hygiene_is_disturbed(void) {
  if (drv_hygiene_options_changed()) return 1;
  for (int i = 0; i < 3; i++) {
    if (noted.cell[i] == R_NilValue && option(noted_options[i]) != R_NilValue) return 1;
  }
  dev_t device;
  ino_t inode;
  directory(&device, &inode);
  if (device != noted.device || inode != noted.directory) return 1;
  const char *locale = setlocale(LC_ALL, NULL);
  if (strncmp(noted.locale, locale ? locale : "", sizeof noted.locale - 1)) return 1;
  return Rf_NumDevices() != noted.devices || sinks() != noted.sinks;
}
