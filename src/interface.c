/* What Rust calls: R's functions that neither allocate nor jump, and those here that catch R's jumps.
 *
 * They are handed down when the package is loaded, and not left to the linker: the library that Rust makes is the
 * program's, too (rust/crates/drover_rust), where there is no R. The other side: binding/src/r/interface.rs. */
#include "interface.h"
#include "drover_rust.h"
#include "json.h"
#include "opened.h"

struct drv_interface {
  SEXP na_string, nil, names, dim, class, levels, row_names;
  int (*type_of)(SEXP);
  int (*is_altrep)(SEXP);
  int (*is_s4)(SEXP);
  R_xlen_t (*length)(SEXP);
  const void *(*data)(SEXP);
  SEXP (*attributes)(SEXP);
  SEXP (*car)(SEXP);
  SEXP (*cdr)(SEXP);
  SEXP (*tag)(SEXP);
  SEXP (*print_name)(SEXP);
  const char *(*text)(SEXP);
  int (*text_length)(SEXP);
  cetype_t (*encoding)(SEXP);
  SEXP (*element)(SEXP, R_xlen_t);
  const void *(*view)(SEXP, R_xlen_t *);
  char *(*translate)(SEXP, size_t *);
  void (*free)(char *);
  int (*native_is_utf8)(void);
  int (*digits_secs_set)(void);
  int (*is_session_zone)(const char *, size_t);
  int32_t (*zone_offset)(double, int64_t *);
  int32_t (*read_dates)(const drv_str *, size_t, int32_t, double *);
  int (*opened_descriptor)(SEXP);
};

void drv_interface_hand_down(void) {
  static struct drv_interface interface;
  interface = (struct drv_interface){
      .na_string = R_NaString,
      .nil = R_NilValue,
      .names = R_NamesSymbol,
      .dim = R_DimSymbol,
      .class = R_ClassSymbol,
      .levels = R_LevelsSymbol,
      .row_names = R_RowNamesSymbol,
      .type_of = TYPEOF,
      .is_altrep = ALTREP,
      .is_s4 = IS_S4_OBJECT,
      .length = XLENGTH,
      .data = DATAPTR_RO,
      .attributes = ATTRIB,
      .car = CAR,
      .cdr = CDR,
      .tag = TAG,
      .print_name = PRINTNAME,
      .text = R_CHAR,
      .text_length = LENGTH,
      .encoding = Rf_getCharCE,
      .element = VECTOR_ELT,
      .view = drv_view,
      .translate = drv_translate,
      .free = drv_free,
      .native_is_utf8 = drv_native_is_utf8,
      .digits_secs_set = drv_digits_secs_set,
      .is_session_zone = drv_is_session_zone,
      .zone_offset = drv_zone_offset,
      .read_dates = drv_read_dates,
      .opened_descriptor = drv_opened_descriptor,
  };
  drv_interface_give(&interface);
}
