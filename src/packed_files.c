/* Files that are packed ahead of time. Neighbours: rust/crates/binding/src/packed_files.rs, R/command-compress.R. */
#include "packed_files.h"
#include "build.h"
#include "r.h"

/* .Call: packs a file into another. The size of that in bytes, 0 when it would not be smaller, or why there is none. */
SEXP drv_packed_files_make(SEXP from, SEXP encoding, SEXP to) {
  drv_error error;
  double size = drv_file_pack(drv_text(from), drv_text(encoding), drv_text(to), &error);
  return size < 0 ? Rf_ScalarString(drv_mkchar(error.message)) : Rf_ScalarReal(size);
}
