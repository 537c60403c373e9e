#ifndef DROVER_JOBS_H
#define DROVER_JOBS_H
#define R_NO_REMAP
#include <Rinternals.h>

/* .Call: list(1, id) of the job that is accepted, or list(0, why there is none). */
SEXP drv_job_enqueue(SEXP target, SEXP job);
/* .Call: list(numbers, list of raw vectors), the answer to what is asked of a job: `JobAsk` in
 * rust/crates/wire/src/command.rs has both. */
SEXP drv_job_ask(SEXP ask, SEXP which);
/* .Call: what is wrong with a line of cron, or its time zone; NULL when nothing is. */
SEXP drv_job_cron_wrong(SEXP line, SEXP zone);

#endif
