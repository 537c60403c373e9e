# Samples: commands of a page and what they print, as a reader sees both at a terminal. Not for the transcripts of
# examples (transcript.R), which say what must come back in a language of their own.
#
#   $ curl -i http://127.0.0.1:8080/path    a command; http://127.0.0.1:8080 becomes the address of the tested server
#   anything else                           what it prints, line by line, to the next command
#   ...                                     any lines
#
# What differs from run to run (ids, dates, process ids) may differ. With UPDATE=1 in the environment, samples that are
# not what is printed are written anew, except where they have lines of "...".

# Lines to a list of samples: command, output (lines), turn (which one of those with this command it is).
parse_samples <- function(lines) {
  starts <- grep("^\\$ ", lines)
  if (length(lines) && !identical(starts[1L], 1L)) stop("a sample starts with \"$ \", not with: ", lines[[1L]])
  ends <- c(starts[-1L] - 1L, length(lines))
  commands <- substring(lines[starts], 3L)
  turns <- stats::ave(seq_along(commands), commands, FUN = seq_along)
  Map(function(start, end, command, turn) {
    while (end > start && !nzchar(lines[[end]])) end <- end - 1L
    list(command = command, output = lines[seq_len(end - start) + start], turn = turn)
  }, starts, ends, commands, turns)
}

# What a command prints, as lines. Errors are told, time is bounded.
sample_output <- function(sample, server, folder) {
  curl <- sprintf("curl() { command curl --silent --show-error --max-time %.0f \"$@\"; }", patience())
  command <- gsub("http://127.0.0.1:8080", server$origin, sample$command, fixed = TRUE)
  ran <- processx::run(
    "bash", c("-c", paste(curl, command, sep = "\n")), error_on_status = FALSE, wd = folder,
    encoding = "UTF-8"
  )
  lines <- strsplit(gsub("\r", "", paste0(ran$stdout, ran$stderr), fixed = TRUE), "\n", fixed = TRUE)[[1L]]
  lines <- gsub(server$origin, "http://127.0.0.1:8080", lines, fixed = TRUE)
  while (length(lines) && !nzchar(lines[[length(lines)]])) lines <- lines[-length(lines)]
  lines
}

# Lines without what differs from run to run.
masked <- function(lines) {
  volatile <- c(
    "[0-9a-f]{16}" = "ID", "[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT" = "DATE",
    "[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+Z?" = "TIME", "etag: .*" = "etag", "\"worker\":[0-9]+" = "a worker's pid",
    "[0-9]{4,}" = "NUMBER"
  )
  for (pattern in names(volatile)) lines <- gsub(pattern, volatile[[pattern]], lines)
  lines
}

# Whether lines are those of a sample, in which "..." stands for any.
is_like <- function(output, sample) {
  quoted <- gsub("([][{}()+*^$|\\\\?.])", "\\\\\\1", masked(sample))
  quoted[sample == "..."] <- "(.*\n)*?.*"
  # (?s) is not wanted: a dot is within its line
  grepl(paste0("^", paste(quoted, collapse = "\n"), "$"), paste(masked(output), collapse = "\n"), perl = TRUE)
}

# Runs one sample and gives what is wrong with what it prints.
run_sample <- function(sample, server, folder) {
  output <- sample_output(sample, server, folder)
  if (is_like(output, sample$output)) return(character())
  paste0("printed\n", paste(output, collapse = "\n"), "\n        and not\n", paste(sample$output, collapse = "\n"))
}

# Writes anew what is printed, in the page that the samples are from. Those with "..." are for people.
update_sample <- function(sample, server, folder, page) {
  if ("..." %in% sample$output) return(invisible())
  lines <- readLines(page, encoding = "UTF-8")
  at <- which(lines == paste("$", sample$command))[[sample$turn]]
  old <- length(sample$output)
  new <- c(lines[seq_len(at)], sample_output(sample, server, folder), lines[seq(at + old + 1L, length(lines))])
  writeLines(new, page, useBytes = TRUE)
}
