# The same requests to plumber or httpuv and to drover: R_LIBS=.Rlib/test Rscript tests/plumber/run.R [APP...], from the
# root. See README.md. Each request is a test. Ends with "N passed, N failed".

here <- file.path("tests", "plumber")
source(file.path("tests", "testthat", "helper-raw-http.R"), encoding = "UTF-8")
for (file in c("failures.R", "wait.R", "start.R", "ports.R")) source(file.path("tests", "lib", file), encoding = "UTF-8")
for (file in c("requests.R", "servers.R", "compare.R")) source(file.path(here, file), encoding = "UTF-8")

# How each app is served without drover.
starts <- c(
  plain = "library(plumber); plumb('plumber.R')$run(host = '127.0.0.1', port = port, quiet = TRUE)",
  simple = "library(plumber); plumb('plumber.R')$run(host = '127.0.0.1', port = port, quiet = TRUE)",
  full = "library(plumber); set.seed(1); plumb('plumber.R')$run(host = '127.0.0.1', port = port, quiet = TRUE)",
  handlers = "library(plumber); plumb(dir = '.')$run(host = '127.0.0.1', port = port, quiet = TRUE)",
  rook = "app <- source('app.R')$value; httpuv::runServer('127.0.0.1', port, app)"
)

counts <- c(passed = 0L, failed = 0L)
# An app and how it is served: its requests are one conversation, and only as a whole run again.
conversation <- NULL
report <- function(name, problems = character()) {
  which <- if (length(problems)) "failed" else "passed"
  counts[[which]] <<- counts[[which]] + 1L
  if (!length(problems)) return(invisible())
  cat("failed:", name, paste0("\n        ", problems), "\n")
  note_failure(conversation, c(name, problems))
}

request_name <- function(app, how, request) {
  paste(c(app, how, request$method, request$path, if (length(request$body)) brief(as_bytes(request$body))), collapse = " ")
}

run_request <- function(app, how, request, ours, theirs) {
  # httpuv gives no answer when an app gives none: that is an answer, too
  their_time <- if (request$silent) 2 else patience()
  found <- differences(send(ours$server, request, ours$jar), send(theirs$server, request, theirs$jar, their_time))
  name <- request_name(app, how, request)
  differs <- reason_to_differ(request, how)
  if (is.null(differs)) return(report(name, paste(names(found), found, sep = ": ", recycle0 = TRUE)))
  if (!length(found)) return(report(name, paste("the answers are the same, though", differs)))
  # a body of another length has another Content-Length
  may <- if (is.null(request$only)) names(found) else c(request$only, if ("body" %in% request$only) "content-length")
  found <- found[!names(found) %in% may]
  report(name, paste(names(found), found, sep = ": ", recycle0 = TRUE))
}

# `how`: see start_drover().
run_app <- function(app, how) {
  cat(app, how, "\n")
  folder <- normalizePath(file.path(here, "apps", app))
  requests <- source(file.path(here, paste0("requests-", app, ".R")), local = new.env(), encoding = "UTF-8")$value
  theirs <- list(server = start_other(folder, starts[[app]]), jar = new.env())
  on.exit(stop_server(theirs$server))
  ours <- list(server = start_drover(folder, how), jar = new.env())
  on.exit(stop_server(ours$server), add = TRUE)
  for (request in requests) {
    tryCatch(limited(function() run_request(app, how, request, ours, theirs)), error = function(error) {
      report(request_name(app, how, request), conditionMessage(error))
    })
  }
  if (how == "verify") {
    logged <- grep("on the fast path differs", ours$server$log(), value = TRUE)
    known <- sum(lengths(lapply(requests, `[[`, "fast_differs")))
    report(paste(app, "both ways"), if (length(logged) != known) logged)
  }
}

# Apps that have endpoints for the fast path are served in all ways.
ways <- list(plain = c("fast", "full", "verify", "own"), simple = c("fast", "full", "verify"))

asked <- commandArgs(trailingOnly = TRUE)
for (app in if (length(asked)) asked else names(starts)) {
  for (how in if (app %in% names(ways)) ways[[app]] else "fast") {
    conversation <- paste(app, how)
    if (!to_be_run(conversation)) next
    tryCatch(run_app(app, how), error = function(error) report(app, conditionMessage(error)))
  }
}
cat(sprintf("%d passed, %d failed\n", counts[["passed"]], counts[["failed"]]))
quit(status = counts[["failed"]] > 0L)
