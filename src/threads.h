#ifndef DROVER_THREADS_H
#define DROVER_THREADS_H

/* Before a fork: threads of OpenMP are ended, and it is waited until those that are not the server's
 * sleep, but not for long. */
void drv_threads_settle(void);

#endif
