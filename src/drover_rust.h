/* What C and Rust say to each other.
 *
 * Rust never makes an R object and never lets R jump over its frames: it answers with the plain structs below,
 * and C (build.c) makes R objects of them. Neighbours: build.c (node -> SEXP), worker_loop.c (the serve loop),
 * rust/crates/binding/src (the other side of every declaration here).
 */
#ifndef DROVER_RUST_H
#define DROVER_RUST_H

#include <stddef.h>
#include <stdint.h>

/* UTF-8 bytes, not NUL-terminated. ptr NULL means NA. */
typedef struct {
  const char *ptr;
  size_t len;
} drv_str;

typedef enum {
  DRV_NULL = 0, /* R NULL */
  DRV_LGL = 1,  /* data: int32_t[n], NA is INT32_MIN */
  DRV_INT = 2,  /* data: int32_t[n], NA is INT32_MIN */
  DRV_DBL = 3,  /* data: double[n], NA is R's NA_real_ */
  DRV_STR = 4,  /* data: drv_str[n] */
  DRV_RAW = 5,  /* data: uint8_t[n] */
  DRV_LIST = 6, /* data: drv_node[n] */
} drv_kind;

/* A description of one R value. Everything it points at belongs to Rust and outlives the call that gave it. */
typedef struct drv_node {
  int32_t kind;
  int32_t ndim;         /* length of dim, 0 for none */
  size_t n;             /* number of elements */
  const void *data;     /* see drv_kind */
  const drv_str *names; /* n names, or NULL */
  const int32_t *dim;   /* ndim extents, or NULL */
  int64_t data_frame;   /* number of rows when the value is a data frame, otherwise -1 */
} drv_node;

#endif
