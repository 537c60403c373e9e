# Transcripts: curl commands as a user would type them, each followed by what must come back.
# Not for starting servers (server.R) nor for finding examples (run.R).
#
#   $ curl http://127.0.0.1:8080/path     a command; http://127.0.0.1:8080 becomes the address of the server under test
#   < 200                                 the status
#   < Content-Type: text/html             a header: name without regard to case, exact value
#   ~ ^regular expression                 found in what the command prints
#   log ~ expression                      found in what the server writes to its log
#   anything else                         what the command prints, line by line
#
# Commands run in a shell, in the folder of the example, one after the other against one server. Blank lines and lines
# that start with "# " separate. The last `curl` of a command (a bare one, not `command curl`) is the one that is looked
# at.

# Lines to a list of steps: command, status, headers (named list), patterns, log, body (lines).
parse_transcript <- function(lines) {
  steps <- list()
  for (line in lines) {
    if (startsWith(line, "$ ")) {
      steps[[length(steps) + 1L]] <- list(
        command = substring(line, 3L), status = NULL, headers = list(), patterns = character(), log = character(),
        body = character()
      )
      next
    }
    if (!nzchar(line) || startsWith(line, "# ")) next
    n <- length(steps)
    if (n == 0L) stop("a transcript starts with \"$ \", not with: ", line)
    if (grepl("^< [0-9]{3}$", line)) {
      steps[[n]]$status <- as.integer(substring(line, 3L))
    } else if (startsWith(line, "< ")) {
      field <- regmatches(line, regexec("^< ([^:]+): *(.*)$", line))[[1L]]
      steps[[n]]$headers[[field[[2L]]]] <- field[[3L]]
    } else if (startsWith(line, "~ ")) {
      steps[[n]]$patterns <- c(steps[[n]]$patterns, substring(line, 3L))
    } else if (startsWith(line, "log ~ ")) {
      steps[[n]]$log <- c(steps[[n]]$log, substring(line, 7L))
    } else {
      steps[[n]]$body <- c(steps[[n]]$body, line)
    }
  }
  steps
}

# Puts options before every `curl` of a command: errors are told, time is bounded, the head is kept in `head_file`.
curl_function <- function(head_file) sprintf(
  "curl() { command curl --silent --show-error --max-time %.0f --dump-header %s \"$@\"; }", patience(),
  shQuote(head_file)
)

# Runs one step against a server (see server.R) and gives what is wrong with the answer: strings, none when it is right.
run_step <- function(step, server, folder) {
  head_file <- tempfile("head-")
  on.exit(unlink(head_file))
  command <- gsub("http://127.0.0.1:8080", server$url, step$command, fixed = TRUE)
  ran <- processx::run(
    "bash", c("-c", paste(curl_function(head_file), command, sep = "\n")),
    error_on_status = FALSE, wd = folder, encoding = "UTF-8"
  )
  if (!file.exists(head_file)) return(paste("no answer:", ran$stderr))
  lines <- sub("\r$", "", readLines(head_file, warn = FALSE))
  # after redirects or a 100 (Continue) the last head counts
  lines <- lines[seq(max(grep("^HTTP/", lines)), length(lines))]
  status <- as.integer(strsplit(lines[[1L]], " ")[[1L]][[2L]])
  output <- gsub("\r", "", ran$stdout, fixed = TRUE)

  problems <- character()
  if (!is.null(step$status) && status != step$status) problems <- sprintf("status %d, not %d", status, step$status)
  for (name in names(step$headers)) {
    start <- paste0(tolower(name), ":")
    values <- trimws(substring(lines, nchar(start) + 1L))[startsWith(tolower(lines), start)]
    if (!step$headers[[name]] %in% values) {
      problems <- c(problems, sprintf("%s: %s, not %s", name, paste(values, collapse = ", "), step$headers[[name]]))
    }
  }
  for (pattern in step$patterns) {
    if (!grepl(pattern, output)) problems <- c(problems, sprintf("no %s in: %s", pattern, output))
  }
  if (length(step$body)) {
    body <- paste(step$body, collapse = "\n")
    if (sub("\n$", "", output) != body) problems <- c(problems, sprintf("printed %s\n          not %s", output, body))
  }
  for (pattern in step$log) {
    if (!within(function() any(grepl(pattern, server$log())))) {
      problems <- c(problems, sprintf("no %s in the log:\n%s", pattern, paste(server$log(), collapse = "\n")))
    }
  }
  problems
}
