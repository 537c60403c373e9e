# The servers that are compared: which are installed, starting one, waiting until it answers, stopping it. What a server
# answers is in ../peers/<name>/. Not for measuring: rounds.R.

# Versions of the installed peers, by name; nginx, the reference, first and drover second.
installed_peers <- function(root, wanted) {
  all <- list.files(file.path(root, "peers"))
  unknown <- setdiff(wanted, all)
  if (length(unknown) > 0L) fail("no such peer: ", toString(unknown), "; there are ", toString(all))
  names <- if (is.null(wanted)) all else union("nginx", wanted)
  names <- intersect(c("nginx", "drover", sort(setdiff(names, c("nginx", "drover")))), names)
  versions <- vapply(names, function(name) {
    result <- processx::run(file.path(root, "peers", name, "version"), error_on_status = FALSE)
    if (result$status == 0L) trimws(result$stdout) else NA_character_
  }, "")
  absent <- names[is.na(versions)]
  if ("nginx" %in% absent) fail("nginx, the reference, is not installed")
  if (length(absent) > 0L) say("not installed, left out: ", toString(absent))
  versions[!is.na(versions)]
}

# Starts a server and waits until it listens. `arguments` go to its start script instead of the usual ones; then nothing
# is waited for, and the caller knows when it is up.
start_peer <- function(bench, name, arguments = NULL) {
  start <- file.path(bench$root, "peers", name, "start")
  launch_peer(bench, name, wait = is.null(arguments), command = function(port, run_dir) {
    c(start, if (is.null(arguments)) c(port, bench$static_dir, run_dir) else arguments)
  })
}

# The same of any command: `command(port, run_dir)` gives its words.
launch_peer <- function(bench, name, command, wait, env = NULL) {
  run_dir <- file.path(bench$work, paste0(name, "-", length(list.files(bench$work))))
  dir.create(run_dir)
  port <- free_port()
  log <- file.path(run_dir, "log")
  # processx gives it a session of its own, by which all its processes are found; it ends when this program does,
  # however that ends.
  # what has to be found out for it is found out before the clock runs
  force(env)
  words <- c("--pdeathsig", "TERM", command(port, run_dir))
  started <- Sys.time()
  process <- processx::process$new(
    "setpriv", words,
    stdout = log, stderr = "2>&1", cleanup = TRUE, env = if (!is.null(env)) c("current", env)
  )
  peer <- list(
    name = name, process = process, pid = process$get_pid(), port = port, log = log, started = started,
    url = paste0("http://127.0.0.1:", port)
  )
  if (wait) wait_until_listening(peer)
  peer
}

stop_peer <- function(peer) {
  end_processes(peer$pid)
  peer$process$wait(1000)
  invisible()
}

wait_until_listening <- function(peer, seconds = 30) {
  deadline <- Sys.time() + seconds
  while (Sys.time() < deadline) {
    if (!peer$process$is_alive()) break
    probe <- processx::run("curl", c("-s", "-o", "/dev/null", "--max-time", "5", peer$url), error_on_status = FALSE)
    if (probe$status == 0L) return(invisible())
    Sys.sleep(0.1)
  }
  stop_peer(peer)
  fail(peer$name, " did not start to listen within ", seconds, " s; its output:\n",
    paste(utils::tail(readLines(peer$log, warn = FALSE), 20L), collapse = "\n"))
}

# A port that nothing listens on, below the range from which the kernel takes the ports of clients.
free_port <- function() {
  for (port in sample(20000:30000, 50L)) {
    socket <- tryCatch(suppressWarnings(serverSocket(port)), error = function(e) NULL)
    if (!is.null(socket)) {
      close(socket)
      return(port)
    }
  }
  fail("found no free port between 20000 and 30000")
}
