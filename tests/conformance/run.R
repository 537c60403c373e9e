# Plays the protocol cases against a server and says which fail. Usage and the format of a case: README.md.
# Base R only: it must run where nothing but R and the package is installed.
# Neighbours: server.R starts the server, app.R is its app; case.R reads requests/ and floods/, client.R plays them;
# frames-run.R and its neighbours do the same for frames/.

here <- dirname(normalizePath(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])))
for (file in c("server.R", "case.R", "client.R", "frames-run.R")) source(file.path(here, file))
source_frames(dirname(here))

# What is wrong with the answers, as text; nothing when they are as the case says.
judge_answers <- function(case, got) {
  wrong <- if (length(got$missed)) paste("never received", got$missed) else character()
  if (identical(case$close, "yes") && !got$closed) wrong <- c(wrong, "the connection stays open")
  if (identical(case$status, "any")) return(wrong)
  codes <- vapply(got$answers, `[[`, "", "status")
  expected <- if (identical(case$status, "none")) list() else lapply(case$status, `[[`, "codes")
  if (identical(case$close, "no")) expected <- c(expected, "200")
  fits <- function(i) (if (i > length(codes)) "none" else codes[i]) %in% expected[[i]]
  if (length(codes) > length(expected) || !all(vapply(seq_along(expected), fits, NA))) {
    wanted <- vapply(expected, paste, "", collapse = "|")
    wrong <- paste0("status ", paste(codes, collapse = " "), ", not ", paste(wanted, collapse = " "),
                    if (identical(case$close, "no")) " (the last one on the connection kept alive)")
  }
  if (length(got$rest)) wrong <- c(wrong, paste0("bytes that are no answer: ", encodeString(substr(text_of(got$rest), 1, 60))))

  last <- length(got$answers) - identical(case$close, "no")
  if (last < 1) return(wrong)
  answer <- got$answers[[last]]
  for (header in case$header) {
    name <- tolower(sub(":.*", "", header))
    pattern <- sub("^[^:]*: ", "", header)
    values <- answer$values[answer$names == name]
    if (!any(grepl(pattern, values))) wrong <- c(wrong, paste0("header ", name, " is <", paste(values, collapse = ">, <"), ">"))
  }
  for (name in case$no_header) if (tolower(name) %in% answer$names) wrong <- c(wrong, paste("has header", name))
  body <- text_of(answer$body)
  if (!is.na(case$body) && !grepl(case$body, body, perl = TRUE, useBytes = TRUE)) wrong <- c(wrong, paste0("body is ", encodeString(substr(body, 1, 120), quote = "\"")))
  c(wrong, unlist(lapply(got$answers, judge_manners)))
}

# What every answer must have, whatever the case.
judge_manners <- function(answer) {
  has <- function(name, value) any(answer$names == name & answer$values == value)
  if (startsWith(answer$status, "1")) return(NULL)
  c(if (!has("x-content-type-options", "nosniff")) paste(answer$status, "without nosniff"),
    if (answer$status >= "400") {
      c(if (!has("cache-control", "no-store")) paste(answer$status, "without no-store"),
        if (length(answer$body) > 1000) paste(answer$status, "with a long body"))
    })
}

# What is wrong with the log written since byte `from`.
judge_log <- function(case, got, server, from) {
  if (is.null(server$log)) return(NULL)
  codes <- vapply(got$answers, `[[`, "", "status")
  refused <- sum(codes %in% c("400", "413", "414", "417", "431", "501", "505"))
  warned <- function(lines) sum(grepl("\\bWARN\\b.*\\b(400|413|414|417|431|501|505)\\b", lines, perl = TRUE))
  found <- function(lines) vapply(case$log, function(pattern) any(grepl(pattern, lines, perl = TRUE)), NA)
  lines <- await_log(server, from, function(lines) warned(lines) >= refused && all(found(lines)))
  counted <- !case$hang_up && !identical(case$status, "any")
  c(if (counted && warned(lines) != refused) {
      paste0(warned(lines), " log lines for ", refused, " refused requests")
    },
    if (!all(found(lines))) paste("no log line matches", case$log[!found(lines)]))
}

run_case <- function(file, server) {
  case <- read_case(file)
  from <- if (is.null(server$log)) 0 else file.size(server$log)
  before <- get_text(server, "/count")
  got <- play(server, case)
  wrong <- if (case$hang_up) character() else judge_answers(case, got)
  if (!is.na(case$runs)) {
    # after a hang-up the server may still be busy with what came
    for (attempt in 1:20) {
      runs <- as.integer(get_text(server, "/count")) - as.integer(before)
      if (identical(runs, case$runs) || !case$hang_up) break
      Sys.sleep(0.05)
    }
    if (!identical(runs, case$runs)) wrong <- c(wrong, paste("handlers ran", paste(runs, collapse = ""), "times, not", case$runs))
  }
  wrong <- c(wrong, judge_log(case, got, server, from))
  if (!identical(get_text(server, "/ok"), "ok")) wrong <- c(wrong, "afterwards the server does not answer GET /ok")
  wrong
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
  # of its own: what floods leave in a log is not to be counted by other cases
  if (any(endsWith(files, ".frames"))) {
    frames_server <- start_server()
    on.exit(end_server(frames_server), add = TRUE)
  }
  failed <- 0
  for (file in files) {
    wrong <- tryCatch(
      if (endsWith(file, ".frames")) run_frames(file, frames_server) else run_case(file, server),
      error = function(e) conditionMessage(e))
    if (!length(wrong)) next
    failed <- failed + 1
    cat(substring(file, nchar(here) + 2), ": ", paste(wrong, collapse = "; "), "\n", sep = "")
  }
  cat(length(files) - failed, " passed, ", failed, " failed\n", sep = "")
  failed == 0
}

if (!main(commandArgs(trailingOnly = TRUE))) quit(status = 1)
