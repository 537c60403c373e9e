#ifndef DROVER_STRINGS_H
#define DROVER_STRINGS_H

/* Before strings of a client are made: collects garbage when that makes it faster. */
void drv_make_room(void);

#endif
