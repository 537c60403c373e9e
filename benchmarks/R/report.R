# From the figures to the table, the verdicts and the files of a result. Not for the picture: plot.R.

# The lines of the report, in Markdown.
report <- function(results) {
  summary <- if (!is.null(results$rounds)) summarise_rounds(results$rounds)
  c(
    verdict_table(results, summary), "",
    if (!is.null(summary)) for_scenarios(results, summary),
    unlist(lapply(results$trials$tables, function(table) c("", table))),
    if (!is.null(results$trials$listed)) c("", for_trials(results$trials$listed)),
    if (length(unlist(results$invalid)) > 0L) c("", invalid_lines(results$invalid))
  )
}

# What was asked of drover, what was measured, and whether it is met.
verdict_table <- function(results, summary) {
  rows <- rbind(ratio_rows(results, summary), speed_rows(results, summary), results$idle, results$trials$verdicts)
  if (is.null(rows)) return("drover was not measured.")
  met <- ifelse(is.na(rows$met), "", ifelse(rows$met, "yes", "**no**"))
  markdown_table(list("drover" = rows$title, "asked" = rows$asked, "measured" = rows$measured, "met?" = met))
}

# A row of that table: title, asked and measured are texts; met is TRUE, FALSE, or NA when nothing was asked.
verdict_row <- function(title, asked, measured, met) {
  data.frame(title = title, asked = asked, measured = measured, met = met)
}

ratio_rows <- function(results, summary) {
  if (is.null(summary)) return(NULL)
  rows <- lapply(results$scenarios, function(scenario) {
    figures <- summary[summary$scenario == scenario$name & summary$peer == "drover", ]
    if (nrow(figures) == 0L) return(NULL)
    verdict_row(
      paste0(scenario$title, ": CPU per request"), sprintf("at most %.1fx nginx", scenario$asked),
      sprintf("%.2fx (rounds %.2f to %.2f)", figures$cpu_ratio, figures$low, figures$high),
      figures$cpu_ratio <= scenario$asked
    )
  })
  do.call(rbind, unname(rows))
}

# Requests/s against drogonR, of the scenarios with a handler (a file is compared with nginx alone).
speed_rows <- function(results, summary) {
  if (is.null(summary) || !"drover" %in% names(results$versions)) return(NULL)
  if (!"drogonR" %in% names(results$versions)) {
    return(verdict_row(
      "requests/s of every handler", "above drogonR's", "not compared: drogonR is not installed, or did not start", NA
    ))
  }
  rows <- lapply(results$scenarios[names(results$scenarios) != "static"], function(scenario) {
    here <- summary[summary$scenario == scenario$name, ]
    ours <- here$rps[here$peer == "drover"]
    theirs <- here$rps[here$peer == "drogonR"]
    if (length(ours) == 0L || length(theirs) == 0L) return(NULL)
    verdict_row(
      paste0(scenario$title, ": requests/s"), paste("above drogonR's", thousands(theirs)), thousands(ours),
      ours > theirs
    )
  })
  do.call(rbind, unname(rows))
}

for_scenarios <- function(results, summary) {
  titles <- vapply(results$scenarios, `[[`, "", "title")
  first <- !duplicated(summary$scenario)
  markdown_table(list(
    "scenario" = ifelse(first, titles[summary$scenario], ""), "server" = summary$peer,
    "requests/s" = thousands(summary$rps), "p50 ms" = sprintf("%.2f", summary$p50_us / 1e3),
    "p99 ms" = sprintf("%.2f", summary$p99_us / 1e3), "CPU us/request" = sprintf("%.2f", summary$cpu_us),
    "CPU / nginx" = sprintf("%.2f", summary$cpu_ratio)
  ), right = 3:7)
}

# Medians of all that the trials measured.
for_trials <- function(figures) {
  groups <- unique(figures[c("trial", "case", "figure")])
  medians <- vapply(seq_len(nrow(groups)), function(i) {
    here <- figures$trial == groups$trial[i] & figures$case == groups$case[i] & figures$figure == groups$figure[i]
    stats::median(figures$value[here])
  }, 0)
  first <- !duplicated(groups[c("trial", "case")])
  markdown_table(list(
    "trial" = ifelse(!duplicated(groups$trial), groups$trial, ""), "case" = ifelse(first, groups$case, ""),
    "figure" = groups$figure, "median" = format(signif(medians, 4), scientific = FALSE, drop0trailing = TRUE,
      trim = TRUE)
  ), right = 4L)
}

invalid_lines <- function(invalid) {
  c("Left out, because answers were wrong or missing:", "", unlist(lapply(names(invalid), function(scenario) {
    if (length(invalid[[scenario]]) == 0L) return(NULL)
    sprintf("- %s, %s: %s", scenario, names(invalid[[scenario]]), unlist(invalid[[scenario]]))
  })))
}

thousands <- function(x) trimws(format(round(x), big.mark = ",", scientific = FALSE))

markdown_table <- function(columns, right = integer()) {
  cells <- Map(function(name, column) c(name, column), names(columns), lapply(columns, as.character))
  widths <- vapply(cells, function(cell) max(nchar(cell), 3L), 1L)
  lines <- do.call(paste, c(Map(function(cell, width, index) {
    formatC(cell, width = if (index %in% right) width else -width)
  }, cells, widths, seq_along(cells)), sep = " | "))
  rule <- vapply(seq_along(widths), function(index) {
    if (index %in% right) paste0(strrep("-", widths[index] - 1L), ":") else strrep("-", widths[index])
  }, "")
  paste0("| ", c(lines[1], paste(rule, collapse = " | "), lines[-1]), " |")
}

# <date>-<cores>c.md, .csv (every round), -trials.csv (the same of trials) and .svg in `out`.
write_results <- function(results, text, out) {
  dir.create(out, showWarnings = FALSE, recursive = TRUE)
  name <- paste0(format(Sys.time(), "%Y-%m-%d"), "-", cores(), "c")
  path <- function(extension) file.path(out, paste0(name, ".", extension))
  options <- results$options
  writeLines(c(
    paste("# Benchmark of", format(Sys.time(), "%Y-%m-%d, %H:%M %Z")), "",
    text, "", if (length(results$rounds)) c(paste0("![CPU time per request as a multiple of nginx's](", name, ".svg)"), ""),
    "## Machine", paste0("- ", names(results$machine), ": ", results$machine),
    paste0("- ", names(results$versions), ": ", results$versions), "",
    "## Method",
    sprintf("%d keep-alive connections from one wrk thread; %d rounds of %d s for each scenario, in which the servers",
      options$connections, options$rounds, options$duration),
    "take turns; medians over the rounds. CPU is user and system time of all processes and threads of a server,",
    "divided by the requests answered; its ratio is to nginx in the same round. Client and servers share the cores.",
    paste0("Every round is in `", name, ".csv`; the method is explained in `../README.md`.")
  ), path("md"))
  if (!is.null(results$trials$figures)) {
    utils::write.csv(results$trials$figures, file.path(out, paste0(name, "-trials.csv")), row.names = FALSE)
  }
  # trials alone have no rounds
  if (length(results$rounds)) {
    utils::write.csv(results$rounds, path("csv"), row.names = FALSE)
    plot_results(results, path("svg"))
  }
  say("written: ", path("md"), " and what it speaks of")
}
