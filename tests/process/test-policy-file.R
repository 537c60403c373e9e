# Policies of the settings file: for apps whose code knows nothing of them, such as a plumber.R. What each of them does,
# the tests of its function have.

# A folder with these files: lines by their names.
app_folder <- function(...) {
  folder <- tempfile("app-")
  dir.create(folder)
  files <- list(...)
  for (name in names(files)) writeLines(files[[name]], file.path(folder, name))
  folder
}

endpoints <- c(
  "#* @get /who", "#* @serializer text", "function(req) paste('user', req$auth$user)",
  "#* @get /n/<n:int>", "function(n) list(n = n)"
)

test("a plumber.R has the policies of drover.toml, in any way to read it", function() {
  if (!requireNamespace("plumber", quietly = TRUE)) skip("there is no plumber")
  folder <- app_folder("plumber.R" = endpoints, users = paste0("ada:", drover::dr_password_hash("correct horse")),
    "drover.toml" = c(
      "[policies.cors]", "origins = ['https://app.example']", "headers = 'X-Token'", "",
      "# beside the app", "[policies.auth_basic]", "file = 'users'", "routes = '/who'", "",
      "[[policies.rate_limit]]", "capacity = 2", "window = '1h'", "routes = '/n'", "key = { header = 'X-Client' }", "",
      "[policies.security_headers]", "frame_options = 'DENY'"
    ))
  for (kind in c("plumber", "annotations")) {
    server <- serve(folder, workers = 1L, kind = kind)
    expect(ask(server, "/who")$status == "401", kind, ": /who is for all")
    who <- ask(server, "/who", "-u", "ada:correct horse")
    expect(who$status == "200" && grepl("user ada", who$body), kind, ": ", who$body)
    expect(identical(field(who, "x-frame-options"), "DENY"), kind, ": ", toString(who$head))
    asked <- c("-H", "Origin: https://app.example", "-H", "Access-Control-Request-Method: GET")
    preflight <- ask(server, "/who", "-X", "OPTIONS", asked)
    expect(preflight$status == "204" && identical(field(preflight, "access-control-allow-headers"), "X-Token"), kind,
      ": ", toString(preflight$head))
    status <- function(client) ask(server, "/n/1", "-H", paste("X-Client:", client))$status
    expect(identical(vapply(c("a", "a", "a", "b"), status, "", USE.NAMES = FALSE), c("200", "200", "429", "200")),
      kind, ": the limit does not hold")
    end_servers()
  }
  described <- command("openapi", file.path(folder, "plumber.R"))
  expect(any(grepl("scheme: \"basic\"", described$out)), "the description has no authentication")
}, ways = 1L)

test("policies of the file go before those of the app, and hold after a reload", function() {
  app <- c("app <- drover::dr_app()", "drover::dr_get(app, '/', function(req) 'hello')",
    "drover::dr_security_headers(app, frame_options = 'SAMEORIGIN')")
  folder <- app_folder("app.R" = app, "drover.toml" = c("[policies.security_headers]", "frame_options = 'DENY'"))
  server <- serve(folder, workers = 2L)
  frames <- function() field(ask(server, "/"), "x-frame-options")
  expect(identical(frames(), "DENY"), "the app's: ", frames())
  send_signal(server$pid, tools::SIGHUP)
  expect(logged(server, "generation 2 serves"), "it does not reload")
  expect(identical(frames(), "DENY"), "after a reload: ", frames())
  # what the file says is not for everybody who lists processes
  shown <- family()$command
  expect(length(shown) > 2L && !any(grepl("DENY", shown)), toString(shown))
}, ways = 1L)

test("what is wrong with a policy is told with its line, before the server listens", function() {
  app <- c("app <- drover::dr_app()", "drover::dr_get(app, '/', function(req) 'hello')")
  for (case in list(
    list(c("port = 0", "", "[policies.corse]"), "drover.toml:3: policies.corse is not a policy: did you mean"),
    list(c("[policies.cors]", "orgins = 'x'"), "drover.toml:1: policies.cors has no orgins: did you mean origins?"),
    list(c("[policies.cors]", "origins = 'x'"), "drover.toml:1: policies.cors: `origins` must be origins such as"),
    list("[policies.cors]", "drover.toml:1: policies.cors: argument \"origins\" is missing"),
    list("[policies]\ncors = true", "drover.toml:2: policies must be tables, such as [policies.cors]; cors is none"),
    list(c("[policies.auth_basic]", "file = 'none'"), "drover.toml:1: policies.auth_basic: `file` must be NULL or")
  )) {
    folder <- app_folder("app.R" = app, "drover.toml" = case[[1L]])
    for (command in list(command_of(folder), c(drover_program(), "check", folder))) {
      ran <- run_to_end(command)
      expect(!identical(ran$status, 0L), "it is served: ", toString(case[[1L]]))
      expect(any(grepl(case[[2L]], ran$log, fixed = TRUE)), case[[2L]], ": ", toString(ran$log))
    }
  }
}, ways = 1L)
