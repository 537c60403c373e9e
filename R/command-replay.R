# `drover replay`: plays a failed request again, and shows what comes of it. Neighbours: replay.R, which does it;
# command.R; the program's own side, replay.rs in the crate `cli`, which asks the server for the request.

# APP --request FILE [--report FILE] [--kind KIND] [--field "NAME: VALUE"]... [--timeout SECONDS] [--plumber HOW]
# [--case-sensitive] [-- ARGUMENTS]. The request's file is removed; the report gets samples of R's stack.
command_replay <- function(arguments) {
  file <- option_of(arguments, "--request")
  request <- as_failed_request(file, NULL)
  unlink(file)
  own <- split_arguments(arguments)$own
  fields <- own[which(own == "--field") + 1L]
  headers <- with_names(as.list(sub("^[^:]*:[ \t]*", "", fields)), sub(":.*", "", fields))
  what <- sprintf("drover: %s %s, which got %d at %s", request$method, request$target, request$status,
    format(time_of(request$at)))
  message(encodeString(what))
  if (is.null(request$seed)) message("drover: where random numbers were is not known: they are others")
  redacted <- Filter(function(field) identical(field[[2L]], redaction_mark), request$fields)
  redacted <- setdiff(tolower(vapply(redacted, `[[`, "", 1L)), tolower(names(headers)))
  if (length(redacted)) message("drover: redacted, to be set with --field: ", encodeString(and_list(redacted)))
  app <- load_for_command(arguments)
  timeout <- option_of(arguments, "--timeout")
  settings <- list(
    plumber = option_of(arguments, "--plumber") %||% "fast", case_sensitive = "--case-sensitive" %in% own
  )
  timeout <- replay_timeout(if (length(timeout)) as.numeric(timeout), request)
  report <- option_of(arguments, "--report")
  response <- play(request, app, settings, headers, interactive(), timeout, report, NULL)
  writeLines(response$log, stderr())
  response$log <- NULL
  print(response)
  as.integer(response$status >= 500L)
}
