#ifndef DROVER_WAIT_H
#define DROVER_WAIT_H

/* Sleeps until the bell rings or another descriptor, `control` or one that R waits for, is readable: then 1.
 * `stdin_too`: the console counts as well. Descriptors of -1 are none. poll(), as R's own select() knows no descriptor
 * from 1024 on. */
int drv_wait_for(int bell, int control, int timeout_ms, int stdin_too);
/* What R waits for, and is there. */
void drv_run_input_handlers(void);

#endif
