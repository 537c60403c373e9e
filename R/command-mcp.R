# `drover mcp --list`: what an app offers to language models, without serving it. Neighbours: command.R; mcp-stdio.R,
# which finds the endpoint.

# FILE [--kind KIND] --mcp PATH [--with-credentials] [--json].
command_mcp <- function(arguments) {
  app <- load_for_command(arguments)
  offer <- ready_for_stdio(app, arguments)$offer
  # what is offered is known when all routes are; what else is odd about them is not asked for
  suppressWarnings(compile_app(app, NULL))
  if ("--json" %in% split_arguments(arguments)$own) {
    lists <- list(
      tools = offer$tools, resources = offer$resources, resourceTemplates = offer$templates, prompts = offer$prompts
    )
    texts <- vapply(lists, function(items) paste(vapply(items, `[[`, "", "listed"), collapse = ","), "")
    cat("{", paste0("\"", names(lists), "\":[", texts, "]", collapse = ","), "}\n", sep = "")
    return(0L)
  }
  rows <- c(
    lapply(unname(offer$tools), tool_row), lapply(unname(c(offer$resources, offer$templates)), resource_row),
    lapply(unname(offer$prompts), prompt_row)
  )
  if (!length(rows)) {
    message("drover: it offers no tools, resources or prompts")
    return(1L)
  }
  column <- function(i) vapply(rows, `[[`, "", i)
  writeLines(trimws(paste0(
    format(column(1L)), "  ", format(column(2L)), "  ", format(column(3L)), "  ", column(4L)
  ), "right"))
  0L
}

# What it is, name, arguments, and what it is for, in a line.
tool_row <- function(tool) {
  listed <- dr_from_json(tool$listed, simplify = FALSE)
  arguments <- names(listed$inputSchema$properties)
  may_miss <- !arguments %in% unlist(listed$inputSchema$required)
  c("tool", tool$name, marked_arguments(arguments, may_miss), purpose(listed))
}

resource_row <- function(resource) {
  c("resource", resource$uri, "", purpose(dr_from_json(resource$listed, simplify = FALSE)))
}

prompt_row <- function(prompt) {
  listed <- dr_from_json(prompt$listed, simplify = FALSE)
  names <- vapply(listed$arguments, `[[`, "", "name")
  may_miss <- !vapply(listed$arguments, `[[`, NA, "required")
  c("prompt", prompt$name, marked_arguments(names, may_miss), purpose(listed))
}

marked_arguments <- function(names, may_miss) {
  paste(paste0(names, ifelse(may_miss, "?", ""), recycle0 = TRUE), collapse = ", ")
}

purpose <- function(listed) {
  description <- strsplit(listed$description %||% "", "\n", fixed = TRUE)[[1L]]
  paste(c(listed$title, first_of(description, 1L)), collapse = ": ")
}
