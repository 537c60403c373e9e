# Plays a case of frames/ and says what is wrong. The format is in README.md.
# Neighbours: over-tls.R starts servers with TLS, frames-case.R reads the file, frames-client.R plays it, frames-judge.R
# judges what came of it.
# Not for starting the servers that cases share: run.R.

# Reads the rest of the frames' client into `into`: benchmarks/R/trials-attacks.R does so as well. `tests`: the folder
# tests/ of the repository.
source_frames <- function(tests, into = globalenv()) {
  for (file in c("lib/wait.R", "conformance/frames-case.R", "conformance/frames-client.R", "conformance/frames-judge.R",
    # the bytes of frames, and what a process holds
    "testthat/helper-h2-frames.R", "testthat/helper-raw-http.R")) sys.source(file.path(tests, file), into)
}

# A case of frames/, on a server of its own when it asks for one of its kind or measures memory, or is to be played over
# TLS.
run_frames <- function(file, server, tls = FALSE) {
  case <- read_frames_case(file)
  measures_memory <- any(vapply(case$expect, function(expected) expected$kind == "memory", NA))
  if (tls) {
    server <- start_tls_server(case$settings, open_files = case$open_files)
    on.exit(end_tls_server(server))
    get_text(server, "/ok")
  } else if (length(case$settings) || length(case$open_files) || measures_memory) {
    server <- start_server(case$settings, open_files = case$open_files)
    on.exit(end_server(server))
    get_text(server, "/ok")
  }
  from <- file.size(server$log_file)
  record <- play_frames(server, case)
  record$log <- log_lines(server, from)
  wrong <- unlist(lapply(case$expect, judge_expectation, record = record))
  if (!length(wrong)) {
    # a case whose expectations cannot fail shows nothing
    for (expected in case$expect) {
      if (length(judge_expectation(break_expectation(expected), record))) next
      wrong <- c(wrong, paste("cannot fail:", expected$kind))
    }
  }
  c(wrong, grep("panicked", record$log, value = TRUE), if (!identical(get_text(server, "/ok"), "ok")) {
    "afterwards the server does not answer GET /ok"
  })
}
