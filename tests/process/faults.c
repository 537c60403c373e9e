/* What code of other packages may do to a worker: called by app.R through .C(). No R in it, as in most of such code. */

#include <stdlib.h>
#include <time.h>

void crash(void)
{
    *(volatile int *) 16 = 1;
}

void give_up(void)
{
    abort();
}

/* As a long BLAS call: never looks whether R was interrupted. */
void deaf(int *seconds)
{
    time_t end = time(NULL) + *seconds;
    while (time(NULL) < end)
        continue;
}
