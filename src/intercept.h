#ifndef DROVER_INTERCEPT_H
#define DROVER_INTERCEPT_H

/* Puts the package between R and quit(), its console and its forks, for the rest of the session: before anything is
 * served or forked. */
void drv_intercept(void);

#endif
