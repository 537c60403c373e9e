# Runs h2spec, which checks a server against RFC 9113 and RFC 7541, in strict mode against app.R.
#   Rscript tests/h2spec/run.R PROGRAM       the program that tools/h2spec.sh builds
# One line per failure, then "N passed, N failed, N skipped"; the exit status is 1 if any failed.
# Not for attacks, nor for what is ours to decide: tests/conformance/frames.

here <- dirname(normalizePath(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])))
for (file in c("server.R", "case.R", "client.R")) source(file.path(dirname(here), "conformance", file))

# What may fail, and why. One of these that passes fails the run: then it is to be deleted here.
exceptions <- c(
  # Both versions share a port. What does not begin like HTTP/2 is HTTP/1.1, and gets its answer, 400, before the end
  # of the connection; h2spec takes it for a frame.
  "http2/3.5 Sends invalid connection preface"
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

main <- function(program) {
  server <- start_server(app = file.path(here, "app.R"))
  on.exit(end_server(server))
  report <- tempfile("h2spec-", fileext = ".xml")
  # seconds that a case waits for what must come
  patience <- 5
  flags <- c("--strict", "--host", server$host, "--port", server$port, "--timeout", patience, "--junit-report", report)
  output <- suppressWarnings(system2(program, flags, stdout = TRUE, stderr = TRUE))
  if (!file.exists(report)) stop("h2spec made no report:\n", paste(output, collapse = "\n"))
  cases <- read_report(report)
  excepted <- cases$name %in% exceptions
  wrong <- c(
    if (nrow(cases) < 146) paste("h2spec has run", nrow(cases), "cases, not 146"),
    sprintf("failed: %s", cases$name[cases$outcome == "failed" & !excepted]),
    sprintf("an exception that passes: %s", cases$name[cases$outcome != "failed" & excepted]),
    sprintf("an exception that is no case: %s", setdiff(exceptions, cases$name)),
    grep("panicked", log_lines(server), value = TRUE),
    if (!identical(get_text(server, "/"), strrep("h2spec ", 100))) "afterwards the server does not answer"
  )
  # what h2spec says about its failures is at its end
  if (length(wrong)) writeLines(c(output[cumsum(output == "Failures: ") > 0], wrong))
  cat(sum(cases$outcome == "passed" & !excepted), " passed, ", length(wrong), " failed, ",
    sum(cases$outcome == "skipped") + sum(cases$outcome == "failed" & excepted), " skipped\n", sep = "")
  !length(wrong)
}

if (!main(commandArgs(trailingOnly = TRUE)[1])) quit(status = 1)
