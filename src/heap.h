#ifndef DROVER_HEAP_H
#define DROVER_HEAP_H
#include <stdint.h>

/* Tells the server of R's garbage collections: how many, how long they took, bytes that are allocated. 0: not told. */
typedef int heap_reporter(uint32_t collections, uint32_t micros, uint64_t bytes);

/* From now on R's garbage collections are counted, and reported; no longer. */
void drv_heap_watch(heap_reporter *report);
void drv_heap_forget(void);
/* Between requests, at this time of the monotonic clock: reports what is new, once in a second at most. */
void drv_heap_look(int64_t now_ns);
/* Milliseconds until there is something to report, at most `longest`. */
int drv_heap_due_in(int longest);

#endif
