# Plays the protocol cases against a server and says which fail. Usage and the format of a case: README.md.
# Neighbours: server.R starts the server, app.R is its app, ../lib has what runners share. Of requests/ and floods/,
# case.R reads the files, client.R plays them, judge.R says what is wrong with what came of it, mutate.R whether that
# would be seen; frames-run.R and its neighbours do the same for frames/.

here <- dirname(normalizePath(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])))
for (file in c("failures.R", "wait.R", "marks.R", "start.R", "ports.R")) source(file.path(dirname(here), "lib", file))
for (file in c("server.R", "case.R", "client.R", "judge.R", "mutate.R", "over-tls.R", "frames-run.R")) {
  source(file.path(here, file))
}
offer_gates(file.path(dirname(here), "lib"))
source_frames(dirname(here))

# Plays a case and records what came of it, as judge.R describes. What lags behind the answer is waited for.
record <- function(case, server) {
  from <- if (is.null(server$log_file)) 0 else file.size(server$log_file)
  before <- get_text(server, "/count")
  got <- play(server, case)
  got$runs <- NA_integer_
  if (!is.na(case$runs)) {
    count <- function() got$runs <<- as.integer(get_text(server, "/count")) - as.integer(before)
    # after a hang-up the server may still be busy with what came
    if (case$hang_up) within(function() identical(count(), case$runs)) else count()
  }
  if (!is.null(server$log_file)) {
    enough <- function(lines) sum(is_warning(lines)) >= refused(got) && all(logged(case, lines))
    got$lines <- await_log(server, from, enough)
  }
  got$well <- identical(get_text(server, "/ok"), "ok")
  got
}

# The log has room for ten lines a second about clients, and for a hundred at once. A function to call after each case:
# it waits while the cases are too fast for that. What counts is what was written, as some cases do not wait for their
# answers.
pacer <- function(server) {
  level <- seen <- 0
  last <- Sys.time()
  function() {
    repeat {
      written <- sum(grepl("\\bWARN\\b", log_lines(server)))
      now <- Sys.time()
      level <<- max(0, level - 9 * as.numeric(now - last, units = "secs")) + written - seen
      seen <<- written
      last <<- now
      if (level <= 60) return()
      let_pass(0.2)
    }
  }
}

# What is wrong with a case of requests/ or floods/; with attribute "tried", how many ways to break it were tried.
check_case <- function(case, got) {
  wrong <- judge(case, got)
  # what is wrong already shows that it can be
  if (length(wrong)) return(structure(wrong, tried = 0L))
  blind <- unnoticed(case, got)
  structure(if (length(blind)) paste("not noticed when broken:", blind) else character(), tried = attr(blind, "tried"))
}

main <- function(args) {
  own <- length(args) < 2
  server <- if (own) start_server() else list(host = args[1], port = as.integer(args[2]))
  if (own) on.exit(end_server(server))
  pattern <- c(if (own) args else args[-(1:2)], "")[1]
  # frames/ looks at the server's process, so it must be ours
  folders <- file.path(here, c("requests", "floods", if (own) "frames"))
  files <- list.files(folders, "\\.(http|frames)$", full.names = TRUE)
  files <- files[grepl(pattern, substring(files, nchar(here) + 2))]
  # once more over TLS
  again <- files[endsWith(files, ".frames") & sub("-.*", "", basename(files)) %in% over_tls]
  if (!has_relay()) again <- character()
  cases <- data.frame(file = c(files, again), tls = rep(c(FALSE, TRUE), c(length(files), length(again))))
  cases$name <- paste0(substring(cases$file, nchar(here) + 2), ifelse(cases$tls, " over TLS", ""))
  cases <- cases[to_be_run(cases$name), ]
  # of its own: what floods leave in a log is not to be counted by other cases
  if (any(endsWith(cases$file, ".frames"))) {
    frames_server <- start_server()
    on.exit(end_server(frames_server), add = TRUE)
  }
  failed <- tried <- 0
  pace <- if (own) pacer(server) else function() NULL
  for (i in seq_len(nrow(cases))) {
    file <- cases$file[[i]]
    wrong <- tryCatch(limited(function() {
      if (endsWith(file, ".frames")) return(run_frames(file, frames_server, cases$tls[[i]]))
      case <- read_case(file)
      got <- record(case, server)
      pace()
      wrong <- check_case(case, got)
      tried <<- tried + attr(wrong, "tried")
      wrong
    }), error = function(e) conditionMessage(e))
    if (!length(wrong)) next
    failed <- failed + 1
    cat(cases$name[[i]], ": ", paste(wrong, collapse = "; "), "\n", sep = "")
    note_failure(cases$name[[i]], wrong)
  }
  cat(tried, " expectations and answers of requests/ and floods/ broken\n", sep = "")
  cat(nrow(cases) - failed, " passed, ", failed, " failed\n", sep = "")
  failed == 0
}

if (!main(commandArgs(trailingOnly = TRUE))) quit(status = 1)
