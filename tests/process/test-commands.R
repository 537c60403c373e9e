# Commands of the program beside serve, as their user runs them: what they print, and how they end.

# list(status, out, err)
command <- function(..., wd = tempdir(), env = NULL, stdin = NULL) {
  ran <- processx::run(drover_program(), c(...), error_on_status = FALSE, wd = wd, timeout = 120, stdin = stdin,
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

test("drover openapi writes the description of an app, and nothing else on standard output", function() {
  file <- write_app(c("print('noise')", "dr_about(dr_get(dr_app(), '/a/<id:int>', identity), 'An API')"))
  ran <- command("openapi", file)
  shows(ran, 0L, c('^openapi: "3.1.0"$', '^  title: "An API"$', '^  "/a/\\{id\\}":$'), "noise")
  expect(ran$out[[1L]] == 'openapi: "3.1.0"', ran$out[[1L]])
  json <- command("openapi", file, "--format", "json")
  expect(jsonlite::fromJSON(paste(json$out, collapse = "\n"))$info$title == "An API", paste(json$out, collapse = "\n"))
  within <- tempfile("openapi-")
  dir.create(within)
  shows(command("openapi", file, "-o", "api.json", wd = within), 0L, NULL, "wrote .*/api.json$")
  expect(jsonlite::fromJSON(file.path(within, "api.json"))$openapi == "3.1.0", "the file")
  shows(command("openapi", file, "--output", "missing/api.json", wd = within), 1L, NULL, "api.json cannot be written")
  shows(command("openapi", "--kind", "annotations", write_app(c("#* @apiTitle Mine", "#* @get /x", "function() 1"))), 0L,
    '^  title: "Mine"$')
  shows(command("openapi", "missing.R"), 4L, NULL, "cannot read missing.R")
  shows(command("openapi", file, "--format", "xml"), 2L, NULL, "possible values: json, yaml")
}, ways = 1)

test("drover check and the log name an annotation that plumber does not know", function() {
  lines <- c("#* @get /x", "#' @return one", "function() 1", "", "#* @gte /y", "function() 2")
  file <- write_app(lines)
  at <- which(readLines(file) == "#* @gte /y")
  problem <- sprintf("app-.*[.]R, line %d: `@gte` is no annotation of plumber: did you mean `@get`[?]$", at)
  own <- sprintf("cannot load .*: line %d: `@gte` is no annotation of plumber: did you mean `@get`[?]$", at)
  shows(command("check", file, "--kind", "annotations"), 1L, NULL, own)
  # one that is meant for plumber, but has nothing of it
  shows(command("check", write_app(c("#* @gte /y", "function() 2"))), 1L, NULL, "Line 3: `@gte` is no annotation")
  if (!requireNamespace("plumber", quietly = TRUE)) return(skip("the package 'plumber' is not installed"))
  ran <- command("check", file)
  shows(ran, 1L, "1 route;", paste0("^drover: warning: ", problem))
  expect(!any(grepl("@return", ran$err)), paste(ran$err, collapse = "\n"))
  # below a router of another file, and in one that a script reads
  script <- write_app(sprintf("plumber::pr_mount(plumber::pr(), '/below', plumber::plumb('%s'))", file))
  shows(command("check", script), 1L, NULL, paste0("^drover: warning: ", problem))
  server <- serve(file)
  expect(ask(server, "/x")$body == "[1]", "it goes on")
  expect(sum(grepl(problem, server$log())) == 1L, paste(server$log(), collapse = "\n"))
}, ways = 1)

test("drover check loads an app and says what is wrong with it, without serving it", function() {
  right <- write_app("dr_get(dr_app(), '/', function(req) 'x')")
  shows(command("check", right), 0L, "is an app with 1 route; it loads in")
  hidden <- write_app("dr_get(dr_get(dr_app(), '/:x', identity), '/y', identity)")
  shows(command("check", hidden), 1L, "2 routes", "route GET /y is never reached")
  shows(command("check", write_app("dr_app()")), 1L, NULL, "it has no routes")
  shows(command("check", write_app("stop('not today')")), 1L, NULL, "cannot load .*: line 3: not today")
  shows(command("check", cluster_app()), 0L, paste0(
    "^each worker loads it by itself, as forks must not share what it has opened: app-.*[.]R, line 3: 2 connections"
  ))
  shows(command("check", "missing.R"), 4L, NULL, "cannot read missing.R")
  # an app that nobody has made
  maker <- "a function, which is no app: .*; a function that makes one has to be called, as in "
  shows(command("check", "drover::dr_app"), 1L, NULL, paste0(maker, "drover::dr_app\\(\\)$"))
  shows(command("check", write_app("make <- function(debug = FALSE) dr_app()")), 1L, NULL, "as in make_app\\(\\)")
  told <- command("check", write_app("dr_get(dr_app(), '/x', function(limit) 1)"))
  shows(told, 0L, "1 route", "warning: app-.*, line 3: `handler` takes `limit`, and gets the request as that")
  shows(command("check"), 2L, NULL, "required arguments were not provided")
}, ways = 1)

# Makes a project, and runs its tests as its README says: the folder. `change`: what is done to it before they are run.
new_project <- function(kind, change = NULL) {
  within <- tempfile("new-")
  dir.create(within)
  shows(command("new", "shop", if (!is.null(kind)) c("--kind", kind), wd = within), 0L, c("made shop with .*test-", "drover serve shop"))
  folder <- file.path(within, "shop")
  if (!is.null(change)) change(folder)
  line <- grep("test_dir", readLines(file.path(folder, "README.md")), value = TRUE)
  tested <- processx::run("sh", c("-c", gsub(".*[|] `|` [|]$", "", line)), wd = folder, error_on_status = FALSE,
    env = c("current", R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep)), timeout = patience(120))
  list(folder = folder, status = tested$status, said = paste0(tested$stdout, tested$stderr))
}

test("drover new makes a project of each kind that passes its own tests and serves", function() {
  of_kind <- list(
    api = function(server) ask(server, "/mean", "--json", '{"numbers":[1,2,6]}')$body == '{"mean":3}',
    plumber = function(server) ask(server, "/mean", "--json", '{"numbers":[1,2,6]}')$body == '{"mean":3}',
    websocket = function(server) ask(server, "/rooms/one/members")$body == '{"members":0}'
  )
  kinds <- list.files(system.file("templates", package = "drover"))
  expect(setequal(kinds, c(names(of_kind), "shared")), "templates of other kinds: ", toString(kinds))
  for (kind in names(of_kind)) {
    project <- new_project(kind)
    passed <- project$status == 0L && grepl("FAIL 0 [|] WARN 0 [|] SKIP 0 [|] PASS ([3-9]|1[0-9])", project$said)
    expect(passed, kind, ": its tests: ", project$said)
    shows(command("check", project$folder), 0L, "it loads in")
    server <- launch(c(drover_program(), "serve", project$folder, "--port", "0"))
    expect(grepl("shop", ask(server, "/")$body), kind, ": no name at /")
    expect(of_kind[[kind]](server), kind, ": another answer")
  }
}, ways = 1)

test("the tests of a new project fail when its app is wrong", function() {
  break_it <- function(file, from, to) function(folder) {
    path <- file.path(folder, file)
    lines <- readLines(path)
    expect(any(grepl(from, lines, fixed = TRUE)), file, " has no ", from)
    writeLines(sub(from, to, lines, fixed = TRUE), path)
  }
  changes <- list(
    api = break_it("app.R", "n^2", "n^3"), plumber = break_it("plumber.R", "n^2", "n^3"),
    websocket = break_it("app.R", "dr_ws_broadcast(conn$params$room, msg)", "dr_ws_broadcast('one', toupper(msg))")
  )
  for (kind in names(changes)) {
    project <- new_project(kind, changes[[kind]])
    expect(project$status != 0L && grepl("FAIL [1-9]", project$said), kind, ": ", project$said)
  }
}, ways = 1)

test("drover new makes an API unless told otherwise, names the kinds, and never writes over a project", function() {
  project <- new_project(NULL)
  expect(project$status == 0L && file.exists(file.path(project$folder, "app.R")), project$said)
  within <- dirname(project$folder)
  shows(command("routes", "shop", wd = within), 0L, c("^GET +/square/<n:int>", "^POST +/mean"))
  shows(command("new", "shop", wd = within), 1L, NULL, "shop exists already")
  shows(command("new", "a b", wd = within), 1L, NULL, "the name must begin with")
  shows(command("new", "other", "--kind", "shiny", wd = within), 2L, NULL, "possible values: api, plumber, websocket")
  expect(!file.exists(file.path(within, "other")), "a project of no kind")
  shows(command("new", "--help"), 0L, "possible values: api, plumber, websocket")
}, ways = 1)

test("drover doctor and version say what is there", function() {
  shows(command("version"), 0L, c("^drover [0-9.]+$", "^R version", "^package: /"))
  ran <- command("doctor")
  expect(any(grepl("^ok +R version", ran$out)) && any(grepl("^ok +the package later", ran$out)) &&
    any(grepl("^ok +what forked workers must not share is found: /proc", ran$out)), paste(ran$out, collapse = "\n"))
  few <- processx::run("bash", c("-c", paste("ulimit -n 256;", drover_program(), "doctor")), error_on_status = FALSE,
    env = c("current", R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep)), timeout = 120)
  expect(few$status == 1L && grepl("WRONG open files that a process may have: 256\n +raise the limit", few$stdout), few$stdout)
  shows(command("version", "--r", "/none"), 4L, NULL, "cannot find R: no program /none")
}, ways = 1)

test("drover hash-password hashes one line of standard input", function() {
  given <- function(bytes, ...) {
    file <- tempfile("password-")
    writeBin(if (is.raw(bytes)) bytes else charToRaw(bytes), file)
    command("hash-password", ..., stdin = file)
  }
  for (text in c("correct horse", "correct horse\n", "correct horse\r\n")) {
    ran <- given(text)
    shows(ran, 0L, "^[$]argon2id[$]v=19[$]m=19456,t=2,p=1[$][^$]+[$][^$]+$")
    expect(length(ran$out) == 1L, toString(ran$out))
    expect(drover::dr_password_verify("correct horse", ran$out), encodeString(text), ": of another password")
    expect(!drover::dr_password_verify("correct horse ", ran$out), "of another password as well")
  }
  shows(given("secret", "--user", "ada"), 0L, "^ada:[$]argon2id[$]")
  for (name in c("a:b", "", "#ada", "ada ")) shows(given("secret", "--user", name), 2L, NULL, "at least one character")
  shows(given(""), 2L, NULL, "the password: it must have 1 to 1024 bytes")
  shows(given(strrep("x", 1025)), 2L, NULL, "the password: it must have 1 to 1024 bytes")
  shows(given("two\nlines\n"), 2L, NULL, "the password must be one line of standard input")
  shows(given(as.raw(c(0x61, 0xff))), 2L, NULL, "the password cannot be read: .*UTF-8")
  shows(command("hash-password", "secret"), 2L, NULL, "unexpected argument 'secret'")
}, ways = 1)

test("drover hash-password asks at a terminal, which does not show what is typed", function() {
  # types each of these when its prompt is there: list(what the terminal has shown, exit status)
  at_terminal <- function(...) {
    # in the place of the shell, whichever that is: some end by ^C themselves
    client <- start_client("script", c("--quiet", "--return", "--command",
      paste("exec", drover_program(), "hash-password"), "/dev/null"), stdin = "|", stdout = "|")
    shown <- ""
    shows_by_now <- function(text) within(function() {
      shown <<- paste0(shown, client$read_output())
      grepl(text, shown, fixed = TRUE)
    })
    typed <- c(...)
    for (i in seq_along(typed)) {
      expect(shows_by_now(c("Password: ", "Again: ")[[i]]), "no prompt in ", shown)
      client$write_input(typed[[i]])
    }
    expect(within(function() !client$is_alive()), "it does not end: ", shown)
    list(shown = paste0(shown, client$read_all_output()), status = client$get_exit_status())
  }
  ended <- at_terminal("correct horse\n", "correct horse\n")
  hash <- regmatches(ended$shown, regexpr("[$]argon2id[^[:space:]]+", ended$shown))
  expect(ended$status == 0L && length(hash) == 1L, ended$status, ": ", ended$shown)
  expect(drover::dr_password_verify("correct horse", hash), "of another password")
  expect(!grepl("horse", ended$shown), "it was shown: ", ended$shown)
  ended <- at_terminal("correct horse\n", "correct house\n")
  expect(ended$status == 2L && grepl("the two passwords are not the same", ended$shown), ended$shown)
  ended <- at_terminal("correct\003")
  expect(ended$status == 1L && grepl("interrupted", ended$shown), ended$status, ": ", ended$shown)
  # whoever is interrupted has a terminal that shows what is typed; with the trap, the shell lives on as well
  after <- start_client("script", c("--quiet", "--command",
    paste0("trap : INT; ", drover_program(), " hash-password; stty -a"), "/dev/null"), stdin = "|", stdout = "|")
  shown <- ""
  read_on <- function(text) within(function() {
    shown <<- paste0(shown, after$read_output())
    grepl(text, shown)
  })
  expect(read_on("Password: "), "no prompt")
  after$write_input("\003")
  expect(read_on("interrupted(.|\n)* echo "), "the terminal has no echo: ", shown)
}, ways = 1)
