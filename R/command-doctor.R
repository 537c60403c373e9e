# `drover doctor`: what of this machine a server needs, what is wrong with it, and how to mend it. Neighbour: command.R.

command_doctor <- function() {
  findings <- doctor_findings()
  for (one in findings) {
    cat(if (is.null(one$mend)) "ok    " else "WRONG ", one$text, "\n", sep = "")
    if (!is.null(one$mend)) cat("      ", one$mend, "\n", sep = "")
  }
  wrong <- sum(vapply(findings, function(one) !is.null(one$mend), NA))
  if (wrong) message("drover: ", count_of(wrong, "thing is", "things are"), " wrong")
  as.integer(wrong > 0L)
}

# Lists of text, what was looked at, and mend, what to do, where it is wrong.
doctor_findings <- function() {
  c(
    list(find_r(), find_program()), lapply(c("jsonlite", "later"), find_package), list(find_promises()),
    list(find_plumber(), find_descriptors(), find_proc(), find_temporary(), find_memory(), find_user())
  )
}

finding <- function(text, is_right, mend) list(text = text, mend = if (!is_right) mend)

find_r <- function() finding(R.version.string, getRversion() >= "4.2", "drover needs R 4.2 or later")

find_program <- function() {
  path <- dr_cli_path()
  finding(
    paste("the program:", if (nzchar(path)) path else "none"), nzchar(path),
    "install the package with its program: R CMD INSTALL"
  )
}

find_package <- function(package) {
  finding(paste("the package", package), is_installed(package), sprintf("install.packages(\"%s\")", package))
}

# Needed by apps that use them only.
find_promises <- function() {
  text <- if (is_installed("promises")) "there" else "not there, which is fine for apps without promises"
  finding(paste("the package promises:", text), TRUE)
}

find_plumber <- function() {
  there <- is_installed("plumber")
  version <- if (there) format(utils::packageVersion("plumber"))
  finding(paste("the package plumber:", version %||% "not there, and its files are not served"), TRUE)
}

# Each connection is one, and so is each file that is sent.
find_descriptors <- function() {
  limit <- file_limit()
  finding(
    paste("open files that a process may have:", format(limit, scientific = FALSE)), is.na(limit) || limit >= 1024,
    "raise the limit: `ulimit -n 65536`, or LimitNOFILE= of the service"
  )
}

file_limit <- function() {
  lines <- lines_of_system("/proc/self/limits")
  value <- sub("^Max open files +([^ ]+).*", "\\1", grep("^Max open files", lines, value = TRUE))
  if (!length(value)) NA_real_ else if (value == "unlimited") Inf else as.numeric(value)
}

# None where the system does not tell.
lines_of_system <- function(file) if (file.exists(file)) readLines(file, warn = FALSE) else character()

# What an app opens while it is loaded is found there.
find_proc <- function() {
  finding(
    "what forked workers must not share is found: /proc", dir.exists("/proc/self/fd"),
    "mount /proc, or start workers with --start spawn"
  )
}

# Large bodies are kept there.
find_temporary <- function() {
  folder <- dirname(tempdir())
  finding(
    paste("a folder for large bodies:", folder), file.access(folder, 2L) == 0L,
    "make it writable, or name another with --upload-path"
  )
}

find_memory <- function() {
  free <- available_megabytes()
  finding(
    if (is.na(free)) "memory: not known" else sprintf("memory that is available: %.0f MB", free),
    is.na(free) || free >= 200, "each worker needs some 100 MB and what the app loads: fewer workers, or more memory"
  )
}

available_megabytes <- function() {
  lines <- lines_of_system("/proc/meminfo")
  line <- grep("^MemAvailable:", lines, value = TRUE)
  if (length(line)) as.numeric(gsub("[^0-9]", "", line)) / 1024 else NA_real_
}

find_user <- function() {
  user <- Sys.info()[["effective_user"]]
  is_contained <- file.exists("/.dockerenv") || nzchar(Sys.getenv("container"))
  finding(
    paste("runs as", user), user != "root" || is_contained,
    "handlers may do whatever that user may: run it as another, such as User= of the service"
  )
}

#' Where the program is
#'
#' The program `drover` serves apps in files from a shell: `drover serve app.R`. It is installed with this package; put
#' it, or a link to it, where your shell looks for programs.
#'
#' @returns The path of the program: a single string, `""` when the package was built without it.
#' @seealso [dr_run()], which does the same from R.
#' @examples
#' dr_cli_path()
#' @export
dr_cli_path <- function() system.file("bin", "drover", package = "drover")
