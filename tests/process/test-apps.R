# Several apps in one server, and apps that are loaded when they are asked for.

# A folder with a settings file that has `lines`, and apps: a name each, with the lines of its app.R.
folder_of_apps <- function(lines, ...) {
  folder <- tempfile("apps-")
  dir.create(folder)
  if (length(lines)) writeLines(lines, file.path(folder, "drover.toml"))
  apps <- list(...)
  for (name in names(apps)) {
    dir.create(file.path(folder, name))
    write_app(apps[[name]], file.path(folder, name, "app.R"))
  }
  folder
}

# An app whose route says its name; each load leaves a line of the kind `loads`, each end one of the kind `ends`.
app_called <- function(name, ...) {
  c(
    sprintf("note('loads', '%s')", name), "app <- dr_app()", sprintf("dr_get(app, '/', function(req) '%s')", name),
    "dr_get(app, '/pid', function(req) as.character(Sys.getpid()))",
    "dr_get(app, '/count', function(req) as.character(dr_state('n')$add('k', 1)))",
    "dr_post(app, '/echo', function(req) req$body)", "dr_get(app, '/held/<name>', function(req) { stand_at(req$params$name); 'open' })",
    sprintf("dr_on_stop(app, function() note('ends', '%s'))", name), ..., "app"
  )
}

noted_of <- function(server, kind, name) {
  file <- file.path(server$marks, kind)
  sum(if (file.exists(file)) readLines(file) == name)
}

serve_folder <- function(folder, ..., env = NULL) {
  server <- launch(command_of(folder, ...), env = env)
  expect(!is.null(server$url), paste(server$log(), collapse = "\n"))
  server
}

says <- function(server, path, body, ..., status = "200") {
  answer <- ask(server, path, ...)
  expect(answer$status == status && grepl(body, answer$body), path, ": ", answer$status, " ", answer$body)
}

test("each of several apps has its own path or host, library, variables, state, settings and policies", function() {
  library <- tempfile("library-")
  dir.create(library)
  about <- function(name) {
    app_called(name,
      "dr_get(app, '/about', function(req) paste(Sys.getenv('COLOUR'), basename(getwd()), commandArgs(TRUE)[1], basename(.libPaths()[2])))",
      "dr_get(app, '/where', function(req) req$base_path)")
  }
  folder <- folder_of_apps(c(
    "workers = 1", "threads = 2", "timeout = 600", "[limits]", "max_body = \"1MB\"", "[apps.shop]", "env = { COLOUR = \"red\" }", "args = [\"one\"]",
    sprintf("library = \"%s\"", library), "[apps.shop.limits]", "max_body = 10", "[apps.shop.policies.cors]", "origins = [\"https://a.example\"]",
    "[apps.inner]", "path = \"/shop/inner\"", sprintf("env = { R_LIBS = \"%s\" }", library), "[apps.hosted]", "host = \"hosted.example\""
  ), shop = about("shop"), inner = about("inner"), hosted = about("hosted"))
  server <- serve_folder(folder)
  says(server, "/shop/", "^shop$")
  says(server, "/shop/inner/", "^inner$")
  says(server, "/%73hop/inner/", "^inner$")
  says(server, "/", "^hosted$", "-H", "Host: hosted.example:80")
  says(server, "/shop/", "404", "-H", "Host: hosted.example", status = "404")
  says(server, "/", "404", status = "404")
  says(server, "/shopping/", "404", status = "404")
  says(server, "/shop/about", paste("^red shop one", basename(library)))
  says(server, "/shop/inner/about", paste("^ inner NA", basename(library)))
  says(server, "/shop/inner/where", "^/shop/inner$")
  expect(ask(server, "/shop")$status == "307", "no way to the path with a slash")
  for (n in 1:2) says(server, "/shop/count", paste0("^", n, "$"))
  says(server, "/shop/inner/count", "^1$")
  body <- strrep("a", 20)
  says(server, "/shop/echo", "", "-H", "Content-Type: text/plain", "-d", body, status = "413")
  says(server, "/shop/inner/echo", body, "-H", "Content-Type: text/plain", "-d", body)
  allowed <- function(path) any(grepl("^access-control-allow-origin", ask(server, path, "-H", "Origin: https://a.example")$head, ignore.case = TRUE))
  expect(allowed("/shop/") && !allowed("/shop/inner/"), "the policy of one app")
}, ways = 1)

test("an app is loaded when it is asked for, once for all who ask, and is not there when it is not needed", function() {
  folder <- folder_of_apps(
    c("check_unused = 0.1", "max_age = 0.3", "timeout = 600", "workers = \"0-2\"", "[apps.shop]", "[apps.other]"),
    shop = c("stand_at('loading')", app_called("shop", "dr_static(app, '/files', '.')")), other = app_called("other")
  )
  server <- serve_folder(folder)
  expect(noted_of(server, "loads", "shop") == 0L && !length(zygotes(server)), "it is loaded before anybody asks")
  asked <- lapply(1:5, function(n) ask_later(server, "/shop/"))
  echo <- ask_later(server, "/shop/echo", "-H", "Content-Type: text/plain", "-d", "what was sent")
  expect(marked(server, "loading"), "it is not loaded")
  expect(!any(vapply(asked, is_over, NA)), "somebody was answered")
  open_gate(server, "loading")
  for (one in asked) expect(one()$body == "shop", "not answered")
  expect(echo()$body == "what was sent", "not answered with what was sent")
  expect(noted_of(server, "loads", "shop") == 1L, "it was loaded more than once")
  says(server, "/shop/count", "^1$")
  expect(within(function() !length(zygotes(server))), "it does not rest")
  expect(noted_of(server, "ends", "shop") == 1L, "its stop hooks have not run")
  says(server, "/shop/files/app.R", "stand_at")
  expect(!length(zygotes(server)) && noted_of(server, "loads", "shop") == 1L, "a file has woken it")
  says(server, "/shop/none", "404", status = "404")
  says(server, "/shop/count", "^2$")
  expect(noted_of(server, "loads", "shop") == 2L, "it was not loaded again")
  # one that is used does not rest
  held <- ask_later(server, "/shop/held/on")
  expect(marked(server, "on"), "it does not begin")
  says(server, "/other/", "^other$")
  expect(within(function() noted_of(server, "ends", "other") == 1L), "another does not rest")
  expect(length(zygotes(server)) == 1L && !is_over(held), "it rests while it is used")
  open_gate(server, "on")
  expect(held()$body == "open", "it was interrupted")
}, ways = 1)

test("an app that cannot be loaded is a 503 of its own, and is served when it is mended", function() {
  wrong <- "stop('no database')"
  folder <- folder_of_apps(c("workers = 1", "health = true", "[apps.shop]", "[apps.bad]", "[apps.later]", "workers = \"0-1\""),
    shop = app_called("shop"), bad = wrong, later = wrong)
  runtime <- runtime_folder()
  server <- serve_folder(folder, env = runtime)
  for (app in c("bad", "later")) {
    answer <- ask(server, paste0("/", app, "/"))
    expect(answer$status == "503" && grepl("could not be started", answer$body) && !grepl("database", answer$body), answer$body)
    expect(any(grepl("^retry-after: [0-9]+", answer$head, ignore.case = TRUE)), "no Retry-After")
    expect(logged(server, sprintf("ERROR \\[%s\\] .*line [0-9]+: no database", app)), "the log does not say why")
  }
  says(server, "/shop/", "^shop$")
  says(server, "/readyz", "ok")
  says(server, "/bad/readyz", "could not be started", status = "503")
  shows(command("status", env = runtime), 1L, c("^bad: .*/bad: ", ", failed$"), "bad does not serve yet")
  shows(command("reload", "bad", env = runtime), 1L, NULL, "bad: .*cannot be loaded: .*no database")
  for (app in c("bad", "later")) write_app(app_called(app), file.path(folder, app, "app.R"))
  # without being asked: a balancer may ask whether it is ready, and nothing else
  expect(within(function() ask(server, "/bad/readyz")$status == "200"), "it is not tried again")
  shows(command("reload", "bad", env = runtime), 0L, "^reloaded: .*bad: ")
  for (app in c("bad", "later")) {
    expect(within(function() ask(server, paste0("/", app, "/"))$body == app), app, " is not served")
  }
}, ways = 1)

test("what is killed of one app is no concern of the others", function() {
  folder <- folder_of_apps(c("timeout = 600", "[apps.one]", "workers = 2", "[apps.two]", "workers = 2"), one = app_called("one"), two = app_called("two"))
  server <- serve_folder(folder)
  says(server, "/one/", "^one$")
  load <- start_load(server, "/two/", connections = 4)
  for (round in 1:5) {
    pid <- as.integer(ask(server, "/one/pid")$body)
    send_signal(pid, tools::SIGKILL)
    zygote <- process_stat(pid)$parent
    expect(within(function() ask(server, "/one/")$status == "200"), "it does not come back")
  }
  expect_account(end_load(load))
}, ways = 1)

test("commands find an app by its name, and signals reach all", function() {
  folder <- folder_of_apps(c("[apps.shop]", "workers = 1", "[apps.blog]", "workers = \"1-2\"", "[apps.rare]", "workers = \"0-1\""),
    shop = app_called("shop"), blog = app_called("blog"), rare = app_called("rare"))
  runtime <- runtime_folder()
  server <- serve_folder(folder, env = runtime)
  for (app in c("shop", "blog")) says(server, sprintf("/%s/", app), app)
  shows(command("status", env = runtime), 0L, c("^shop: http.*/shop: ", "^blog: ", "^rare: ", "asleep: it is loaded when it is asked for$"))
  json <- jsonlite::fromJSON(paste(command("status", "--json", env = runtime)$out, collapse = ""), simplifyVector = FALSE)
  expect(identical(vapply(json, `[[`, "", "name"), c("shop", "blog", "rare")) && identical(json[[3]]$app, "asleep"), "the JSON")
  shows(command("reload", "shop", env = runtime), 0L, "^reloaded: generation 2 of shop: ")
  expect(noted_of(server, "loads", "shop") == 2L && noted_of(server, "loads", "blog") == 1L, "another was loaded")
  shows(command("scale", "2", "blog", env = runtime), 0L, "^scaled blog: .*: 2 workers instead of 1 to 2 workers$")
  wait_for_workers(server, 3)
  shows(command("scale", "2", env = runtime), 2L, NULL, c("the server has 3 apps: say which by its name", " rare: "))
  shows(command("jobs", "shop", env = runtime), 0L)
  shows(command("stop", "shop", env = runtime), 2L, NULL, "shop is one of several apps, which end together")
  shows(command("reload", "shpo", env = runtime), 4L, NULL, "no server runs on port, with process id, or for the file or app shpo")
  send_signal(server$pid, tools::SIGHUP)
  expect(within(function() noted_of(server, "loads", "shop") == 3L && noted_of(server, "loads", "blog") == 2L), "not reloaded")
  shows(command("reload", env = runtime), 0L, c("of shop: ", "of blog: ", "^rare: .* is asleep"))
  expect(noted_of(server, "loads", "rare") == 0L, "what is asleep was loaded")
  held <- ask_later(server, "/shop/held/end")
  expect(marked(server, "end"), "it does not begin")
  shows(command("stop", "--wait", "0", as.character(server$pid), env = runtime), 1L)
  open_gate(server, "end")
  expect(held()$body == "open", "a request was lost at the end")
  expect(identical(exit_status(server), 0L), "another status")
  expect(noted_of(server, "ends", "shop") == 1L && noted_of(server, "ends", "blog") == 1L, "stop hooks")
}, ways = 1)

test("whoever waits for an app when the server ends is told so", function() {
  folder <- folder_of_apps(c("[apps.shop]", "workers = \"0-1\""), shop = c("stand_at('loading')", app_called("shop")))
  server <- serve_folder(folder)
  asked <- ask_later(server, "/shop/")
  expect(marked(server, "loading"), "it is not loaded")
  send_signal(server$pid, tools::SIGTERM)
  expect(asked()$status == "503", "not told")
  expect(identical(exit_status(server), 0L), "another status")
}, ways = 1)

test("a folder whose folders are apps has several; what is wrong is told before anything is started", function() {
  folder <- folder_of_apps(NULL, shop = app_called("shop"), blog = app_called("blog"))
  server <- serve_folder(folder, workers = 1)
  says(server, "/shop/", "^shop$")
  says(server, "/blog/", "^blog$")
  wrong <- function(lines, error, status = 2L, ...) {
    folder <- folder_of_apps(lines, shop = app_called("shop"))
    ended <- run_to_end(c(drover_program(), "serve", folder, "--port", "0", ...))
    expect(identical(ended$status, status) && any(grepl(error, ended$log)), paste(c(ended$status, ended$log), collapse = "\n"))
  }
  wrong(c("[apps.shop]", "port = 1"), "drover.toml:2: port is one setting for all apps")
  wrong(c("[apps.shop]", "path = \"/a b\""), "drover.toml:1: path: must be a path such as /app")
  wrong(c("[apps.shop]", "workers = \"0-0\""), "drover.toml:2: workers must be a whole number >= 1")
  wrong(c("[apps.shop]", "library = \"none\""), "the library of shop is no folder: ")
  wrong(c("[apps.shop]", "[apps.none]"), "the app none: cannot read .*none: No such file", 4L)
  wrong(c("jobs_store = \"jobs.sqlite\"", "[apps.shop]", "[apps.blog]", "file = \"shop\""), "drover.toml:1: .*jobs_store.*is that of two apps|jobs_store: .* is that of two apps")
  checked <- folder_of_apps(c("[apps.shop]", "env = { COLOUR = \"red\" }", "[apps.bad]"),
    shop = c("stopifnot(Sys.getenv('COLOUR') == 'red')", app_called("shop")), bad = "stop('no database')")
  shows(command("check", checked), 1L, c("^shop:$", "^bad:$"), "bad.*no database")
  config <- file.path(folder_of_apps("[apps.shop]", shop = app_called("shop")), "drover.toml")
  shows(command("dev", dirname(config)), 2L, NULL, "this command is for one app, and there are several, such as shop")
  shows(command("serve", file.path(dirname(config), "shop", "app.R"), "--config", config), 2L, NULL, "the settings file has several apps")
  empty <- tempfile(fileext = ".toml")
  writeLines("port = 0", empty)
  shows(command("serve", "--config", empty), 2L, NULL, "FILE is missing, and the settings file has no apps")
  server <- launch(c(drover_program(), "serve", "--config", config, "--port", "0"))
  says(server, "/shop/", "^shop$")
}, ways = 1)

test("a single app may need no worker, too; one with timers keeps one", function() {
  app <- write_app(app_called("one"))
  server <- launch(command_of(app, workers = "0-2", max_age = 0.3, check_unused = 0.1, health = TRUE))
  expect(!length(zygotes(server)) && ask(server, "/readyz")$status == "200", "it is loaded, or not ready")
  expect(any(grepl("loaded when it is asked for", server$log())), paste(server$log(), collapse = "\n"))
  says(server, "/", "^one$")
  expect(within(function() !length(zygotes(server))), "it does not rest")
  says(server, "/", "^one$")
  folder <- folder_of_apps(
    c("check_unused = 0.1", "max_age = 0.3", "workers = \"0-2\"", "[apps.timer]", "[apps.other]"),
    timer = app_called("timer", "later::later(function() NULL, 3600)"), other = app_called("other")
  )
  server <- serve_folder(folder)
  for (name in c("timer", "other")) says(server, paste0("/", name, "/"), name)
  expect(logged(server, "jobs or timers: one worker stays"), "it is not said")
  expect(within(function() noted_of(server, "ends", "other") == 1L), "another does not rest")
  expect(length(workers(server)) == 1L && noted_of(server, "loads", "timer") == 1L, "it does not stay")
  session <- launch(session_of_run(app))
  expect(!is.null(session$url) && !length(zygotes(session)), paste(session$log(), collapse = "\n"))
  says(session, "/", "^one$")
}, ways = 1)

# dr_run() of an app that needs no worker at first.
session_of_run <- function(app) {
  file <- tempfile("session-", fileext = ".R")
  writeLines(c("library(drover)", sprintf("dr_run(%s, port = 0L, workers = c(0L, 2L), block = TRUE)", deparse(app))), file)
  c(file.path(R.home("bin"), "Rscript"), "--vanilla", file)
}

test("workers that load the app by themselves rest, too, and the last one runs its stop hooks", function() {
  folder <- folder_of_apps(
    c("start = \"spawn\"", "max_age = 0.3", "check_unused = 0.1", "[apps.one]", "workers = \"0-2\""), one = app_called("one")
  )
  server <- serve_folder(folder)
  for (round in 1:2) {
    says(server, "/one/", "^one$")
    expect(within(function() !length(zygotes(server))), "it does not rest")
    expect(noted_of(server, "ends", "one") == round, "its stop hooks ran ", noted_of(server, "ends", "one"), " times")
  }
}, ways = 1)

test("metrics of several apps count all, by paths that clients know", function() {
  folder <- folder_of_apps(c("metrics = true", "workers = 1", "[apps.shop]", "[apps.blog]"), shop = app_called("shop"), blog = app_called("blog"))
  server <- serve_folder(folder)
  for (app in c("shop", "shop", "blog")) says(server, sprintf("/%s/pid", app), "^[0-9]+$")
  lines <- strsplit(ask(server, "/metrics")$body, "\n", fixed = TRUE)[[1L]]
  counted <- function(route) grep(sprintf("^drover_requests_total\\{.*route=\"%s\"", route), lines, value = TRUE)
  expect(grepl(" 2$", counted("/shop/pid")) && grepl(" 1$", counted("/blog/pid")), paste(grep("requests_total", lines, value = TRUE), collapse = "\n"))
  expect(sum(grepl("^drover_worker_requests_total\\{|^drover_workers\\{", lines)) >= 2L, paste(grep("worker", lines, value = TRUE), collapse = "\n"))
}, ways = 1)

test("an app of Shiny is woken by its page, and rests when its visitor has gone", function() {
  needs_shiny()
  folder <- folder_of_apps(c("max_age = 0.5", "check_unused = 0.1", "workers = \"0-2\"", "[apps.shiny]", "[apps.other]"), other = app_called("other"))
  dir.create(file.path(folder, "shiny"))
  file.copy(shiny_file, file.path(folder, "shiny", "app.R"))
  server <- serve_folder(folder)
  expect(ask(server, "/shiny/")$status == "200", "no page")
  says(server, "/other/", "^other$")
  page <- visit(list(port = server$port, url = paste0(server$url, "/shiny"), marks = server$marks), "Ada", path = "/shiny/websocket/")
  expect(within(function() noted_of(server, "ends", "other") == 1L), "another does not rest")
  expect(length(zygotes(server)) == 1L, "it rests beside its visitor")
  greets(page, "Ada")
  close(page$con)
  expect(within(function() !length(zygotes(server))), "it does not rest")
}, ways = 1)
