#ifndef DROVER_INTERCEPT_H
#define DROVER_INTERCEPT_H

/* Puts the package between R and quit(), and between R and its console, for the rest of the session. Call once. */
void drv_intercept(void);

#endif
