# A process that serves looks at itself: samples R's stack with R's profiler while it goes on serving, or measures the
# objects that its memory holds. What it finds is JSON for the crate `profile`, which makes tables and pictures of it.
# When it begins and ends is up to src/inspection.c. Neighbours: worker-loop.R (the loop); the program `drover profile`.

# What is under way: number (the server's name for it), folder, interval, began.
inspection <- new.env(parent = emptyenv())

# Longest report, in bytes of stacks. Some thousand samples come to a tenth of that.
most_report_bytes <- 4e6

# Called from C, between requests. `asked`: the server's name for it, 1 for stacks or 2 for objects, milliseconds, and
# microseconds between samples.
inspect <- function(asked) {
  number <- asked[[1L]]
  tryCatch(
    if (asked[[2L]] == 1) {
      begin_samples(asked[[4L]] / 1e6)
      inspection$number <- number
      .Call(C_inspection_until, asked[[3L]] / 1000)
    } else {
      .Call(C_process_reports, number, to_report(largest_objects(asked[[3L]] / 1000)), FALSE)
    },
    error = function(error) .Call(C_process_reports, number, valid_text(conditionMessage(error)), TRUE)
  )
}

# Called from C, between requests, when the time is over.
inspection_over <- function(unused) {
  tryCatch(
    .Call(C_process_reports, inspection$number, to_report(end_samples()), FALSE),
    error = function(error) .Call(C_process_reports, inspection$number, valid_text(conditionMessage(error)), TRUE)
  )
}

to_report <- function(found) dr_to_json(found, auto_unbox = TRUE)

# Starts R's profiler: a sample every `interval` seconds of CPU time.
begin_samples <- function(interval) {
  if (!is.null(inspection$folder)) stop("its stack is being sampled already")
  # forks of one process draw the same names
  folder <- tempfile(paste0("drover-profile-", Sys.getpid(), "-"))
  if (!dir.create(folder, mode = "0700", recursive = TRUE)) stop("no folder for samples: ", folder)
  inspection$folder <- folder
  inspection$interval <- interval
  inspection$began <- elapsed()
  .Call(C_inspection_begin, answers_by_route(), length(engine$names))
  utils::Rprof(file.path(folder, "samples"), interval = interval, gc.profiling = TRUE, line.profiling = TRUE)
}

# Handlers have returned when their values become replies. A call by the route's name is around that, too: it is what
# samples are told apart by.
answers_by_route <- function() {
  answer <- function(cell, value) reply_of_handler(cell, value)
  scope <- new.env(parent = topenv())
  for (name in engine$names) assign(name, answer, envir = scope)
  scope
}

reply_of_handler <- function(cell, value) .Call(C_worker_answer_in_frame, cell, value)

end_samples <- function() {
  utils::Rprof(NULL)
  seconds <- elapsed() - inspection$began
  handled <- .Call(C_inspection_end)
  folder <- inspection$folder
  inspection$folder <- NULL
  on.exit(unlink(folder, recursive = TRUE))
  samples <- valid_texts(readLines(file.path(folder, "samples"), warn = FALSE))
  is_file <- startsWith(samples, "#File ")
  files <- sub("^#File [0-9]+: ", "", samples[is_file])
  # the first line is about the file
  stacks <- counted(samples[!is_file][-1L])
  ran <- handled[[1L]] > 0
  list(
    interval = inspection$interval, seconds = seconds, files = I(files), stacks = I(stacks$stacks),
    counts = I(stacks$counts), left_out = stacks$left_out, routes = I(engine$names[ran]),
    requests = I(handled[[1L]][ran]), spent = I(handled[[2L]][ran])
  )
}

# Names in an app may be in any encoding, and JSON is in UTF-8.
valid_texts <- function(texts) iconv(enc2utf8(texts), "UTF-8", "UTF-8", sub = "byte")

# Each stack once, the most frequent first, up to the longest report; how often it was there; and samples left out.
counted <- function(stacks) {
  # the same for all: the loop of the worker, and what is beneath it
  stacks <- sub("(\"\\.Call\" )?\"(remembering_requests|run_due_callbacks)\" .*$", "\"drover\" ", stacks)
  each <- unique(stacks)
  counts <- tabulate(match(stacks, each), length(each))
  order <- order(-counts)
  each <- each[order]
  counts <- counts[order]
  fits <- cumsum(nchar(each, "bytes") + 16) <= most_report_bytes
  list(stacks = each[fits], counts = counts[fits], left_out = sum(counts[!fits]))
}

# Objects of the global environment, and of environments that handlers reach: the largest first, no more than `most`.
# The search takes no longer than `seconds`. It runs no code of the app: promises and active bindings stay as they are.
largest_objects <- function(seconds, most = 50L) {
  end <- elapsed() + seconds
  found <- list(name = character(), where = character(), class = character(), bytes = numeric())
  seen <- new.env()
  is_new <- function(value) {
    address <- .Call(C_inspection_address, value)
    if (!is.null(seen[[address]])) return(FALSE)
    seen[[address]] <- TRUE
    TRUE
  }
  waiting <- list(list(env = globalenv(), where = "the global environment"))
  reach <- function(value, where) {
    env <- if (is.environment(value)) value else if (is.function(value)) environment(value)
    if (is.null(env) || is_of_code(env) || !is_new(env)) return()
    waiting[[length(waiting) + 1L]] <<- list(env = env, where = where)
  }
  is_new(globalenv())
  for (name in setdiff(engine$names, names(task_handlers))) reach(get(name, envir = engine$scope), name)
  at <- 0L
  while (at < length(waiting) && elapsed() < end) {
    at <- at + 1L
    env <- waiting[[at]]$env
    where <- waiting[[at]]$where
    for (name in ls(env, all.names = TRUE, sorted = FALSE)) {
      value <- .Call(C_inspection_settled, env, name)
      if (is.null(value) || elapsed() >= end) next
      value <- value[[1L]]
      inner <- paste0(name, " in ", where)
      if (is.list(value)) for (part in first_of(unclass(value), 1000L)) reach(part, inner)
      reach(value, inner)
      if (is.environment(value) || !is_new(value)) next
      found$name <- c(found$name, name)
      found$where <- c(found$where, where)
      found$class <- c(found$class, paste(class(value), collapse = "/"))
      found$bytes <- c(found$bytes, as.numeric(utils::object.size(value)))
    }
    reach(parent.env(env), paste("around", where))
  }
  # what is smaller fills no memory
  shown <- which(found$bytes >= 1000)
  largest <- first_of(shown[order(-found$bytes[shown])], most)
  found[1:3] <- lapply(found[1:3], valid_texts)
  list(
    objects = length(found$bytes), total = sum(found$bytes), whole = at == length(waiting) && elapsed() < end,
    name = I(found$name[largest]), where = I(found$where[largest]), class = I(found$class[largest]),
    bytes = I(found$bytes[largest])
  )
}

# Environments of packages: what they hold is code.
is_of_code <- function(env) {
  isNamespace(env) || identical(env, baseenv()) || identical(env, emptyenv()) || !is.null(attr(env, "name"))
}
