# What the figures depend on: the machine, the versions, the revision. Written into the results.

describe_machine <- function(bench) {
  cpu <- grep("^model name", readLines("/proc/cpuinfo"), value = TRUE)
  memory <- as.numeric(gsub("[^0-9]", "", grep("^MemTotal", readLines("/proc/meminfo"), value = TRUE)))
  system <- sub('^PRETTY_NAME="?([^"]*)"?$', "\\1", grep("^PRETTY_NAME", readLines("/etc/os-release"), value = TRUE))
  wrk <- processx::run("wrk", "-v", error_on_status = FALSE)
  git <- function(...) trimws(processx::run("git", c("-C", bench$root, ...), error_on_status = FALSE)$stdout)
  c(
    processor = if (length(cpu)) sub("^.*: *", "", cpu[1]) else Sys.info()[["machine"]],
    cores = as.character(cores()),
    memory = sprintf("%.1f GB", memory / 1024^2),
    system = system,
    kernel = Sys.info()[["release"]],
    R = as.character(getRversion()),
    client = sub(" \\[.*$", "", strsplit(paste0(wrk$stdout, wrk$stderr), "\n")[[1]][1]),
    revision = paste0(
      git("rev-parse", "--short=12", "HEAD"), if (nzchar(git("status", "--porcelain"))) " with changes"
    ),
    "load before" = sprintf("%.2f (mean of runnable processes over the last minute)", load_average())
  )
}

cores <- function() parallel::detectCores()

# Moves this process to some cores, numbered from 0; what it starts from now on runs there, too. Gives where it was.
move_to_cores <- function(which) {
  taskset <- function(...) processx::run("taskset", c("--pid", "--cpu-list", ..., Sys.getpid()))$stdout
  before <- sub("^.*: ", "", trimws(taskset()))
  taskset(paste(which, collapse = ","))
  invisible(before)
}

load_average <- function() as.numeric(strsplit(readLines("/proc/loadavg"), " ")[[1]][1])
