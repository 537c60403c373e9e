# Requests: one, as curl sends it, or many with an exact account, by benchmarks/client/load.c.

clients <- list()

# Starts a program of the test, whose end is the test's at the latest.
start_client <- function(program, arguments, ..., stdin = NULL) {
  client <- processx::process$new(program, as.character(arguments), stdin = stdin, cleanup_tree = FALSE, ...)
  clients[[length(clients) + 1L]] <<- client
  client
}

end_clients <- function() {
  for (client in clients) client$kill()
  clients <<- list()
}

compiled <- new.env()

# The path of a program or library made of a C file.
compile <- function(source, library = FALSE) {
  if (is.null(compiled[[source]])) {
    target <- tempfile(sub("\\.c$", "-", basename(source)), fileext = if (library) ".so" else "")
    flags <- c("-O1", "-D_GNU_SOURCE", "-pthread", if (library) c("-shared", "-fPIC"))
    processx::run("cc", c(flags, "-o", target, source))
    assign(source, target, compiled)
  }
  compiled[[source]]
}

load_program <- function() compile(file.path(root, "benchmarks/client/load.c"))

# Starts one request, whose client waits so many seconds. Gives a function that waits for its answer: list(status, "000"
# when there was none; body; seconds; head, its lines).
ask_later <- function(server, path, ..., wait = 120) {
  head <- tempfile("head-")
  body <- tempfile("body-")
  client <- start_client("curl", c(
    "-s", "--max-time", wait, "-D", head, "-o", body, "-w", "%{http_code} %{time_total}", ..., paste0(server$url, path)
  ), stdout = "|")
  function() {
    client$wait((wait + 5) * 1000)
    words <- strsplit(client$read_all_output(), " ", fixed = TRUE)[[1]]
    text <- function(file) if (file.exists(file)) readLines(file, warn = FALSE) else character()
    answer <- list(status = c(words, "000")[1], seconds = as.numeric(c(words, NA, NA)[2]),
      body = paste(text(body), collapse = "\n"), head = text(head))
    unlink(c(head, body))
    answer
  }
}

# The same, and waits for its answer: in this process where that can be.
ask <- function(server, path, ..., wait = 120) {
  came <- curl_here(paste0(server$url, path), c(...), wait)
  if (is.null(came)) return(ask_later(server, path, ..., wait = wait)())
  bytes <- rawConnection(came$raw)
  on.exit(close(bytes))
  list(status = sprintf("%03d", came$status), seconds = came$seconds,
    body = paste(readLines(bytes, warn = FALSE), collapse = "\n"), head = came$head)
}

# Whether a request that was started by ask_later() has its answer, or none any more.
is_over <- function(request) !environment(request)$client$is_alive()

# The lines of its `part`, "head" or "body", that have come so far; curl is to write a body as it comes (-N).
so_far <- function(request, part) {
  file <- environment(request)[[part]]
  if (file.exists(file)) readLines(file, warn = FALSE) else character()
}

# Starts a request whose handler leaves a mark of this name, and again as long as one is answered before its handler has
# begun: where a clock of the server is short, a slow machine lets it run out early. The last request.
ask_until_begun <- function(server, path, name = "begun", ...) {
  request <- ask_later(server, path, ...)
  begun <- within(function() {
    if (file.exists(file.path(server$marks, name))) return(TRUE)
    if (is_over(request)) request <<- ask_later(server, path, ...)
    FALSE
  })
  expect(begun, path, " does not begin")
  request
}

# The lines of a file that another program writes, without one that is half written.
whole_lines <- function(file) {
  text <- rawToChar(readBin(file, "raw", file.size(file)))
  Encoding(text) <- "UTF-8"
  strsplit(sub("[^\n]*$", "", text), "\n", fixed = TRUE)[[1L]]
}

# The value of a header field of an answer, or NA.
field <- function(answer, name) {
  line <- grep(paste0("^", name, ":"), answer$head, value = TRUE, ignore.case = TRUE)
  if (length(line)) trimws(sub("^[^:]*:", "", line[1])) else NA_character_
}

# Starts load and waits until the first request has ended. Options are those of load.c: load(server, "/n/{n}", echo =
# TRUE, connections = 8, seconds = 2).
start_load <- function(server, path, ..., path2 = NULL, record = NULL) {
  options <- list(..., record = record)
  options <- options[lengths(options) > 0L]
  words <- unlist(lapply(names(options), function(name) {
    value <- options[[name]]
    c(paste0("--", gsub("_", "-", name)), if (!isTRUE(value)) format(value, scientific = FALSE))
  }))
  client <- start_client(load_program(), c(words, server$port, path, path2), stdout = "|", stderr = "2>&1")
  client$poll_io(as.integer(patience(30) * 1000))
  line <- client$read_output_lines(n = 1)
  expect(identical(line, "sending"), "the load client has no answer: ", line)
  client
}

# Ends load, or waits for its end, and gives the account: a named vector of numbers, one for each path in a list when
# there are two. Statuses that did not come are 0: account[["s502"]].
end_load <- function(client, stop = TRUE, seconds = 60) {
  if (stop) send_signal(client$get_pid(), tools::SIGTERM)
  lines <- character()
  within(function() {
    client$poll_io(200)
    lines <<- c(lines, client$read_output_lines())
    !client$is_alive()
  }, seconds)
  lines <- c(lines, client$read_all_output_lines())
  expect(!client$is_alive(), "the load client does not end")
  said <- lines
  lines <- grep("^path=", lines, value = TRUE)
  # a status below zero is a signal
  expect(length(lines) >= 1L, "the load client ended with ", client$get_exit_status(), ": ", toString(said))
  accounts <- lapply(lines, function(line) {
    pairs <- strsplit(strsplit(line, " ", fixed = TRUE)[[1]], "=", fixed = TRUE)
    account <- stats::setNames(as.numeric(vapply(pairs, `[`, "", 2L)), vapply(pairs, `[`, "", 1L))
    for (status in setdiff(c("s200", "s500", "s502", "s503", "s504"), names(account))) account[[status]] <- 0
    attr(account, "line") <- line
    account
  })
  if (length(accounts) == 1L) accounts[[1]] else accounts
}

# Starts clients that leave at every moment of a request's life, by tests/process/leaver.c.
start_storm <- function(server, paths, seconds, clients = 24L) {
  program <- compile(file.path(here, "leaver.c"))
  start_client(program, c(server$port, seconds, clients, Sys.getpid(), paths), stdout = "|")
}

# Waits for the end of a storm: how many have left at which moment, a named vector.
end_storm <- function(storm, seconds = 60) {
  storm$wait(patience(seconds) * 1000)
  expect(!storm$is_alive(), "the storm does not end")
  pairs <- strsplit(strsplit(trimws(storm$read_all_output()), " ", fixed = TRUE)[[1]], "=", fixed = TRUE)
  stats::setNames(as.numeric(vapply(pairs, `[`, "", 2L)), vapply(pairs, `[`, "", 1L))
}

# Load from the start to its end.
load <- function(...) end_load(start_load(...), stop = FALSE)

# Fails unless every request was answered with 200, but for the given numbers of other ends: expect_account(a, s502 =
# 1).
expect_account <- function(account, ...) {
  expected <- c(s500 = 0, s502 = 0, s503 = 0, s504 = 0, reset = 0, cut = 0, lost = 0, wrong = 0, unasked = 0)
  others <- c(...)
  expected[names(others)] <- others
  same <- account[names(expected)] == expected
  rest <- account[["sent"]] - account[["s200"]] - account[["hung_up"]] - sum(expected[1:7])
  expect(all(same) && rest == 0 && account[["s200"]] > 0, "expected ",
    if (length(others)) paste0(names(others), "=", others, collapse = " ") else "only 200", ", got ", attr(account,
      "line"))
}
