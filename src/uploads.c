/* The folder for large bodies of this session's server, from the start of the server to its end, or to the end of the
 * session. Forks know its path and hold its lock, but it is not theirs to remove. Neighbours:
 * rust/crates/httpd/src/uploads.rs, R/settings-serve.R. */
#include "uploads.h"
#include "build.h"
#include "r.h"
#include <sys/types.h>
#include <unistd.h>

static drv_uploads *uploads;
static pid_t owner;

/* .Call */
SEXP drv_uploads_remove(void) {
  if (uploads && owner == getpid()) drv_uploads_free(uploads);
  uploads = NULL;
  return R_NilValue;
}

static void at_exit(SEXP unused) {
  (void)unused;
  drv_uploads_remove();
}

/* .Call: makes it, beneath this folder. Its path, or list(why not). */
SEXP drv_uploads_make(SEXP beneath) {
  static SEXP exit = NULL;
  drv_uploads_remove();
  drv_error error;
  uploads = drv_uploads_new(drv_text(beneath), &error);
  if (!uploads) {
    SEXP out = PROTECT(Rf_allocVector(VECSXP, 1));
    SET_VECTOR_ELT(out, 0, Rf_ScalarString(drv_mkchar(error.message)));
    UNPROTECT(1);
    return out;
  }
  owner = getpid();
  if (!exit) {
    exit = R_MakeExternalPtr(NULL, R_NilValue, R_NilValue);
    R_PreserveObject(exit);
    R_RegisterCFinalizerEx(exit, at_exit, TRUE);
  }
  return Rf_ScalarString(drv_mkchar(drv_uploads_path(uploads)));
}
