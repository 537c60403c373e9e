/* YAML of JSON documents. Neighbour: rust/crates/binding/src/yaml.rs. */
#include "yaml.h"
#include "build.h"
#include "r.h"

SEXP drv_yaml(SEXP json) {
  drv_error problem;
  const drv_node *node = drv_yaml_of_json(drv_text(json), &problem);
  if (!node) Rf_error("%s", CHAR(PROTECT(drv_mkchar(problem.message))));
  return drv_build(node);
}
