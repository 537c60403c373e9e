/* Jobs: those that the app has run itself, what it asks of one, and when there are some by themselves. Neighbours:
 * commands.c, service.c (which lists them); R/job-enqueue.R, R/job-ask.R, R/job-schedule.R;
 * rust/crates/binding/src/jobs.rs. */
#include "jobs.h"
#include "build.h"
#include "commands.h"
#include "drover_rust.h"
#include "r.h"

/* A job: R/job-enqueue.R has made `job` of what is asked, a list of how it is to be run, in JSON, and its body. */
SEXP drv_job_enqueue(SEXP target, SEXP job) {
  const void *before = vmaxget();
  drv_command command = {.kind = DRV_ENQUEUE, .room = drv_text(target)};
  command.bytes = (drv_str){(const char *)RAW(job), (size_t)XLENGTH(job)};
  SEXP answer = drv_say(&command);
  vmaxset(before);
  return answer;
}

/* R/job-ask.R has checked what is asked. */
SEXP drv_job_ask(SEXP ask, SEXP which) {
  const void *before = vmaxget();
  drv_command command = {.kind = DRV_JOB, .small = Rf_asInteger(ask), .room = drv_text(which)};
  SEXP answer = drv_say(&command);
  vmaxset(before);
  return answer;
}

SEXP drv_job_cron_wrong(SEXP line, SEXP zone) {
  drv_str wrong = drv_cron_wrong(drv_text(line), drv_text(zone));
  return wrong.ptr ? Rf_ScalarString(drv_mkchar(wrong)) : R_NilValue;
}
