#ifndef DROVER_AFTER_HANDLER_H
#define DROVER_AFTER_HANDLER_H
#include <stdint.h>

/* A handler is about to be called, or the generator of a stream. */
void drv_before_call(void);
/* In a fork that a handler has made this is the end: its parent answers. */
void drv_only_parent(void);
/* If the handler has asked at the console, the prompt beneath is to know nothing of it. */
void drv_forget_answers(void);
/* It took so long: what it left changed is put right now, or, if it was quick, by drv_after_quick(), before the process
 * waits. */
void drv_after_call(uint64_t took_ns);
void drv_after_quick(void);

#endif
