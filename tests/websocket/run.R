# Plays the cases of cases/ against a server that echoes, and says which fail. Usage and the format: README.md.
# Neighbours: case.R reads the files, client.R plays them with frames.R, deflate.R, handshake.R and rules.R, judge.R
# says what is wrong with what came; ../lib has what runners share.

here <- dirname(normalizePath(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])))
for (file in c("failures.R", "wait.R", "marks.R", "start.R")) source(file.path(dirname(here), "lib", file))
# what the cases of HTTP have too: escapes and repetitions in text, and how a server is started
for (file in c("case.R", "server.R")) source(file.path(dirname(here), "conformance", file))
# after that, as read_case() is another one here
for (file in c("frames.R", "deflate.R", "handshake.R", "rules.R", "case.R", "client.R", "judge.R")) {
  source(file.path(here, file))
}

# list(host, port, path) of "ws://127.0.0.1:9001/echo".
parse_url <- function(url) {
  parts <- regmatches(url, regexec("^ws://([^:/]+):([0-9]+)(/.*)?$", url))[[1]]
  if (!length(parts)) stop("not like ws://127.0.0.1:9001/echo: ", url)
  list(host = parts[2], port = as.integer(parts[3]), path = if (nzchar(parts[4])) parts[4] else "/")
}

# The options of README.md, and a pattern.
parse_arguments <- function(args) {
  options <- list(pattern = "", workers = "1", deflate = TRUE, strict = FALSE, times = FALSE)
  while (length(args)) {
    switch(args[1],
      "--url" = {
        options$url <- args[2]
        args <- args[-1]
      },
      "--without-deflate" = options$deflate <- FALSE,
      "--strict" = options$strict <- TRUE,
      "--times" = options$times <- TRUE,
      "--workers" = {
        options$workers <- args[2]
        args <- args[-1]
      },
      "--patience" = {
        longest <<- as.numeric(args[2])
        args <- args[-1]
      },
      if (startsWith(args[1], "--")) stop("unknown option: ", args[1]) else options$pattern <- args[1])
    args <- args[-1]
  }
  options
}

# list(wrong, loose) of one case.
run_case <- function(server, case) {
  tryCatch(limited(function() {
    record <- play(server, case)
    found <- judge(case, record)
    if (length(found$wrong)) return(found)
    blind <- unnoticed(case, record)
    if (length(blind)) found$wrong <- paste("not noticed when broken:", blind)
    found
  }), error = function(e) list(wrong = conditionMessage(e)))
}

main <- function(args) {
  options <- parse_arguments(args)
  cases <- unlist(lapply(list.files(file.path(here, "cases"), "\\.cases$", full.names = TRUE), read_cases), FALSE)
  cases <- cases[vapply(cases, function(case) grepl(options$pattern, paste(case$name, case$title)), NA)]
  twice <- unique(names(cases)[duplicated(names(cases))])
  if (length(twice)) stop("cases of one name: ", paste(twice, collapse = ", "))
  cases <- cases[to_be_run(vapply(cases, function(case) case$name, ""))]
  if (is.null(options$url)) {
    server <- start_server(c(workers = options$workers), app = file.path(here, "app.R"))
    on.exit(end_server(server))
    server$path <- "/echo"
  } else {
    server <- parse_url(options$url)
  }
  failed <- loose <- skipped <- 0
  for (case in cases) {
    needs_deflate <- any(grepl("permessage-deflate", case$headers)) && !identical(case$extensions, "none")
    if (!options$deflate && needs_deflate) {
      skipped <- skipped + 1
      next
    }
    begun <- proc.time()[["elapsed"]]
    found <- run_case(server, case)
    if (options$times) cat(sprintf("%6.2f s  %s\n", proc.time()[["elapsed"]] - begun, case$name))
    if (options$strict) found <- list(wrong = c(found$wrong, found$loose))
    if (length(found$wrong)) {
      failed <- failed + 1
      cat(case$name, ", ", case$title, ": ", paste(found$wrong, collapse = "; "), "\n", sep = "")
      note_failure(case$name, c(case$title, found$wrong))
    } else if (length(found$loose)) {
      loose <- loose + 1
    }
  }
  if (length(server$log_file)) {
    panics <- grep("panicked", log_lines(server), value = TRUE)
    failed <- failed + length(panics)
    writeLines(panics)
  }
  if (loose) cat(loose, "of them as the RFC allows, but not as it advises (see with --strict)\n")
  cat(length(cases) - failed - skipped, " passed, ", failed, " failed", if (skipped) paste0(", ", skipped, " skipped"),
    "\n", sep = "")
  failed == 0
}

if (!main(commandArgs(trailingOnly = TRUE))) quit(status = 1)
