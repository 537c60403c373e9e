# `drover mcp --list`: what an app offers to language models, without serving it. Neighbours: command.R; mcp-stdio.R,
# which finds the endpoint.

# FILE [--kind KIND] --mcp PATH [--with-credentials] [--json].
command_mcp <- function(arguments) {
  app <- load_for_command(arguments)
  offer <- ready_for_stdio(app, arguments)$offer
  # what is offered is known when all routes are; what else is odd about them is not asked for
  suppressWarnings(compile_app(app, NULL))
  if ("--json" %in% split_arguments(arguments)$own) {
    cat("{\"tools\":[", paste(vapply(offer$tools, `[[`, "", "listed"), collapse = ","), "]}\n", sep = "")
    return(0L)
  }
  rows <- lapply(unname(offer$tools), tool_row)
  if (!length(rows)) {
    message("drover: it offers no tools")
    return(1L)
  }
  column <- function(i) vapply(rows, `[[`, "", i)
  writeLines(trimws(paste0(
    "tool  ", format(column(1L)), "  ", format(column(2L)), "  ", column(3L)
  ), "right"))
  0L
}

# Name, arguments, and what it is for, in a line.
tool_row <- function(tool) {
  listed <- dr_from_json(tool$listed, simplify = FALSE)
  arguments <- names(listed$inputSchema$properties)
  may_miss <- !arguments %in% unlist(listed$inputSchema$required)
  description <- strsplit(listed$description %||% "", "\n", fixed = TRUE)[[1L]]
  c(
    tool$name, paste(paste0(arguments, ifelse(may_miss, "?", ""), recycle0 = TRUE), collapse = ", "),
    paste(c(listed$title, utils::head(description, 1L)), collapse = ": ")
  )
}
