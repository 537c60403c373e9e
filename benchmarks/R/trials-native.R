# The trial of C handlers: fixed answers without R in the path, against nginx `return 200` with as many worker processes
# as drover has I/O threads, through few and many connections that are kept or are not. The app is ../trials/native.R,
# the handlers are the package in ../handlers.

native_asked <- list(inline = 1.05, pool = 1.5)

# What is asked for in each case: of which server, where, and what must come back. `of`: the row it is compared with.
native_requests <- list(
  "nginx text" = list(peer = "nginx", path = "/text", answer = "Hello, world!", of = "nginx text"),
  "inline text" = list(peer = "drover", path = "/text", answer = "Hello, world!", of = "nginx text", asked = "inline"),
  "pool text" = list(peer = "drover", path = "/pool", answer = "Hello, world!", of = "nginx text", asked = "pool"),
  "nginx JSON" = list(peer = "nginx", path = "/json", answer = "{\"ok\":true}", of = "nginx JSON"),
  "inline JSON" = list(peer = "drover", path = "/json", answer = "{\"ok\":true}", of = "nginx JSON", asked = "inline")
)

# Beside these, in one case only: the other interface, C handlers in a worker process, and drogonR's where it is
# installed.
native_others <- list(
  "text by drogonR's interface, on the pool" = list(peer = "drover", path = "/unary"),
  "text in a worker process, inline" = list(peer = "workers", path = "/text"),
  "text in a worker process, on the pool" = list(peer = "workers", path = "/pool"),
  "text by drogonR's own C handlers" = list(peer = "drogonR", path = "/text")
)

trial_native <- function(bench) {
  library <- install_handlers(bench)
  rows <- do.call(rbind, lapply(1:2, function(threads) native_matrix(bench, library, threads)))
  list(figures = rows, verdicts = native_verdicts(rows), table = native_table(rows))
}

# The cases of one number of threads: rows of figures().
native_matrix <- function(bench, library, threads) {
  peers <- native_peers(bench, library, threads)
  on.exit(for (peer in peers) stop_peer(peer))
  cases <- expand.grid(connections = c(100L, 1000L, 10000L), close = c(FALSE, TRUE))
  rows <- list()
  for (round in seq_len(flood_rounds(bench))) {
    for (i in seq_len(nrow(cases))) {
      wanted <- c(native_requests, if (threads == 1L && i == 1L) native_others)
      wanted <- Filter(function(one) one$peer %in% names(peers), wanted)
      measured <- lapply(wanted, function(one) {
        flood(bench, peers[[one$peer]], one$path, c(one$answer, "Hello, world!")[1], cases[i, ])
      })
      for (name in names(wanted)) {
        reference <- measured[[c(wanted[[name]]$of, "nginx text")[1]]]
        case <- native_case(name, threads, cases$connections[i], cases$close[i])
        figure <- measured[[name]]
        ratio <- figure[["cpu_us"]] / reference[["cpu_us"]]
        say(sprintf("native, round %d: %-70s %8.0f requests/s, %6.2f us CPU per request (%.2fx)", round, case,
          figure[["rps"]], figure[["cpu_us"]], ratio))
        rows[[length(rows) + 1L]] <- figures("native", case, round, figure[c("rps", "p50_us", "p99_us", "cpu_us")],
          cpu_ratio = ratio)
      }
    }
  }
  do.call(rbind, rows)
}

# The servers, by name, with everything set for 10,000 connections.
native_peers <- function(bench, library, threads) {
  env <- c(R_LIBS = paste(c(library, .libPaths()), collapse = .Platform$path.sep))
  many <- function(...) c("sh", "-c", "ulimit -n \"$(ulimit -Hn)\"; exec \"$@\"", "sh", ...)
  start <- function(name) file.path(bench$root, "peers", name, "start")
  app <- file.path(bench$root, "trials", "native.R")
  peers <- list(
    nginx = launch_peer(bench, "nginx", wait = TRUE, command = function(port, run_dir) {
      many(start("nginx"), port, bench$static_dir, run_dir, threads, 20000)
    }),
    # the port is known when the command is made, and not before
    drover = launch_peer(bench, "drover", wait = TRUE, env = env, command = function(port, run_dir) {
      many("env", paste0("PORT=", port), paste0("THREADS=", threads), "Rscript", "--vanilla", app)
    })
  )
  if (threads == 1L) {
    program <- system.file("bin", "drover", package = "drover")
    if (nzchar(program)) {
      peers$workers <- if_it_starts(launch_peer(bench, "drover", wait = TRUE, env = env, command = function(port, run_dir) {
        many(program, "serve", app, "--port", port, "--threads", 1L, "--workers", 1L)
      }))
    }
    if (nzchar(system.file(package = "drogonR"))) {
      peers$drogonR <- if_it_starts(launch_peer(bench, "drogonR", wait = TRUE, env = env, command = function(port, run_dir) {
        many("Rscript", "--vanilla", file.path(bench$root, "peers", "drogonR", "native.R"), port, threads)
      }))
    }
  }
  peers
}

# For those that are measured for comparison only: NULL, and a message, when they do not start.
if_it_starts <- function(peer) {
  tryCatch(peer, bench_failure = function(e) {
    say(conditionMessage(e))
    NULL
  })
}

# Installs the package with the handlers into a library of its own, whose path is returned.
install_handlers <- function(bench) {
  library <- file.path(bench$work, "library")
  dir.create(library)
  # a copy, so that nothing is built in the tree
  file.copy(file.path(bench$root, "handlers"), bench$work, recursive = TRUE)
  ran <- processx::run(file.path(R.home("bin"), "R"), c(
    "CMD", "INSTALL", "--no-test-load", "-l", library, file.path(bench$work, "handlers")
  ), error_on_status = FALSE, env = c("current", R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep)),
  stderr_to_stdout = TRUE)
  if (ran$status != 0L) fail("the package with the C handlers could not be installed:\n", ran$stdout)
  library
}

native_case <- function(name, threads, connections, close) {
  sprintf("%s, %s, %d %s", name, count_text(threads, "thread"), connections,
    if (close) "connections, one for each request" else "connections, kept")
}

# Each of the kinds that something is asked of, over all cases at once: the worst counts.
native_verdicts <- function(rows) {
  ratio <- by_case(rows, "cpu_ratio")
  one <- function(name, close) {
    of <- ratio[startsWith(names(ratio), paste0(name, ", ")) & endsWith(names(ratio), "each request") == close]
    limit <- native_asked[[native_requests[[name]]$asked]]
    verdict_row(
      sprintf("C handler, %s, connections %s: CPU per request", name, if (close) "for one request each" else "kept"),
      sprintf("at most %.2fx nginx", limit),
      sprintf("%.2fx to %.2fx; %d of %d cases within", min(of), max(of), sum(of <= limit), length(of)),
      all(of <= limit)
    )
  }
  asked <- names(Filter(function(one) !is.null(one$asked), native_requests))
  do.call(rbind, c(lapply(asked, one, FALSE), lapply(asked, one, TRUE), list(native_against_drogonR(ratio))))
}

# Both in the one case in which both were measured; ratios to nginx are compared, so that the round does not matter.
native_against_drogonR <- function(ratio) {
  title <- "C handler, inline text: CPU per request, against drogonR's C handlers"
  theirs <- ratio[native_case("text by drogonR's own C handlers", 1L, 100L, FALSE)]
  if (is.na(theirs)) {
    return(verdict_row(title, "at most 1.0x", "not compared: drogonR is not installed, or did not start", NA))
  }
  ours <- ratio[[native_case("inline text", 1L, 100L, FALSE)]]
  verdict_row(title, "at most 1.0x", sprintf("%.2fx", ours / theirs), ours <= theirs)
}

# All cases, one line each: what nginx takes, and the others as multiples of it.
native_table <- function(rows) {
  figure <- function(name, value, threads, connections, close) {
    found <- by_case(rows, value)[native_case(name, threads, connections, close)]
    unname(found)
  }
  cases <- expand.grid(connections = c(100L, 1000L, 10000L), threads = 1:2, close = c(FALSE, TRUE))
  column <- function(name, value, format) {
    vapply(seq_len(nrow(cases)), function(i) {
      sprintf(format, figure(name, value, cases$threads[i], cases$connections[i], cases$close[i]))
    }, "")
  }
  matrix <- markdown_table(list(
    "connections" = cases$connections, "used for" = ifelse(cases$close, "one request", "many"),
    "I/O threads" = cases$threads, "nginx us" = column("nginx text", "cpu_us", "%.2f"),
    "nginx again" = vapply(seq_len(nrow(cases)), function(i) {
      us <- function(name) figure(name, "cpu_us", cases$threads[i], cases$connections[i], cases$close[i])
      sprintf("%.2fx", us("nginx JSON") / us("nginx text"))
    }, ""),
    "inline text" = column("inline text", "cpu_ratio", "%.2fx"),
    "inline JSON" = column("inline JSON", "cpu_ratio", "%.2fx"),
    "pool text" = column("pool text", "cpu_ratio", "%.2fx"),
    "nginx requests/s" = column("nginx text", "rps", "%.0f"),
    "inline text requests/s" = column("inline text", "rps", "%.0f"),
    "pool text requests/s" = column("pool text", "rps", "%.0f")
  ), right = c(1L, 3:11))
  others <- Filter(function(name) !is.na(figure(name, "cpu_us", 1L, 100L, FALSE)), names(native_others))
  of <- function(value, format) vapply(others, function(name) sprintf(format, figure(name, value, 1L, 100L, FALSE)), "")
  c(
    "CPU time of C handlers per request, as multiples of nginx's `return 200` in the same round. \"nginx again\" is its",
    "JSON as a multiple of its text, which cost it the same: how far that is off 1 is the noise of this machine.", "",
    matrix,
    if (length(others) > 0L) c("", "1 I/O thread, 100 connections that are kept:", "", markdown_table(list(
      "handler" = others, "CPU us/request" = of("cpu_us", "%.2f"), "CPU / nginx" = of("cpu_ratio", "%.2fx"),
      "requests/s" = of("rps", "%.0f")
    ), right = 2:4))
  )
}
