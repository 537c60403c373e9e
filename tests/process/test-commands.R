# Commands of the program beside serve, as their user runs them: what they print, and how they end.

# list(status, out, err)
command <- function(..., wd = tempdir(), env = NULL) {
  ran <- processx::run(drover_program(), c(...), error_on_status = FALSE, wd = wd, timeout = 60,
    env = c("current", R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep), env))
  lines <- function(text) strsplit(text, "\n", fixed = TRUE)[[1L]]
  list(status = ran$status, out = lines(ran$stdout), err = lines(ran$stderr))
}

shows <- function(ran, status, out = NULL, err = NULL) {
  all <- paste(c(paste("status", ran$status), ran$out, ran$err), collapse = "\n")
  expect(ran$status == status, all)
  for (line in out) expect(any(grepl(line, ran$out)), paste0("no '", line, "' in\n", all))
  for (line in err) expect(any(grepl(line, ran$err)), paste0("no '", line, "' in\n", all))
}

test("drover routes shows what an app answers, and nothing else on standard output", function() {
  file <- write_app(c(
    "print('not for the table')", "app <- dr_get(dr_app(), '/a/:id', identity)",
    "dr_mount(app, '/old', function(req) list(status = 200L))", "dr_static(app, '/files', tempdir())", "app"
  ))
  ran <- command("routes", file)
  shows(ran, 0L, c("^GET +/a/:id$", "^ANY +/old/\\* +an app of httpuv or Rook$", "^files +/files "), "not for the table")
  expect(length(ran$out) == 3L, paste(ran$out, collapse = "\n"))
  folder <- tempfile("router-")
  dir.create(folder)
  writeLines(c("#* @get /x", "#* @post /x", "function() 1", "#* @assets . /public", "list()"), file.path(folder, "plumber.R"))
  shows(command("routes", folder), 0L, c("^GET +/x$", "^POST +/x$", "^files +/public/$"))
}, ways = 1)

test("drover check loads an app and says what is wrong with it, without serving it", function() {
  right <- write_app("dr_get(dr_app(), '/', function(req) 'x')")
  shows(command("check", right), 0L, "is an app with 1 route; it loads in")
  hidden <- write_app("dr_get(dr_get(dr_app(), '/:x', identity), '/y', identity)")
  shows(command("check", hidden), 1L, "2 routes", "route GET /y is never reached")
  shows(command("check", write_app("dr_app()")), 1L, NULL, "it has no routes")
  shows(command("check", write_app("stop('not today')")), 1L, NULL, "cannot load .*: line 2: not today")
  shows(command("check", "missing.R"), 4L, NULL, "cannot read missing.R")
  shows(command("check"), 2L, NULL, "required arguments were not provided")
}, ways = 1)

test("drover new makes a project that passes its own tests, and never writes over one", function() {
  within <- tempfile("new-")
  dir.create(within)
  shows(command("new", "shop", wd = within), 0L, c("made shop with app.R", "drover serve shop"))
  shows(command("check", "shop", wd = within), 0L, "2 routes")
  tested <- processx::run("Rscript", "tests/test-app.R", wd = file.path(within, "shop"), error_on_status = FALSE,
    env = c("current", R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep)), timeout = 60)
  expect(tested$status == 0L && grepl("all tests passed", tested$stdout), tested$stderr)
  server <- launch(c(drover_program(), "serve", file.path(within, "shop"), "--port", "0"))
  expect(grepl("^Hello from shop", ask(server, "/")$body), "another answer")
  shows(command("new", "shop", wd = within), 1L, NULL, "shop exists already")
  shows(command("new", "a b", wd = within), 1L, NULL, "the name must begin with")
}, ways = 1)

test("drover doctor and version say what is there", function() {
  shows(command("version"), 0L, c("^drover [0-9.]+$", "^R version", "^package: /"))
  ran <- command("doctor")
  expect(any(grepl("^ok +R version", ran$out)) && any(grepl("^ok +the package later", ran$out)), paste(ran$out, collapse = "\n"))
  few <- processx::run("bash", c("-c", paste("ulimit -n 256;", drover_program(), "doctor")), error_on_status = FALSE,
    env = c("current", R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep)), timeout = 60)
  expect(few$status == 1L && grepl("WRONG open files that a process may have: 256\n +raise the limit", few$stdout), few$stdout)
  shows(command("version", "--r", "/none"), 4L, NULL, "cannot find R: no program /none")
}, ways = 1)
