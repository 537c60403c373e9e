# What the kernel tells about a server's processes: which they are, the CPU time they used, the memory they hold; and
# ending them. Linux only. Not for starting a server: peers.R.

# /proc/<pid>/stat counts in these ticks (sysconf(_SC_CLK_TCK), 100 a second on Linux whatever the kernel's own timer).
clock_ticks <- 100

# Fields of /proc/<pid>/stat after the name, which may itself hold spaces and parentheses; NULL when there is none.
read_stat <- function(pid) {
  line <- read_proc(file.path("/proc", pid, "stat"))
  if (length(line) == 0L) return(NULL)
  strsplit(sub("^.*\\) ", "", line[1]), " ", fixed = TRUE)[[1]]
}

# A process may end between being listed and being read: then there is nothing to read, which is not an error.
read_proc <- function(path) {
  tryCatch(suppressWarnings(readLines(path)), error = function(e) character())
}

# The pids of a server: all descendants of its first process, and all processes of its session (a descendant whose
# parent has ended keeps the session). Those that have ended and whose parent has not noticed yet only with `ended`.
process_tree <- function(root, ended = FALSE) {
  pids <- list.files("/proc", "^[0-9]+$")
  stats <- lapply(pids, read_stat)
  alive <- lengths(stats) > 0L
  pids <- as.integer(pids[alive])
  parent <- vapply(stats[alive], function(s) as.integer(s[2]), 1L)
  session <- vapply(stats[alive], function(s) as.integer(s[4]), 1L)
  state <- vapply(stats[alive], `[`, "", 1L)
  tree <- pids == root | session == root
  repeat {
    wider <- tree | parent %in% pids[tree]
    if (identical(wider, tree)) break
    tree <- wider
  }
  pids[tree & (ended | state != "Z")]
}

# CPU time of all processes of a server so far, per process, in seconds: of its threads from schedstat (nanoseconds),
# of the whole process from stat (10 ms ticks, but with the threads that have ended), and of its ended children.
cpu_snapshot <- function(root) {
  pids <- process_tree(root, ended = TRUE)
  processes <- lapply(pids, function(pid) {
    stat <- read_stat(pid)
    if (is.null(stat)) return(NULL)
    threads <- Sys.glob(file.path("/proc", pid, "task", "*", "schedstat"))
    runs <- vapply(threads, function(path) {
      line <- read_proc(path)
      if (length(line) == 0L) NA_real_ else as.numeric(strsplit(line, " ", fixed = TRUE)[[1]][1])
    }, 0)
    list(
      threads = basename(dirname(threads)), precise = sum(runs) / 1e9,
      coarse = sum(as.numeric(stat[12:13])) / clock_ticks, children = sum(as.numeric(stat[14:15])) / clock_ticks
    )
  })
  names(processes) <- pids
  processes[lengths(processes) > 0L]
}

# Seconds of CPU between two snapshots. A process with the same threads in both is counted to the nanosecond; of others
# the ticks are taken, since the time of an ended thread is only in them. What an ended process used is in its parent's
# account of children, from which the part before the first snapshot is taken off.
cpu_between <- function(before, after) {
  own <- 0
  for (pid in union(names(before), names(after))) {
    first <- before[[pid]]
    last <- after[[pid]]
    if (is.null(first)) {
      own <- own + last$coarse
    } else if (is.null(last)) {
      own <- own - first$coarse
    } else if (identical(first$threads, last$threads) && !anyNA(c(first$precise, last$precise))) {
      own <- own + last$precise - first$precise
    } else {
      own <- own + last$coarse - first$coarse
    }
  }
  children <- function(snapshot) sum(vapply(snapshot, `[[`, 0, "children"))
  own + children(after) - children(before)
}

# Memory of all processes of a server, in bytes: resident (rss, shared pages counted in full in each process), its
# proportional share (pss), and what nobody else maps (private).
memory_of <- function(root) {
  fields <- c(rss = "Rss", pss = "Pss", private_clean = "Private_Clean", private_dirty = "Private_Dirty")
  total <- vapply(fields, function(field) 0, 0)
  for (pid in process_tree(root)) {
    lines <- read_proc(file.path("/proc", pid, "smaps_rollup"))
    for (i in seq_along(fields)) {
      line <- grep(paste0("^", fields[i], ":"), lines, value = TRUE)
      if (length(line) == 1L) total[i] <- total[i] + as.numeric(gsub("[^0-9]", "", line)) * 1024
    }
  }
  c(rss = total[["rss"]], pss = total[["pss"]], private = total[["private_clean"]] + total[["private_dirty"]])
}

# Ends all processes of a server, by pid: asks first, and kills what is left after 5 seconds.
end_processes <- function(root) {
  pids <- process_tree(root)
  tools::pskill(pids, tools::SIGTERM)
  for (i in seq_len(50L)) {
    if (length(process_tree(root)) == 0L) return(invisible())
    Sys.sleep(0.1)
  }
  tools::pskill(process_tree(root), tools::SIGKILL)
  invisible()
}
