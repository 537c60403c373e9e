# What an app finds in commandArgs(): what stands behind `--`, and its own file, as after `Rscript FILE ARGUMENTS`; none
# of drover's own words.

arguments_app <- function(folder = tempfile("arguments-")) {
  dir.create(folder)
  write_app(c(
    "loaded <- commandArgs()", "app <- dr_app()",
    "dr_get(app, '/loaded', function(req) paste(loaded[-1L], collapse = '|'))",
    "dr_get(app, '/now', function(req) paste(commandArgs(TRUE), collapse = '|'))",
    "dr_get(app, '/pid', function(req) as.character(Sys.getpid()))", "app"
  ), file.path(folder, "app.R"))
}

# Words that R and its front end would take for their own before --args.
app_words <- c("--model", "x.rds", "a b", "--gui=Tk", "-e", "--version", "--kind", "plumber", "--", "é")

# As Rscript has them, but for the path, which is absolute.
expected_words <- function(file, words = app_words) {
  shown <- c("--no-echo", "--no-restore", paste0("--file=", normalizePath(file)), if (length(words)) c("--args", words))
  paste(shown, collapse = "|")
}

expect_words <- function(server, file, words = app_words) {
  loaded <- ask(server, "/loaded")$body
  expect(loaded == expected_words(file, words), "while it was loaded: ", loaded)
  now <- ask(server, "/now")$body
  expect(now == paste(words, collapse = "|"), "in a handler: ", now)
}

test("an app of drover serve has what stands behind --, and its path, forked or spawned, and after a reload", function() {
  for (start in c("fork", "spawn")) {
    file <- arguments_app()
    server <- launch(c(command_of(file, workers = 1, start = start), "--", app_words))
    expect_words(server, file)
    before <- ask(server, "/pid")$body
    send_signal(server$pid, tools::SIGHUP)
    expect(within(function() ask(server, "/pid")$body != before), "it does not reload")
    expect_words(server, file)
  }
  # without any; and a folder, whose file it is that counts
  expect_words(serve(dirname(file), workers = 1), file, character())
}, ways = 1)

test("what the app has is what Rscript has", function() {
  file <- arguments_app()
  script <- tempfile(fileext = ".R")
  writeLines("cat(commandArgs()[-1L], sep = '\\n')", script)
  ran <- processx::run(file.path(R.home("bin"), "Rscript"), c(script, app_words))
  theirs <- strsplit(ran$stdout, "\n")[[1L]]
  server <- launch(c(command_of(file, workers = 1), "--", app_words))
  ours <- strsplit(ask(server, "/loaded")$body, "|", fixed = TRUE)[[1L]]
  expect(identical(sub("^--file=.*", "--file=", ours), sub("^--file=.*", "--file=", theirs)),
    paste(c("Rscript has", theirs, "drover has", ours), collapse = "\n"))
}, ways = 1)

test("drover dev, drover check and dr_run() give them, too", function() {
  file <- arguments_app()
  dev <- launch(c(drover_program(), "dev", file, "--port", "0", "--", app_words), env = runtime_folder())
  expect_words(dev, file)
  needs <- write_app(c("stopifnot(identical(commandArgs(TRUE), c('--n', '1')))", "dr_get(dr_app(), '/x', function(req) 1)"))
  shows(command("check", needs, "--", "--n", "1"), 0L, "is an app with 1 route")
  shows(command("check", needs), 1L, NULL, "cannot load")
  shows(command("routes", needs, "--", "--n", "1"), 0L, "GET +/x")
  shows(command("openapi", needs, "--", "--n", "1"), 0L, "/x:")
  run <- serve_session(sprintf("dr_run(%s, port = 0L, workers = 1L, args = %s)", deparse(file), deparse1(app_words)))
  expect_words(run, file)
}, ways = 1)

test("workers of a session have the session's, forked or spawned", function() {
  file <- arguments_app()
  for (start in c("fork", "spawn")) {
    script <- tempfile("session-", fileext = ".R")
    writeLines(c(
      sprintf("app <- source(%s)$value", deparse(file)),
      sprintf("dr_serve(app, port = 0L, workers = c(1L, 1L), pool = dr_pool(start = '%s'), block = TRUE)", start)
    ), script)
    server <- launch(c(file.path(R.home("bin"), "Rscript"), "--vanilla", script, app_words))
    now <- ask(server, "/now")$body
    expect(now == paste(app_words, collapse = "|"), start, ": ", now)
  }
}, ways = 1)
