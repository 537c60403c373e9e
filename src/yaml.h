#ifndef DROVER_YAML_H
#define DROVER_YAML_H

#include <Rinternals.h>

/* .Call: a string, the JSON document in `json` as YAML. An error when it is none. */
SEXP drv_yaml(SEXP json);

#endif
