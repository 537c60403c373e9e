# Requests: one, to see that the answer is right, and many, by wrk. The same client for all servers.

# The reason why the answer to a scenario's request is wrong, or NULL. Line ends at the end of a body do not matter.
wrong_answer <- function(peer, scenario) {
  body <- c(if (!is.null(scenario$body)) c("-H", paste("Content-Type:", scenario$type), "--data-binary", scenario$body))
  answer <- processx::run("curl", c(
    "-s", "--max-time", "10", "-X", scenario$method, body, "-w", "\n%{http_code}", paste0(peer$url, scenario$path)
  ), error_on_status = FALSE)
  if (answer$status != 0L) return(paste("no answer: curl ended with", answer$status))
  status <- sub("^.*\n", "", answer$stdout)
  text <- trimws(sub("\n[0-9]+$", "", answer$stdout))
  if (status != "200") return(paste("status", status))
  if (text != trimws(scenario$answer)) return(paste0("body '", substr(text, 1L, 80L), "'"))
  NULL
}

# Runs wrk with one thread for `seconds`. Returns list(seconds, requests, p50 and p99 in microseconds, errors: a text
# that is empty when every request was answered with 2xx).
load_with_wrk <- function(bench, peer, scenario, seconds) {
  environment <- c("current", BENCH_METHOD = scenario$method, BENCH_BODY = c(scenario$body, "")[1],
    BENCH_TYPE = c(scenario$type, "")[1])
  run <- processx::run("wrk", c(
    "-t1", paste0("-c", bench$options$connections), paste0("-d", seconds, "s"), "--timeout", "10s",
    "-s", file.path(bench$root, "client", "request.lua"), paste0(peer$url, scenario$path)
  ), env = environment, timeout = seconds + 60, error_on_status = FALSE)
  line <- grep("^result ", strsplit(run$stdout, "\n", fixed = TRUE)[[1]], value = TRUE)
  if (run$status != 0L || length(line) != 1L) fail("wrk failed: ", run$stdout, run$stderr)
  pairs <- strsplit(strsplit(sub("^result ", "", line), " ", fixed = TRUE)[[1]], "=", fixed = TRUE)
  result <- stats::setNames(as.numeric(vapply(pairs, `[`, "", 2L)), vapply(pairs, `[`, "", 1L))
  troubles <- result[c("bad_status", "socket_errors", "timeouts")]
  troubles <- troubles[troubles > 0]
  list(
    seconds = result[["duration"]] / 1e6, requests = result[["requests"]], p50 = result[["p50"]],
    p99 = result[["p99"]], errors = paste(names(troubles), troubles, sep = " ", collapse = ", ")
  )
}
