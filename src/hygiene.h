#ifndef DROVER_HYGIENE_H
#define DROVER_HYGIENE_H
#include <stdint.h>

/* Remembers the state of the session that handlers may change but must not leave changed. */
void drv_hygiene_note(void);
/* Whether a handler that took so many nanoseconds left something changed. Asked after every request. */
int drv_hygiene_is_disturbed(uint64_t took);

#endif
