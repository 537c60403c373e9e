/* For code that was written for drogonR: its handlers' signatures are part 2 of drover.h. */
#include "drover.h"
