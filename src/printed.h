/* What a worker process prints, as lines of the log. */
#ifndef DROVER_PRINTED_H
#define DROVER_PRINTED_H

/* From now on what R prints in this process goes to the log. */
void drv_printed_goes_to_log(void);

/* What was printed without a line's end: the handler that did so has returned. */
void drv_printed_flush(void);

#endif
