# What OpenAPI says of routes of jobs, which the engine answers with the state of a job. Neighbours:
# openapi-operations.R; job.R.

job_summaries <- list(
  accept = "Have a job accepted", show = "See how a job is", result = "Get what a job has come to",
  cancel = "Cancel a job, or forget one that is over"
)

# `own`: what the handler of the job is said to return.
job_responses <- function(part, own) {
  unfinished <- job_response("The job is not over")
  switch(part,
    accept = list("202" = job_response("The job is accepted; the field `Location` is its address")),
    show = list("200" = job_response("How the job is")),
    result = c(own, list("202" = unfinished, "409" = list(description = "The job has failed, or was cancelled"))),
    cancel = list(
      "200" = job_response("The job is cancelled"), "204" = list(description = "The job was over, and is forgotten")
    )
  )
}

job_response <- function(description) {
  list(description = description, content = list("application/json" = list(schema = job_schema)))
}

job_schema <- local({
  text <- list(type = "string")
  time <- list(type = "string", format = "date-time")
  number <- list(type = "number")
  list(
    title = "Job", type = "object",
    properties = list(
      id = text,
      state = list(
        type = "string", enum = list("waiting", "scheduled", "running", "done", "failed", "cancelled")
      ),
      attempt = list(type = "integer"), created = time, due = time, began = time, ended = time,
      progress = list(
        type = "object", properties = list(done = number, total = number, message = text), required = list("done")
      ),
      error = text, url = text, result = text
    ),
    required = list("id", "state", "attempt", "created", "url")
  )
})
