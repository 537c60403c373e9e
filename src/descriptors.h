#ifndef DROVER_DESCRIPTORS_H
#define DROVER_DESCRIPTORS_H

/* Remembers what is open: nothing of a server is yet. */
void drv_descriptors_note(void);
/* In a fork of a session that serves: closes sockets, bells and the like that were opened since, except `keep`. */
void drv_descriptors_drop_strange(int keep);

#endif
