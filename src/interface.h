#ifndef DROVER_INTERFACE_H
#define DROVER_INTERFACE_H
#define R_NO_REMAP
#include <Rinternals.h>

/* When the package is loaded, before anything else of Rust is called. */
void drv_interface_hand_down(void);

#endif
