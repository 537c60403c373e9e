# Runs tests in several R processes at once, as they wait most of their time. A runner that has sourced this starts
# itself anew as the jobs; each job takes the next of the tests that no other has taken, by making a folder for it, and
# leaves there how it went. They share nothing else: each has an R session and a folder of temporary files of its own.
#
# Not for how a test is run and what is said of it: the runners, tests/process/run.R and tests/testthat-run.R, which
# have sourced lib/wait.R as well.

# not DROVER_...: the program tells of variables of that name that it does not know
jobs_variable <- "TEST_JOBS_FOLDER"

# How many jobs the user wants: JOBS in the environment, or one, which is the runner itself.
jobs_wanted <- function() as.integer(Sys.getenv("JOBS", "1"))

# The folder that the jobs of a run share, or "" when this process is no job.
jobs_folder <- function() Sys.getenv(jobs_variable)

# In a job: runs what nobody has taken of the tests 1 to n, one after the other. `run` is a function of the number.
work_off <- function(n, run) {
  for (i in seq_len(n)) {
    mine <- file.path(jobs_folder(), i)
    if (!dir.create(mine, showWarnings = FALSE)) next
    saveRDS(run(i), file.path(mine, "part"))
    # it is there whole or not at all
    file.rename(file.path(mine, "part"), file.path(mine, "result"))
  }
}

# Has the tests 1 to n run by jobs, which are `script` with these arguments. Each result is given to `report`, a
# function of the number and of what `run` has given, as soon as it is there: NULL for a test whose job has ended
# before it had one.
run_in_jobs <- function(n, jobs, script, arguments, report) {
  folder <- tempfile("jobs-")
  dir.create(folder)
  ended <- file.path(folder, paste0("ended-", seq_len(jobs)))
  command <- paste(shQuote(c(file.path(R.home("bin"), "Rscript"), script, arguments)), collapse = " ")
  # pipe() leaves them in the process group of the stage, which is ended as a whole; processx would not
  running <- lapply(ended, function(mark) {
    pipe(sprintf("%s=%s %s >&2 < /dev/null; : > %s", jobs_variable, shQuote(folder), command, shQuote(mark)), "r")
  })
  waiting <- seq_len(n)
  within(function() {
    # asked before the results are looked for: there are none later
    all_ended <- all(file.exists(ended))
    # in one call: it is asked again and again while tests run
    there <- file.exists(file.path(folder, waiting, "result"))
    for (i in waiting[there]) report(i, readRDS(file.path(folder, i, "result")))
    waiting <<- waiting[!there]
    all_ended
  }, Inf)
  for (job in running) close(job)
  for (i in waiting) report(i, NULL)
}

# The path of a folder that `make` fills, a function of the path: once for all jobs, in the one that asks first.
made_once <- function(name, make) {
  folder <- file.path(if (nzchar(jobs_folder())) jobs_folder() else tempdir(), name)
  done <- paste0(folder, ".done")
  failed <- paste0(folder, ".failed")
  if (dir.create(folder, showWarnings = FALSE)) {
    on.exit(if (!file.exists(done)) file.create(failed))
    make(folder)
    file.create(done)
  }
  # compilers may take long where much else runs
  within(function() file.exists(done) || file.exists(failed), 300)
  if (!file.exists(done)) stop(name, " could not be made by the job that began it")
  folder
}
