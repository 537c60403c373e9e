/* What a worker process prints, as lines of the log. */
#ifndef DROVER_PRINTED_H
#define DROVER_PRINTED_H
#include "drover_rust.h"

/* From now on each line that R prints in this process goes there. */
typedef void printed_line(drv_str text, int to_stderr);
void drv_printed_goes_to(printed_line *line);

/* What was printed without a line's end: the handler that did so has returned. */
void drv_printed_flush(void);

#endif
