# `drover docker` and `drover systemd`, as their user runs them; what they write is judged by its linter, where that is
# there.

# An app in a folder of its own.
deployed_folder <- function(...) {
  folder <- tempfile("shop-")
  dir.create(folder)
  write_app(c("dr_get(dr_app(), '/', function(req) 'x')", ...), file.path(folder, "app.R"))
  folder
}

dockerfile <- function(folder) readLines(file.path(folder, "Dockerfile"))

has_line <- function(lines, pattern) {
  expect(any(grepl(pattern, lines)), paste0("no '", pattern, "' in\n", paste(lines, collapse = "\n")))
}

# Fails the test when hadolint has something to say; tools/python-programs.sh fetches it.
judge_dockerfile <- function(folder) {
  program <- file.path(root, ".cache/hadolint/bin/hadolint")
  if (!file.exists(program)) return()
  ran <- processx::run(program, file.path(folder, "Dockerfile"), error_on_status = FALSE)
  expect(ran$status == 0L, paste(ran$stdout, ran$stderr))
}

test("drover docker writes an image with the packages that the app names, and never over another one", function() {
  folder <- deployed_folder("library('stats'); x <- function() processx::run('ls')", "requireNamespace(\"withr\")")
  ran <- command("docker", "app.R", wd = folder)
  shows(ran, 0L, c("^wrote .*Dockerfile and .*dockerignore$", "^put drover's source package beside it: drover_"))
  lines <- dockerfile(folder)
  for (pattern in c("^FROM rocker/r-ver:[0-9.]+ AS build$",
    "install.packages\\(c\\(\"processx\", \"withr\", \"jsonlite\", \"later\"\\)",
    "^COPY drover_[0-9.]+tar.gz", "^USER 10001$", "^HEALTHCHECK .*\"drover\", \"status\"", "^EXPOSE 8080$",
    "^CMD \\[\"drover\", \"serve\", \"app.R\"\\]$")) has_line(lines, pattern)
  expect(which(lines == "USER 10001") < grep("^CMD", lines), "it runs as root")
  judge_dockerfile(folder)
  writeLines("FROM scratch", file.path(folder, "Dockerfile"))
  again <- command("docker", "app.R", wd = folder)
  shows(again, 1L, NULL, "Dockerfile and .*dockerignore are there already: remove it, or .*--force")
  expect(identical(dockerfile(folder), "FROM scratch"), "it was written over")
  shows(command("docker", folder, "--force", "--port", "9000", "--base", "r-base:4.5.1"), 0L, "^build it")
  lines <- dockerfile(folder)
  for (pattern in c("^FROM r-base:4.5.1$", "^ENV DROVER_HOST=0.0.0.0 PORT=9000$", "\"serve\", \"[.]\"")) has_line(lines, pattern)
  judge_dockerfile(folder)
  shows(command("docker", folder, "--force", "--", "--model", "my x.rds"), 0L, "^build it")
  has_line(dockerfile(folder), "^CMD \\[\"drover\", \"serve\", \"[.]\", \"--\", \"--model\", \"my x.rds\"\\]$")
  shows(command("docker", "none.R"), 4L, NULL, "cannot read none.R")
  shows(command("docker", folder, "--port", "0"), 2L, NULL, "0 is not in 1..65535|'0' for '--port")
}, ways = 1)

# The folder of an image: the files that `COPY . ./` takes, by the patterns of a .dockerignore.
copied <- function(folder) {
  patterns <- readLines(file.path(folder, ".dockerignore"))
  files <- list.files(folder, all.files = TRUE, recursive = TRUE)
  anywhere <- utils::glob2rx(sub("^[*][*]/", "", patterns[startsWith(patterns, "**/")]))
  at_top <- utils::glob2rx(patterns[!startsWith(patterns, "**/")])
  is_like <- function(name, patterns) any(vapply(patterns, grepl, NA, name))
  files[!vapply(files, function(file) is_like(basename(file), anywhere) || is_like(file, at_top), NA)]
}

test("an image has no files with secrets, and listens where its platform says by PORT", function() {
  folder <- deployed_folder()
  dir.create(file.path(folder, "data"))
  secrets <- c(".Renviron", ".env", ".env.production", "data/.env", ".netrc")
  for (file in c(secrets, "drover.toml", "data/rows.csv")) writeLines("", file.path(folder, file))
  writeLines("port = 4000", file.path(folder, "drover.toml"))
  shows(command("docker", "app.R", wd = folder), 0L, "^wrote")
  expect(setequal(copied(folder), c("app.R", "drover.toml", "data/rows.csv")), toString(copied(folder)))
  # what the image says, and what a platform that runs it changes of that
  said <- strsplit(sub("^ENV ", "", grep("^ENV DROVER_HOST", dockerfile(folder), value = TRUE)), " ")[[1L]]
  variables <- stats::setNames(sub(".*=", "", said), sub("=.*", "", said))
  port <- free_ports(1L)
  variables[["PORT"]] <- port
  run <- strsplit(gsub("[^-A-Za-z. ]", "", sub("^CMD ", "", grep("^CMD", dockerfile(folder), value = TRUE))), " ")[[1L]]
  expect(identical(run, c("drover", "serve", "app.R")), toString(run))
  server <- launch(c(drover_program(), "serve", file.path(folder, "app.R")), env = variables)
  expect(identical(as.integer(server$port), as.integer(port)), "it listens on ", server$port)
}, ways = 1)

test("a port is that of a flag, else of DROVER_PORT, of PORT, and of the settings file", function() {
  folder <- deployed_folder()
  ports <- free_ports(4L)
  writeLines(paste("port =", ports[[4L]]), file.path(folder, "drover.toml"))
  serve_with <- function(flags, env) {
    server <- launch(c(drover_program(), "serve", file.path(folder, "app.R"), flags), env = env)
    expect(!is.null(server$port), "it does not listen")
    as.integer(server$port)
  }
  all <- c(DROVER_PORT = ports[[2L]], PORT = ports[[3L]])
  got <- c(
    serve_with(c("--port", ports[[1L]]), all), serve_with(NULL, all), serve_with(NULL, all["PORT"]), serve_with(NULL, NULL)
  )
  expect(identical(got, as.integer(ports)), toString(got), " and not ", toString(ports))
}, ways = 1)

test("drover docker takes packages and the version of R from renv.lock", function() {
  folder <- deployed_folder()
  packages <- list(drover = list(Package = "drover"), later = list(Package = "later"))
  lock <- list(R = list(Version = "4.3.1"), Packages = packages)
  writeLines(jsonlite::toJSON(lock, auto_unbox = TRUE), file.path(folder, "renv.lock"))
  shows(command("docker", folder), 0L, "^wrote")
  lines <- dockerfile(folder)
  for (pattern in c("^FROM rocker/r-ver:4.3.1 AS build$", "^COPY renv.lock", "renv::restore")) has_line(lines, pattern)
  expect(!any(grepl("COPY drover_", lines)), "drover is in the lock file")
  judge_dockerfile(folder)
  writeLines("{", file.path(folder, "renv.lock"))
  shows(command("docker", folder, "--force"), 1L, NULL, "renv.lock cannot be read")
}, ways = 1)

# Fails the test when systemd has something to say of a unit.
judge_unit <- function(unit) {
  if (!nzchar(Sys.which("systemd-analyze"))) return()
  judged <- processx::run("systemd-analyze", c("verify", "--man=no", unit), error_on_status = FALSE)
  said <- grep("shop[.]", strsplit(judged$stderr, "\n")[[1L]], value = TRUE)
  expect(judged$status == 0L && !length(said), paste(judged$stdout, judged$stderr))
}

test("drover systemd prints a unit that systemd takes", function() {
  folder <- file.path(tempfile("my shop-"), "50% off")
  dir.create(folder, recursive = TRUE)
  file <- write_app("dr_app()", file.path(folder, "app.R"))
  ran <- command("systemd", file, "--user", "app", "--name", "shop", "--", "--port", "9000", "--workers", "1-4")
  shows(ran, 0L, c(
    "^Type=notify$", "^ExecStart=/.*/drover serve \".*50%% off/app.R\" --port 9000 --workers 1-4$", "^User=app$",
    "^ExecReload=/.*/drover reload \\$MAINPID$", "^WorkingDirectory=/.*50%% off$",
    # where `drover status` finds it, and what would fail as often as it is started
    "^RuntimeDirectory=drover/shop$", "^RuntimeDirectoryMode=0700$", "^Environment=DROVER_SOCKETS=%t/drover/shop$",
    "^RestartPreventExitStatus=2$", "^Environment=\"R_LIBS=/"
  ))
  elsewhere <- command("systemd", file, "--user", "app", "--name", "shop", env = c(R_LIBS_USER = "", R_LIBS_SITE = "/50% x"))
  shows(elsewhere, 0L, "^Environment=\"R_LIBS_SITE=/50%% x\"$")
  expect(!any(grepl("R_LIBS_USER", elsewhere$out)), "a variable that is empty is there")
  writeLines(elsewhere$out, file.path(folder, "shop.service"))
  judge_unit(file.path(folder, "shop.service"))
  expect(!any(grepl("[{}]", ran$out)), paste(ran$out, collapse = "\n"))
  writeLines(ran$out, file.path(folder, "shop.service"))
  judge_unit(file.path(folder, "shop.service"))
  # what systemd waits for follows the settings: options, the settings file, and variables, which the service may lack
  waits <- function(start, stop, ..., env = NULL) {
    told <- command("systemd", file, "--user", "app", "--name", "shop", "--", ..., env = env)
    shows(told, 0L, paste0("^Timeout", c("Start", "Stop"), "Sec=", c(start, stop), "$"))
    told
  }
  waits(310, 40)
  waits(610, 140, "--start-timeout", "10m", "--graceful-timeout", "120", "--drain-delay", "10")
  waits("infinity", 40, "--start-timeout", "0")
  with_words <- waits(310, 40, "--", "--model", "x.rds")
  shows(with_words, 0L, "^ExecStart=.*app.R\" -- --model x.rds$")
  settings <- file.path(folder, "drover.toml")
  writeLines(c("[pool]", "start_timeout = 100", "[timeouts]", "graceful_timeout = \"1m\""), settings)
  waits(110, 70)
  waits(210, 70, "--start-timeout", "200")
  waits(410, 70, env = c(DROVER_START_TIMEOUT = "400"))
  waits(310, 70, env = c(DROVER_START_TIMEOUT = "20"))
  unlink(settings)
  wrong <- command("systemd", file, "--user", "app", "--", "--start-timout", "5")
  shows(wrong, 2L, NULL, "unexpected argument '--start-timout'")
  # systemd looks for the service of a socket beside it
  for (address in c("", "=0.0.0.0:80", "=/run/shop.sock")) {
    ran <- command("systemd", file, "--user", "root", "--name", "shop", paste0("--socket", address))
    shows(ran, 0L, paste0("^ListenStream=", if (nzchar(address)) sub("=", "", address) else "127.0.0.1:8080", "$"))
    expect(!any(grepl("[{}]", ran$out)), paste(ran$out, collapse = "\n"))
    writeLines(ran$out, file.path(folder, "shop.socket"))
    judge_unit(file.path(folder, "shop.socket"))
  }
  shows(command("systemd", file, "--socket=here"), 2L, NULL, "--socket must be a port, an IP address and a port")
  shows(command("systemd", file, "--socket", "--", "--port", "1"), 2L, NULL, "cannot be used with")
  shows(command("systemd", file, "--user", "a b"), 2L, NULL, "--user must be the name of a user")
  shows(command("systemd", "none.R"), 4L, NULL, "cannot read none.R")
}, ways = 1)

test("wrong settings end with the exit status that keeps systemd from starting again, and nothing else does", function() {
  folder <- deployed_folder()
  file <- file.path(folder, "app.R")
  unit <- command("systemd", file)$out
  status <- as.integer(sub("^RestartPreventExitStatus=", "", grep("^RestartPreventExitStatus=", unit, value = TRUE)))
  ends <- function(expected, ..., env = NULL, app = file) {
    ran <- run_to_end(command_of(app, ...), env = env)
    expect(identical(ran$status == status, expected), toString(ran$status), ": ", paste(ran$log, collapse = "\n"))
  }
  ends(TRUE, max_body = "much")
  ends(TRUE, env = c(DROVER_TIMEOUT = "long"))
  ends(TRUE, trusted_proxies = "nobody")
  ends(TRUE, tls_cert = "none.pem", tls_key = "none.pem")
  ends(FALSE, app = write_app("stop('no table yet')"))
  ends(FALSE, app = "none.R")
  taken <- serve(file)
  ends(FALSE, port = taken$port)
  writeLines("max_bdoy = 1", file.path(folder, "drover.toml"))
  ends(TRUE)
}, ways = 1)

test("a service is found in the folder that systemd makes for it", function() {
  folder <- sprintf("/run/drover/test-%d", Sys.getpid())
  made <- suppressWarnings(dir.create(folder, recursive = TRUE, mode = "0700"))
  if (!made) skip("only root makes folders in /run")
  on.exit({
    unlink(folder, recursive = TRUE)
    if (!length(list.files("/run/drover"))) unlink("/run/drover", recursive = TRUE)
  })
  # others pass through
  Sys.chmod("/run/drover", "0755")
  server <- launch(command_of(file.path(deployed_folder(), "app.R")), env = c(DROVER_SOCKETS = folder))
  expect(!is.null(server$url), "it does not listen")
  shows(command("status", server$pid), 0L, paste0("^process ", server$pid, ","))
  shows(command("stop", server$pid), 0L, "^stopped")
}, ways = 1)

test("systemd is told when it serves and when it ends", function() {
  if (!nzchar(Sys.which("python3"))) skip("there is no python3")
  told <- tempfile("told-")
  socket <- tempfile("notify-")
  script <- c(
    "import socket, sys", "s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)", "s.bind(sys.argv[1])",
    "f = open(sys.argv[2], 'w')", "for i in range(2):", "    f.write(s.recv(100).decode() + '\\n')", "    f.flush()"
  )
  start_client("python3", c("-c", paste(script, collapse = "\n"), socket, told))
  expect(within(function() file.exists(socket)), "nobody listens")
  server <- launch(command_of(write_app("dr_app()")), env = c(NOTIFY_SOCKET = socket))
  lines <- function() if (file.exists(told)) readLines(told) else character()
  expect(within(function() identical(lines(), "READY=1")), toString(lines()))
  send_signal(server$pid, tools::SIGTERM)
  expect(within(function() identical(lines(), c("READY=1", "STOPPING=1"))), toString(lines()))
}, ways = 1)
