# Runs Autobahn's test suite against a server that echoes, and says which of its cases fail.
#   Rscript tests/websocket/autobahn.R PROGRAM FOLDER [--url URL] [CASE...]
# PROGRAM: wstest, as tools/autobahn.sh installs it; FOLDER: for its report. Without a URL the server is app.R. CASE:
# such as 7.* or 12.1.3; all without. A table of the groups, a line per failure, then "N passed, N failed".
# Not for our own form of these cases, which needs no Python: run.R.

here <- dirname(normalizePath(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])))
for (file in c("wait.R", "marks.R", "start.R")) source(file.path(dirname(here), "lib", file))
source(file.path(dirname(here), "conformance", "server.R"))

# "Non-strict": in an order, or later, than the RFC advises. "Informational": whatever happens is right.
passing <- c("OK", "NON-STRICT", "INFORMATIONAL")
closing_well <- c("OK", "INFORMATIONAL")

# Cases of the suite, all groups.
all_cases <- 517

# Seconds for a run of all of them; on two cores it takes a fraction.
longest <- 5400

# A data frame of case, group, behavior and closing, in the order of the numbers.
run_suite <- function(program, folder, url, cases) {
  unlink(folder, recursive = TRUE)
  dir.create(folder, recursive = TRUE)
  nothing <- stats::setNames(list(), character())
  spec <- list(outdir = folder, servers = list(list(agent = "server", url = url)), cases = as.list(cases),
    "exclude-cases" = list(), "exclude-agent-cases" = nothing)
  file <- file.path(folder, "spec.json")
  writeLines(jsonlite::toJSON(spec, auto_unbox = TRUE), file)
  log <- file.path(folder, "wstest.log")
  status <- system2(program, c("--mode", "fuzzingclient", "--spec", shQuote(file)), stdout = log, stderr = log,
    timeout = longest)
  index <- file.path(folder, "index.json")
  if (status != 0 || !file.exists(index)) {
    stop("the suite has made no report; it wrote:\n", paste(utils::tail(readLines(log), 20), collapse = "\n"))
  }
  report <- jsonlite::fromJSON(index, simplifyVector = FALSE)$server
  number <- names(report)
  found <- data.frame(case = number, group = sub("\\..*", "", number),
    behavior = vapply(report, `[[`, "", "behavior"), closing = vapply(report, `[[`, "", "behaviorClose"))
  found[order(numeric_version(number)), ]
}

# A row for each group: how many cases ended how, and how many closed badly.
summary_table <- function(found) {
  outcomes <- c(passing, sort(setdiff(found$behavior, passing)))
  rows <- lapply(split(found, factor(as.integer(found$group))), function(group) {
    c(nrow(group), vapply(outcomes, function(outcome) sum(group$behavior == outcome), 0),
      sum(!group$closing %in% closing_well))
  })
  table <- do.call(rbind, c(rows, list(all = Reduce(`+`, rows))))
  colnames(table) <- c("cases", outcomes, "closed badly")
  cells <- rbind(c("group", colnames(table)), cbind(rownames(table), table))
  apply(format(cells, justify = "right"), 1, paste, collapse = "  ")
}

main <- function(program, folder, args) {
  url <- NULL
  if (identical(args[1], "--url")) {
    url <- args[2]
    args <- args[-(1:2)]
  }
  cases <- if (length(args)) args else "*"
  server <- list()
  if (is.null(url)) {
    server <- start_server(app = file.path(here, "app.R"))
    on.exit(end_server(server))
    url <- paste0("ws://127.0.0.1:", server$port, "/echo")
  }
  found <- run_suite(program, normalizePath(folder, mustWork = FALSE), url, cases)
  writeLines(summary_table(found))
  failed <- found[!found$behavior %in% passing | !found$closing %in% closing_well, ]
  panics <- if (length(server)) grep("panicked", log_lines(server), value = TRUE)
  wrong <- c(sprintf("case %s: %s, closing: %s", failed$case, failed$behavior, failed$closing), panics,
    if (identical(cases, "*") && nrow(found) != all_cases) paste(nrow(found), "cases have run, not", all_cases))
  writeLines(wrong)
  cat(nrow(found) - nrow(failed), " passed, ", length(wrong), " failed\n", sep = "")
  !length(wrong)
}

args <- commandArgs(trailingOnly = TRUE)
if (!main(args[1], args[2], args[-(1:2)])) quit(status = 1)
