# Puts the session back as it was when a handler has left it changed, so that the next request does not inherit it. What
# is looked at, and when, is in src/hygiene.c. Not a sandbox: a handler may change its own app's state as it likes.

# What the session was like when the server started.
clean <- new.env(parent = emptyenv())

note_session <- function() {
  clean$directory <- getwd()
  clean$locale <- Sys.getlocale()
  clean$options <- options()[c("warn", "error", "expressions")]
  names(clean$options) <- c("warn", "error", "expressions")
  clean$devices <- open_devices()
  clean$sinks <- sink.number()
  clean$messages <- sink.number(type = "message")
}

# Called from C after a request. Each repair is logged, with the request that made it necessary. `awaiting`: promises of
# answers are open, which may draw on a device that is open for them.
repair_session <- function(awaiting) {
  setTimeLimit()
  changed <- c(
    repair_directory(), repair_locale(), repair_options(), repair_sinks(), if (!awaiting) repair_devices()
  )
  if (length(changed)) {
    log_line("warn", paste("the handler left changed, now put back:", paste(changed, collapse = ", ")), request = TRUE)
  }
}

repair_directory <- function() {
  if (identical(getwd(), clean$directory)) return()
  tryCatch(setwd(clean$directory), error = function(e) NULL)
  "working directory"
}

repair_locale <- function() {
  if (identical(Sys.getlocale(), clean$locale)) return()
  for (part in strsplit(clean$locale, ";", fixed = TRUE)[[1L]]) {
    pair <- strsplit(part, "=", fixed = TRUE)[[1L]]
    if (length(pair) == 2L && pair[[1L]] %in% .LC.categories) Sys.setlocale(pair[[1L]], pair[[2L]])
  }
  if (!grepl("=", clean$locale, fixed = TRUE)) Sys.setlocale("LC_ALL", clean$locale)
  "locale"
}

repair_options <- function() {
  now <- options()[names(clean$options)]
  names(now) <- names(clean$options)
  changed <- names(now)[!mapply(identical, now, clean$options)]
  options(clean$options)
  if (length(changed)) paste0("options(", changed, ")")
}

repair_sinks <- function() {
  output <- sink.number() > clean$sinks
  while (sink.number() > clean$sinks) sink()
  messages <- sink.number(type = "message") != clean$messages
  if (messages) sink(if (clean$messages == 2L) NULL else getConnection(clean$messages), type = "message")
  if (output || messages) "sink()"
}

repair_devices <- function() {
  opened <- setdiff(open_devices(), clean$devices)
  for (device in opened) grDevices::dev.off(device)
  if (length(opened)) "graphics device"
}

# None where the package that opens them is not even loaded.
open_devices <- function() if (isNamespaceLoaded("grDevices")) grDevices::dev.list()
