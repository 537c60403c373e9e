# The program as people call it, with the app that they have: from the words of the command to an answer.

answer_of <- function(server, path = "/") {
  ask(server, path)$body
}

# An app without library(drover), which warns while it loads and when its start hook runs.
bare_app <- function() {
  file <- tempfile("app-", fileext = ".R")
  writeLines(c(
    "app <- dr_app()", "dr_get(app, '/', function() 'bare')", "as.integer('x')",
    "dr_on_start(app, function() warning('no cache'))", "app"
  ), file)
  file
}

test("drover app.R serves an app without library(drover); what it warns of is said before it listens", function() {
  file <- bare_app()
  server <- launch(c(drover_program(), file, "--port", "0"))
  expect(identical(answer_of(server), "bare"), "another answer")
  log <- server$log()
  said <- function(pattern) which(grepl(pattern, log))
  listening <- grep("listening on", log)
  expect(any(said(paste0("warning: ", basename(file), ", line 3: NAs introduced")) < listening), toString(log))
  expect(any(said("warning: start hook: no cache") < listening), toString(log))
}, ways = 1)

test("as valve's users call it: drover -f plumber.R -n 5 -w 3 -p PORT", function() {
  server <- launch(c(drover_program(), "-f", bare_app(), "-n", "5", "-w", "3", "-h", "127.0.0.1", "-p", "0"))
  expect(identical(answer_of(server), "bare"), "another answer")
  expect(any(grepl("threads=3, workers=1-5", server$log())), paste(server$log(), collapse = "\n"))
  expect(any(grepl("taken as valve means it: 3 threads", server$log())), paste(server$log(), collapse = "\n"))
}, ways = 1)

test("ps names the processes: the zygote with its file, workers with their numbers", function() {
  file <- bare_app()
  for (start in c("fork", "spawn")) {
    server <- serve(file, workers = 2, start = start)
    titles <- function(pids) vapply(pids, function(pid) {
      paste(processx::run("ps", c("-o", "args=", "-p", pid), error_on_status = FALSE)$stdout, collapse = "")
    }, "")
    found <- trimws(unname(titles(c(zygotes(server), workers(server)))))
    numbered <- unique(grep("^drover: worker [0-9]+$", found, value = TRUE))
    expect(length(numbered) == 2L, toString(found))
    if (start == "fork") expect(paste("drover: zygote", basename(file)) %in% found, toString(found))
  }
}, ways = 1)

test("what of dr_serve() in a file is not used is named", function() {
  file <- write_app(c(
    "app <- dr_app()", "dr_get(app, '/', function() 'x')", "dr_serve(app, 8123, workers = 4, block = TRUE)"
  ))
  server <- serve(file, workers = 1)
  said <- grep("of dr_serve\\(\\) in", server$log(), value = TRUE)
  expect(length(said) == 1 && grepl("not used: `port`, `workers`; the settings", said), toString(server$log()))
}, ways = 1)

test("settings of drover.toml beside the app count, below variables and flags", function() {
  folder <- tempfile("app-")
  dir.create(folder)
  file <- write_app(c(
    # the timeout of the file is for one of them
    "app <- dr_app()", "dr_post(app, '/', function(req) 'taken', timeout = 60)",
    "dr_get(app, '/slow', function() Sys.sleep(60))", "app"
  ), file.path(folder, "app.R"))
  writeLines(c(
    "port = 0", "workers = [2, 3]", "[limits]", "max_body = \"10B\"", "max_headers = 5", "[timeouts]",
    "timeout = \"400ms\""
  ), file.path(folder, "drover.toml"))
  server <- launch(c(drover_program(), file, "--max-headers", "50"), env = c(DROVER_MAX_BODY = "12"))
  expect(any(grepl("workers=2-3", server$log())), toString(server$log()))
  expect(any(grepl("settings are those of .*/drover.toml$", server$log())), toString(server$log()))
  status <- function(...) ask(server, ...)$status
  # again where it was over before it began
  expect(within(function() status("/slow") == 504L), "it has no end")
  expect(logged(server, "GET /slow 504 .*over `timeout` = 0[.]4 s"), "the timeout of the file does not count")
  expect(status("/", "-d", strrep("x", 12)) == 200L, "the variable does not count")
  expect(status("/", "-d", strrep("x", 13)) == 413L, "the variable does not count")
  headers <- as.vector(rbind("-H", sprintf("a%d: 1", 1:20)))
  expect(do.call(status, as.list(c("/", "-d", "1", headers))) == 200L, "the flag does not count")
}, ways = 1)

test("a mistake in drover.toml keeps the server from starting, and is named with its line", function() {
  folder <- tempfile("app-")
  dir.create(folder)
  file <- write_app("dr_app()", file.path(folder, "app.R"))
  writeLines(c("port = 0", "", "max_bdoy = 1"), file.path(folder, "drover.toml"))
  ended <- run_to_end(c(drover_program(), file))
  expect(ended$status == 2L, paste("its exit status is", ended$status))
  right <- "error: .*/drover.toml:3: max_bdoy is not a setting: did you mean max_body\\?$"
  expect(any(grepl(right, ended$log)), toString(ended$log))
}, ways = 1)

test("a drover.toml that somebody else may have written is not read", function() {
  folder <- tempfile("app-")
  dir.create(folder)
  file <- write_app("dr_app()", file.path(folder, "app.R"))
  settings <- file.path(folder, "drover.toml")
  # one that is read ends the program in another way
  writeLines("max_bdoy = 1", settings)
  says <- function(...) {
    ended <- run_to_end(c(drover_program(), file, ...))
    expect(ended$status == 2L, paste("its exit status is", ended$status))
    paste(ended$log, collapse = " ")
  }
  Sys.chmod(settings, "0666", use_umask = FALSE)
  for (said in c(says(), says("--config", settings))) {
    expect(grepl("drover.toml: not read, as everybody may write it: chmod o-w", said), said)
  }
  Sys.chmod(settings, "0664", use_umask = FALSE)
  expect(grepl("max_bdoy is not a setting", says()), says())
  # who is not root can give no file away
  give <- function(...) processx::run("chown", c("65534", ...), error_on_status = FALSE)$status == 0L
  if (give(settings)) {
    expect(grepl("not read, as it belongs to user 65534, who is neither you", says()), says())
    expect(grepl("max_bdoy is not a setting", says("--config", settings)), "named: ", says("--config", settings))
    give(file)
    expect(grepl("max_bdoy is not a setting", says()), "of whose app it is: ", says())
  }
}, ways = 1)

# The program in a folder that is no package.
copied_program <- function(with_library) {
  folder <- tempfile("alone-")
  program <- file.path(folder, "bin", "drover")
  dir.create(dirname(program), recursive = TRUE)
  expect(file.copy(drover_program(), program), "the program cannot be copied")
  if (with_library) {
    library <- system.file("libs", "libdrover_rust.so", package = "drover")
    dir.create(file.path(folder, "libs"))
    expect(file.symlink(library, file.path(folder, "libs", basename(library))), "no link to the library")
  }
  program
}

test("a program that was copied without its library says what to do", function() {
  program <- copied_program(with_library = FALSE)
  ended <- run_to_end(c(program, "--version"))
  expect(ended$status == 4L, paste("its exit status is", ended$status))
  right <- "cannot load the library of this program: .*/libs/libdrover_rust[.]so: .*dr_cli_path[(][)][)]'[)]\" install,"
  expect(any(grepl(right, ended$log)), toString(ended$log))
}, ways = 1)

test("a program that was installed alone finds the package in R's libraries, or says where it has looked", function() {
  program <- copied_program(with_library = TRUE)
  file <- write_app(c("app <- dr_app()", "dr_get(app, '/', function(req) 'here')", "app"))
  server <- launch(c(program, file, "--port", "0"), env = c(R_LIBS = dirname(system.file(package = "drover"))))
  expect(identical(answer_of(server), "here"), "it does not answer")
  # a package of another version, as far as R can tell
  other <- tempfile("library-")
  dir.create(file.path(other, "drover", "Meta"), recursive = TRUE)
  description <- c(Package = "drover", Version = "0.0.1", Built = "R 4.2.2; ; 2026-01-01 00:00:00 UTC; unix")
  saveRDS(list(DESCRIPTION = description), file.path(other, "drover", "Meta", "package.rds"))
  write.dcf(t(description), file.path(other, "drover", "DESCRIPTION"))
  ended <- run_to_end(c(program, "check", file), env = c(R_LIBS = other))
  expect(ended$status == 4L && any(grepl("what is there is 0.0.1[.]", ended$log)), toString(ended$log))
  nowhere <- c(R_LIBS = dirname(program), R_LIBS_SITE = "/nonexistent", R_LIBS_USER = "/nonexistent")
  for (command in list(c(program, file, "--port", "0"), c(program, "check", file))) {
    ended <- run_to_end(command, env = nowhere)
    expect(ended$status %in% c(1L, 4L), paste("its exit status is", ended$status))
    right <- paste0("cannot find version [0-9.]+ of the R package drover in .*", basename(dirname(program)), ".*name its library in R_LIBS")
    expect(any(grepl(right, ended$log)), toString(ended$log))
  }
}, ways = 1)
