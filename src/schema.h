/* Whether schemas are schemas, and values fit them: for R/schema.R. */
#ifndef DROVER_SCHEMA_H
#define DROVER_SCHEMA_H

#include <Rinternals.h>

SEXP drv_call_schema_problem(SEXP schema, SEXP value);

#endif
