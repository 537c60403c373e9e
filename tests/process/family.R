# The processes that a test has started, with all their descendants: found by a variable of the environment that they
# inherit, whoever their parent is by now and whatever group or session they are in. Linux only.

family_variable <- "PROCESS_TEST_OF_DROVER"

# From now on every process that is started belongs to a new family.
begin_family <- function() {
  mark <- paste0(Sys.getpid(), "-", as.integer(stats::runif(1, 0, 2^31)))
  do.call(Sys.setenv, stats::setNames(list(mark), family_variable))
}

# A file of /proc, or nothing when the process has ended in the meantime.
read_proc <- function(...) {
  tryCatch(suppressWarnings(readLines(file.path("/proc", ...), skipNul = TRUE)), error = function(e) character())
}

# What of /proc/<pid>/stat is used here; NULL when there is no such process.
process_stat <- function(pid) {
  line <- read_proc(pid, "stat")
  if (!length(line)) return(NULL)
  fields <- strsplit(sub("^.*\\) ", "", paste(line, collapse = " ")), " ", fixed = TRUE)[[1]]
  list(
    pid = as.integer(pid), state = fields[1], has_ended = has_ended(fields),
    parent = as.integer(fields[2]), group = as.integer(fields[3]),
    # seconds of processor time, of which the kernel counts hundredths
    cpu = sum(as.numeric(fields[12:13])) / 100
  )
}

# By the fields from the state on. The first thread of a process that is killed may be gone while others still hold its
# files: a socket of it is listened on then.
has_ended <- function(fields) fields[1] %in% c("Z", "X") && as.integer(fields[18]) <= 1L

# The living processes of the family: a data frame with pid, parent, group, state and command. It is asked again and
# again, of all processes that there are: what fails for those that have ended meanwhile is caught for all at once.
family <- function() {
  mark <- paste0(family_variable, "=", Sys.getenv(family_variable))
  bytes_of <- function(pid, file, n) readBin(file.path("/proc", pid, file), raw(), n)
  is_ours <- function(pid) {
    tryCatch(length(grepRaw(mark, bytes_of(pid, "environ", 65536), fixed = TRUE)) > 0L, error = function(e) FALSE)
  }
  pids <- setdiff(list.files("/proc", "^[0-9]+$"), Sys.getpid())
  suppressWarnings({
    rows <- lapply(pids[vapply(pids, is_ours, NA)], function(pid) {
      stat <- process_stat(pid)
      if (is.null(stat) || stat$has_ended) return(NULL)
      words <- tryCatch(bytes_of(pid, "cmdline", 4096), error = function(e) raw())
      words[words == 0] <- charToRaw(" ")
      data.frame(stat[names(stat) != "has_ended"], command = trimws(rawToChar(words)))
    })
  })
  do.call(rbind, c(list(data.frame(
    pid = integer(), state = character(), parent = integer(), group = integer(), command = character()
  )), rows))
}

is_alive <- function(pids) {
  vapply(pids, function(pid) {
    stat <- process_stat(pid)
    !is.null(stat) && !stat$has_ended
  }, NA)
}

# Waits for the end of processes that are ending: they let go of their sockets a moment before they have.
have_ended <- function(pids) within(function() !any(is_alive(pids)))

# A method of processx would reap a process that ends at once, and forget its status.
send_signal <- function(pids, signal) invisible(tools::pskill(pids, signal))

# What of the family is alive after some seconds of waiting for its end, as text.
processes_left <- function(seconds) {
  left <- NULL
  within(function() {
    left <<- family()
    nrow(left) == 0L
  }, seconds)
  if (nrow(left)) sprintf("%d (parent %d, state %s) %s", left$pid, left$parent, left$state, left$command)
}

kill_family <- function() {
  invisible(within(function() {
    left <- family()
    if (nrow(left)) send_signal(left$pid, tools::SIGKILL)
    nrow(left) == 0L
  }))
}

# Open descriptors of a process, as a number.
descriptors <- function(pid) length(list.files(file.path("/proc", pid, "fd")))

# A field of /proc/<pid>/status or smaps_rollup in bytes.
memory_field <- function(pid, field, file = "status") {
  line <- grep(paste0("^", field, ":"), read_proc(pid, file), value = TRUE)
  if (length(line)) as.numeric(gsub("[^0-9]", "", line[1])) * 1024 else NA_real_
}

resident <- function(pid) memory_field(pid, "VmRSS")

# CPU time of a process so far with all its threads, in seconds.
cpu_time <- function(pid) {
  line <- read_proc(pid, "stat")
  fields <- strsplit(sub("^.*\\) ", "", paste(line, collapse = " ")), " ", fixed = TRUE)[[1]]
  sum(as.numeric(fields[12:13])) / 100
}

# A cgroup (version 1) of a controller for this test, or NULL when none can be made. Removed by remove_cgroup().
make_cgroup <- function(controller, settings) {
  folder <- file.path("/sys/fs/cgroup", controller, paste0("drover-", Sys.getenv(family_variable)))
  if (!suppressWarnings(dir.create(folder, showWarnings = FALSE))) return(NULL)
  for (name in names(settings)) {
    written <- tryCatch(suppressWarnings({
      cat(format(settings[[name]], scientific = FALSE), file = file.path(folder, name))
      TRUE
    }), error = function(e) FALSE)
    if (!written) {
      remove_cgroup(folder)
      return(NULL)
    }
  }
  folder
}

join_cgroup <- function(folder, pids) {
  for (pid in pids) cat(pid, file = file.path(folder, "cgroup.procs"))
}

# Its processes must have ended or left.
remove_cgroup <- function(folder) {
  within(function() {
    # file.remove() and unlink() refuse: the folder has files, which go with it
    processx::run("rmdir", folder, error_on_status = FALSE)
    !dir.exists(folder)
  }, 5)
}
