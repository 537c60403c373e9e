# `drover install`, `completions` and `bench`, as their user runs them.

test("drover install makes a link, renews its own, and touches nothing else", function() {
  home <- tempfile("home-")
  folder <- file.path(home, "bin")
  link <- file.path(folder, "drover")
  made <- command("install", "--folder", folder)
  shows(made, 0L, c(paste0("^", link, " is a link to /.*/drover now$"), "not on the PATH yet"))
  path <- paste(folder, Sys.getenv("PATH"), sep = ":")
  on_path <- processx::run("sh", c("-c", "drover --version"), env = c("current", PATH = path))
  expect(grepl("^drover [0-9.]+", on_path$stdout), on_path$stdout)
  shows(command("install", "--folder", folder), 0L, "is there already")
  # that of a package that has gone
  unlink(link)
  file.symlink("/gone/drover/bin/drover", link)
  shows(command("install", "--folder", folder), 0L, "is a link to")
  unlink(link)
  writeLines("mine", link)
  shows(command("install", "--folder", folder), 1L, NULL, "is something else, which stays")
  expect(readLines(link) == "mine", "it is another one")
  expect(length(list.files(folder, all.files = TRUE, no.. = TRUE)) == 1L, "something is left")
}, ways = 1)

test("drover completions prints what each shell reads", function() {
  bash <- command("completions", "bash")
  shows(bash, 0L, c("^_drover\\(\\)", "--max-queue"))
  file <- tempfile(fileext = ".bash")
  writeLines(bash$out, file)
  typed <- "COMP_WORDS=(drover rel); COMP_CWORD=1; _drover drover rel drover; echo ${COMPREPLY[@]}"
  expect(processx::run("bash", c("-c", paste0("source ", file, "; ", typed)))$stdout == "reload\n", "bash does not complete")
  shows(command("completions", "zsh"), 0L, "^#compdef drover")
  shows(command("completions", "fish"), 0L, "^complete -c drover")
  shows(command("completions", "csh"), 2L, NULL, "bash, zsh, fish")
}, ways = 1)

test("drover bench measures answers, and says what was none", function() {
  server <- serve(write_app(c(
    "app <- dr_get(dr_app(), '/', function(req) 'x')", "dr_get(app, '/missing', function(req) dr_abort(418))",
    "dr_post(app, '/echo', function(req) list(n = req$json$n))", "app"
  )), workers = 1)
  # on a slow machine there may be no answer within this time: then it is measured again
  bench <- function(...) {
    ran <- NULL
    within(function() {
      ran <<- command("bench", "--duration", "300ms", "--connections", "2", ...)
      !any(grepl("no request was answered", ran$err))
    })
    ran
  }
  ran <- bench(paste0(server$url, "/"))
  shows(ran, 0L, c(
    "^GET http.* for 0.3 s, 2 connections$", "^requests +[0-9]+, [0-9.]+ per second$",
    "^latency +p50 [0-9.]+ ms, p90 [0-9.]+ ms, p99 [0-9.]+ ms, max [0-9.]+ ms$", "^statuses +200: [0-9]+$"
  ))
  shows(bench(paste0(server$url, "/missing")), 0L, "^statuses +418: [0-9]+$")
  json <- c("-H", "Content-Type: application/json", "--body", "{\"n\":1}")
  posted <- bench(paste0(server$url, "/echo"), "-X", "post", json)
  shows(posted, 0L, "^statuses +200: [0-9]+$")
  shows(bench("https://localhost/"), 2L, NULL, "the URL must be http://HOST:PORT/PATH, not 'https://localhost/'")
  shows(bench(server$url, "-H", "Content-Length: 3"), 2L, NULL, "which drover sets itself")
  send_signal(server$pid, tools::SIGTERM)
  exit_status(server)
  shows(bench(server$url), 3L, NULL, "cannot connect to 127.0.0.1:[0-9]+: Connection refused")
}, ways = 1)
