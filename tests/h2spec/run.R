# Runs h2spec, which checks a server against RFC 9113 and RFC 7541, in strict mode against app.R: in cleartext with
# prior knowledge, then over TLS.
#   Rscript tests/h2spec/run.R PROGRAM       the program that tools/h2spec.sh builds
# One line per failure, then "N passed, N failed, N skipped"; the exit status is 1 if any failed.
# Not for attacks, nor for what is ours to decide: tests/conformance/frames.

here <- dirname(normalizePath(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])))
for (file in c("failures.R", "wait.R", "marks.R", "start.R")) source(file.path(dirname(here), "lib", file))
for (file in c("server.R", "case.R", "client.R")) source(file.path(dirname(here), "conformance", file))

# What may fail, and why, in cleartext and over TLS. One of these that passes fails the run: then it is to be deleted
# here.
exceptions <- list(
  # Both versions share a port. What does not begin like HTTP/2 is HTTP/1.1, and gets its answer, 400, before the end
  # of the connection; h2spec takes it for a frame. With TLS the version has been agreed on before.
  cleartext = "http2/3.5 Sends invalid connection preface",
  TLS = character()
)

# The cases of h2spec's report: a data frame of name and outcome ("passed", "failed" or "skipped").
read_report <- function(file) {
  text <- paste(readLines(file, warn = FALSE), collapse = "\n")
  # (?s): what went wrong may have several lines
  cases <- regmatches(text, gregexpr("(?s)<testcase .*?</testcase>", text, perl = TRUE))[[1]]
  attribute <- function(name) sub(paste0("(?s)^[^>]*? ", name, "=\"([^\"]*)\".*"), "\\1", cases, perl = TRUE)
  data.frame(
    name = paste(attribute("package"), attribute("classname")),
    outcome = ifelse(grepl("<(failure|error)", cases), "failed", ifelse(grepl("<skipped", cases), "skipped", "passed"))
  )
}

# The body of a GET by curl, over HTTP/2.
get_page <- function(server, tls) {
  version <- if (tls) "--http2" else "--http2-prior-knowledge"
  url <- sprintf("%s://%s:%d/", if (tls) "https" else "http", server$host, server$port)
  suppressWarnings(system2("curl", c("--silent", "--insecure", "--max-time", round(patience()), version, url), stdout = TRUE))
}

# All cases against a server of its own: counts of what passed, failed and was skipped.
run_cases <- function(program, way) {
  may_take(120)
  tls <- way == "TLS"
  server <- start_server(c(tls = if (tls) "yes" else "no"), file.path(here, "app.R"))
  on.exit(end_server(server))
  report <- tempfile("h2spec-", fileext = ".xml")
  # --timeout: seconds that a case waits for what must come
  flags <- c("--strict", "--host", server$host, "--port", server$port, "--timeout", round(patience()), "--junit-report",
    report, if (tls) c("--tls", "--insecure"))
  ran <- processx::run(program, flags, error_on_status = FALSE, stderr_to_stdout = TRUE)
  output <- strsplit(ran$stdout, "\n", fixed = TRUE)[[1]]
  if (!file.exists(report)) stop("h2spec made no report:\n", paste(output, collapse = "\n"))
  cases <- read_report(report)
  excepted <- cases$name %in% exceptions[[way]]
  wrong <- c(
    if (nrow(cases) < 146) paste("h2spec has run", nrow(cases), "cases, not 146"),
    sprintf("failed: %s", cases$name[cases$outcome == "failed" & !excepted]),
    sprintf("an exception that passes: %s", cases$name[cases$outcome != "failed" & excepted]),
    sprintf("an exception that is no case: %s", setdiff(exceptions[[way]], cases$name)),
    grep("panicked", log_lines(server), value = TRUE),
    if (!identical(get_page(server, tls), strrep("h2spec ", 100))) "afterwards the server does not answer"
  )
  # h2spec's account of its failures is at its end
  if (length(wrong)) {
    writeLines(c(output[cumsum(output == "Failures: ") > 0], sprintf("%s (%s)", wrong, way)))
  }
  for (one in wrong) note_failure(way, one)
  c(
    passed = sum(cases$outcome == "passed" & !excepted), failed = length(wrong),
    skipped = sum(cases$outcome == "skipped") + sum(cases$outcome == "failed" & excepted)
  )
}

main <- function(program) {
  ways <- c("cleartext", "TLS")
  counts <- Reduce(`+`, lapply(ways[to_be_run(ways)], function(way) {
    tryCatch(limited(function() run_cases(program, way)), error = function(e) {
      cat(way, ": ", conditionMessage(e), "\n", sep = "")
      note_failure(way, conditionMessage(e))
      c(passed = 0, failed = 1, skipped = 0)
    })
  }))
  cat(sprintf("%d passed, %d failed, %d skipped\n", counts[["passed"]], counts[["failed"]], counts[["skipped"]]))
  counts[["failed"]] == 0
}

if (!main(commandArgs(trailingOnly = TRUE)[1])) quit(status = 1)
