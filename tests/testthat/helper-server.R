# A server in a child R process, and requests to it: what every test over real sockets starts from.
# Not for tests of an app's compiled form: those need no server (test-app-compile.R).

# Writes `app_code` to a file, runs it with Rscript and waits until the server listens.
#   app_code  a braced R expression, or lines of R code, that leave a dr_app in the variable `app`
#   ...       further arguments of dr_serve(); port is a free one
#   setup     lines of R code to run before library(drover)
#   env       names and values to set in the child's environment
# Answers a list: url ("http://127.0.0.1:PORT"), port, pid, process (a processx process), log() -> every line the server
# has written to stderr so far, wait_log(pattern) -> the lines that match, once there is one, and marks, the folder of
# what handlers leave and wait for (../lib/marks.R).
# The server is ended, by its process id, when the calling test ends.
local_server <- function(app_code, ..., setup = character(), env = character(), frame = parent.frame()) {
  code <- substitute(app_code)
  if (is.call(code) && identical(code[[1L]], as.name("{"))) {
    lines <- unlist(lapply(as.list(code)[-1L], deparse))
  } else {
    lines <- app_code
  }
  settings <- list(...)
  # a call, as in quote(dr_limits(max_body = 1)), is written as such
  arguments <- paste0(sprintf(", %s = ", names(settings)), vapply(settings, deparse1, ""), recycle0 = TRUE)
  folder <- tempfile("drover-server-")
  dir.create(folder)
  file <- file.path(folder, "app.R")
  writeLines(c(setup, "library(drover)", "sys.source(Sys.getenv('GATES'), globalenv())", lines, paste0(
    "dr_serve(app, port = 0L, block = TRUE", paste(arguments, collapse = ""), ")"
  )), file, useBytes = TRUE)

  marks <- new_marks()
  env <- with_few_packages(c(MARKS = marks, env))
  server <- c(start_program(c(file.path(R.home("bin"), "Rscript"), "--vanilla", file), env,
    out = file.path(folder, "stdout.log")), marks = marks)
  withr::defer({
    server$process$kill()
    unlink(c(folder, marks), recursive = TRUE)
  }, envir = frame)
  if (is.null(server$url)) stop("the server does not listen:\n", paste(server$log(), collapse = "\n"), call. = FALSE)
  server$wait_log <- function(pattern) {
    found <- function() grep(pattern, server$log(), value = TRUE)
    within(function() length(found()) || !server$process$is_alive())
    if (!length(found())) {
      stop("no line of the server's log matches '", pattern, "':\n", paste(server$log(), collapse = "\n"), call. = FALSE)
    }
    found()
  }
  server
}

# One request, as the program curl sends it.
#   server  what local_server() answered, or a URL
#   target  path and query, sent as they are (curl's --path-as-is)
#   ...     further words of curl's command line, e.g. "-X", "POST", "-d", "a=1"
# Answers a list: status (integer), headers (named chr, names in lower case, repeats kept),
# raw (the body's bytes), body (the body as UTF-8 text, NA when it has NUL bytes).
http <- function(server, target = "/", ...) {
  url <- paste0(if (is.list(server)) server$url else server, target)
  came <- curl_here(url, c("--path-as-is", ...), patience(30))
  if (is.null(came)) came <- curl_program(url, ...)
  if (length(came$error)) stop("curl: ", came$error, call. = FALSE)
  # after redirects or a 100 (Continue) the last head counts
  lines <- came$head[seq(max(grep("^HTTP/", came$head)), length(came$head))]
  fields <- grep("^[^:]+:", lines[-1L], value = TRUE)
  headers <- trimws(sub("^[^:]+:", "", fields))
  names(headers) <- tolower(sub(":.*", "", fields))
  body <- if (any(came$raw == 0L)) NA_character_ else rawToChar(came$raw)
  Encoding(body) <- "UTF-8"
  list(
    status = as.integer(strsplit(lines[[1L]], " ")[[1L]][[2L]]), headers = headers, raw = came$raw, body = body
  )
}

# What curl_here() gives of a request, through the program, for words that are known to it alone.
curl_program <- function(url, ...) {
  head <- tempfile("head-")
  body <- tempfile("body-")
  on.exit(unlink(c(head, body)))
  ran <- processx::run("curl", c("--silent", "--show-error", "--path-as-is", "--globoff", "--max-time", patience(30),
    "--dump-header", head, "--output", body, ..., url), error_on_status = FALSE)
  if (ran$status != 0L) return(list(error = ran$stderr))
  # to HEAD, curl writes the head as output
  has_body <- file.exists(body) && !"--head" %in% c(...)
  list(
    head = sub("\r$", "", readLines(head, warn = FALSE)),
    raw = if (has_body) readBin(body, "raw", file.size(body)) else raw()
  )
}

# The same, with the body parsed as JSON.
http_json <- function(server, target = "/", ...) {
  jsonlite::fromJSON(http(server, target, ...)$body)
}
