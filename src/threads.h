#ifndef DROVER_THREADS_H
#define DROVER_THREADS_H

/* Before a fork: waits until the threads of this process that are not the server's sleep, but not for long. */
void drv_threads_settle(void);

#endif
