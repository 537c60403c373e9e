# Failed requests: kept by a server (`keep_failed`), listed by `drover failed` and dr_failed(), and played again by
# `drover replay`, in each way of starting a server.

# An app that fails by chance, after a while, for good, or not at all.
chancy_app <- function(...) {
  write_app(c(
    "check <- function(x) {", "  if (x < 2) stop('drew ', format(x, digits = 15))", "  'fine'", "}", "app <- dr_app()",
    "dr_get(app, '/good', function(req) list(x = stats::runif(1)))",
    "dr_get(app, '/chance', function(req) check(stats::runif(1)))",
    "dr_get(app, '/slow', function(req) { stats::runif(1); repeat Sys.sleep(0.01) }, timeout = 0.5)",
    "dr_get(app, '/quits', function(req) tools::pskill(Sys.getpid(), 9))",
    "dr_post(app, '/orders/<id:int>', function(req) stop(sum(req$json$n), ' of ', req$params$id, ' ', req$query$q))",
    "dr_post(app, '/any', function(req) stop('any'))", ..., "app"
  ))
}

# The id of the request that got this answer.
request_id_of <- function(answer) field(answer, "x-request-id")

json_shown <- function(ran) jsonlite::fromJSON(paste(ran$out, collapse = "\n"), simplifyVector = FALSE)

# Starts `drover serve`, and gives list(server, failed(...), play(...)), whose commands find this one only.
keeping_server <- function(app = chancy_app(), ..., keep_failed = 20) {
  runtime <- runtime_folder()
  server <- launch(command_of(app, ..., keep_failed = keep_failed), env = runtime)
  expect(!is.null(server$url), paste(c("it does not listen", server$log()), collapse = "\n"))
  list(
    server = server, runtime = runtime,
    run = function(...) command(..., env = runtime),
    failed = function(...) json_shown(command("failed", ..., "--json", env = runtime)),
    ids = function() vapply(json_shown(command("failed", "--json", env = runtime)), `[[`, "", "id")
  )
}

# The lines that a session runs, before it serves, to leave what it keeps as marks: a line of JSON about all, and one
# file for each.
telling_lines <- c(
  "tell <- function() {", "  rows <- dr_failed()",
  "  for (id in rows$id) {",
  "    text <- jsonlite::toJSON(unclass(dr_failed(id)), auto_unbox = TRUE, digits = NA, null = 'null')",
  "    write(text, paste0(id, '.json'))", "  }", "  write(rows$id, 'ids')", "  later::later(tell, 0.1)", "}",
  # whole, or as it was
  "write <- function(lines, name) {",
  "  writeLines(lines, marked('new'))", "  file.rename(marked('new'), marked(name))", "}",
  "marked <- function(name) file.path(Sys.getenv('MARKS'), name)", "later::later(tell, 0.1)"
)

keeping_sessions <- list(
  "the session" = function(app) c("serve(", "workers = 1L"),
  "forks of the session" = function(app) c("serve(", "workers = c(1L, 1L)"),
  "spawned workers" = function(app) c("serve(", "workers = c(1L, 1L), pool = dr_pool(start = 'spawn')"),
  "dr_run()" = function(app) c(sprintf("dr_run(%s, port = 0L, ", deparse(app)), "workers = 1L")
)

for (way in names(keeping_sessions)) local({
  way <- way
  how <- keeping_sessions[[way]]
  test(paste0("what a server of R keeps is played again (", way, ")"), function() {
    app <- chancy_app()
    call <- paste0(paste(how(app), collapse = ""), ", keep_failed = 5L)")
    server <- serve_session(c(telling_lines, call), app)
    kept <- function() {
      file <- file.path(server$marks, "ids")
      if (file.exists(file)) readLines(file) else character()
    }
    expect(ask(server, "/good")$status == 200L, "good")
    chance <- ask(server, "/chance")
    expect(chance$status == 500L, chance$body)
    slow <- if (way != "the session") ask(server, "/slow")
    wanted <- c(if (!is.null(slow)) request_id_of(slow), request_id_of(chance))
    file <- file.path(server$marks, paste0(request_id_of(chance), ".json"))
    # the error and the seed may come a little later
    whole <- function() file.exists(file) && grepl("drew", readLines(file)) && grepl("seed", readLines(file))
    expect(within(function() identical(kept(), wanted) && whole()), "kept: ", toString(kept()))
    text <- jsonlite::fromJSON(file)
    drawn <- sub(".*(drew [0-9.e-]+).*", "\\1", text$error)
    again <- command("replay", file, "--with", app)
    shows(again, 1L, "^status: 500$", drawn)
  }, ways = 1)
})

test("drover failed lists what a server keeps, and drover replay draws the same numbers", function() {
  app <- chancy_app()
  kept <- keeping_server(app, workers = 2)
  server <- kept$server
  ask(server, "/good")
  expect(!length(kept$failed()), "a good one is kept")
  shows(kept$run("failed"), 0L, "^no request has failed")
  chance <- ask(server, "/chance")
  drawn <- function() sub(".*(drew [0-9.e-]+).*", "\\1", kept$failed(request_id_of(chance))$error)
  expect(within(function() grepl("^drew", drawn()) && !is.null(kept$failed(request_id_of(chance))$seed)), drawn())
  one <- kept$failed("last")
  expect(one$route == "/chance" && one$status == 500L && one$generation == 1L, one$route)
  expect(any(grepl("check(stats::runif(1))", unlist(one$calls), fixed = TRUE)), toString(one$calls))
  shows(kept$run("failed"), 0L, c("^ +id +when +status", paste0(request_id_of(chance), ".* 500 +GET +/chance +/chance +drew")))
  shows(kept$run("failed", request_id_of(chance)), 0L, c("^request  GET /chance$", "^error +drew", "^seed +known$", "^accept: "))
  shows(kept$run("replay", request_id_of(chance)), 1L, "^status: 500$", c(drawn(), "check[(]stats::runif[(]1[)][)]"))
  # by changed code, with numbers that are the same
  fixed <- write_app("dr_get(dr_app(), '/chance', function(req) format(stats::runif(1), digits = 15))")
  shows(kept$run("replay", "last", "--with", fixed), 0L, c("^status: 200$", paste0("^", sub("drew ", "", drawn()), "$")))
  # an error of the same file says that it is another one by now
  cat("\n", file = app, append = TRUE)
  shows(kept$run("replay", "last"), 1L, NULL, "has changed since the server loaded")
  svg <- tempfile(fileext = ".svg")
  spin <- write_app("dr_get(dr_app(), '/chance', function(req) { for (i in 1:30) sort(stats::runif(1e5)); 'x' })")
  shows(kept$run("replay", "last", "--with", spin, "--profile", svg), 0L, "GET /chance$", "the flame graph is in")
  expect(grepl("<svg", paste(readLines(svg), collapse = "")), "no picture")
  # the server is as it was
  expect(ask(server, "/good")$status == 200L && identical(kept$ids(), request_id_of(chance)), "the server")
}, ways = 1)

test("timeouts and workers that die are kept, and a timeout is played for as long as it had", function() {
  kept <- keeping_server(workers = 2)
  slow <- ask(kept$server, "/slow")
  expect(slow$status == 504L, slow$status)
  # it is sent when the handler has been interrupted
  expect(within(function() !is.null(kept$failed(request_id_of(slow))$seed)), "no seed")
  expect(grepl("took too long", kept$failed(request_id_of(slow))$error), "the error")
  shows(kept$run("replay", request_id_of(slow)), 1L, "^status: 500$", c("reached elapsed time limit", "Sys.sleep[(]0.01[)]"))
  died <- ask(kept$server, "/quits")
  expect(died$status == 502L && identical(kept$ids(), c(request_id_of(died), request_id_of(slow))), toString(kept$ids()))
  expect(is.null(kept$failed(request_id_of(died))$seed), "a seed of a worker that has died")
}, ways = 1)

test("secrets are kept nowhere, and the rest of a request is", function() {
  kept <- keeping_server(workers = 1, keep_failed_redact = c("X-Session", "$.card.number", "$.cards[*].cvc"))
  body <- paste0(
    '{"n":[1,2.50],"password":"hunter2","card":{"number":"hunter2","holder":"Ada"},',
    '"cards":[{"cvc":"hunter2"},{"cvc":"hunter2","x":[{"Token":"hunter2"}]}]}'
  )
  answer <- ask(kept$server, "/orders/7?q=ok&api_key=hunter2", "-H", "Authorization: Bearer hunter2", "-H",
    "Cookie: a=hunter2", "-H", "X-Session: hunter2", "-H", "Content-Type: application/json", "-H", "X-Kept: yes",
    "-H", "Referer: http://a/?token=hunter2", "-d", body)
  expect(answer$status == 500L, answer$status)
  form <- ask(kept$server, "/any", "-d", "user=ada&passwd=hunter2")
  # of bodies in which it cannot be found nothing is kept
  for (hidden in c('{"password": "hunter2"', paste0(strrep("[", 100), '"hunter2"', strrep("]", 100)))) {
    expect(ask(kept$server, "/any", "-H", "Content-Type: application/json", "-d", hidden)$status == 500L, "no 500")
  }
  ask(kept$server, "/any", "-F", "password=hunter2")
  said <- c(kept$run("failed", "--json")$out, unlist(lapply(kept$ids(), function(id) {
    c(kept$run("failed", id, "--json")$out, kept$run("failed", id)$out)
  })))
  expect(length(kept$ids()) == 5L && !any(grepl("hunter2", said)), paste(grep("hunter2", said, value = TRUE), collapse = "\n"))
  one <- kept$failed(request_id_of(answer))
  fields <- stats::setNames(lapply(one$fields, `[[`, 2L), lapply(one$fields, `[[`, 1L))
  expect(fields[["x-kept"]] == "yes" && fields$authorization == "REDACTED", toString(fields))
  expect(one$target == "/orders/7?q=ok&api_key=REDACTED", one$target)
  expect(one$body == paste0(
    '{"n":[1,2.50],"password":"REDACTED","card":{"number":"REDACTED","holder":"Ada"},',
    '"cards":[{"cvc":"REDACTED"},{"cvc":"REDACTED","x":[{"Token":"REDACTED"}]}]}'
  ), one$body)
  expect(kept$failed(request_id_of(form))$body == "user=ada&passwd=REDACTED", "the form")
  # a field may be set again
  echo <- write_app("dr_post(dr_app(), '/orders/<id>', function(req) paste(req$headers$authorization, req$json$n[[2]]))")
  ran <- kept$run("replay", request_id_of(answer), "--with", echo, "--field", "Authorization: Bearer mine")
  shows(ran, 0L, "^Bearer mine 2.5$", "redacted, to be set with --field: cookie and x-session$")
  # what cannot be played says so
  incomplete <- Find(function(line) !line$replayable, kept$failed())
  shows(kept$run("replay", incomplete$id), 1L, NULL, "cannot be played again: its body")
}, ways = 1)

test("a client that was let in is let in again, without its password", function() {
  app <- chancy_app(
    "dr_auth_basic(app, c(ada = dr_password_hash('correct horse')), routes = '/private')",
    "dr_rate_limit(app, 1, window = 3600, routes = '/private')",
    "dr_get(app, '/private', function(req) stop('by ', req$auth$user))"
  )
  kept <- keeping_server(app, workers = 1)
  answer <- ask(kept$server, "/private", "-u", "ada:correct horse")
  expect(answer$status == 500L, answer$status)
  shows(kept$run("replay", "last"), 1L, NULL, "500 by ada")
  expect(ask(kept$server, "/private")$status %in% c(401L, 429L), "the server lets all in")
}, ways = 1)

test("what is kept is bounded in number, size and age", function() {
  few <- keeping_server(workers = 1, keep_failed = 2)
  ids <- vapply(1:3, function(i) request_id_of(ask(few$server, "/chance")), "")
  expect(identical(few$ids(), rev(ids[-1L])), toString(few$ids()))
  small <- keeping_server(workers = 1, keep_failed_size = "40k")
  post <- function(n) request_id_of(ask(small$server, "/any", "-d", strrep("x", n)))
  ids <- vapply(rep(9000, 5), post, "")
  kept <- small$ids()
  expect(length(kept) %in% 1:4 && identical(kept, utils::head(rev(ids), length(kept))), toString(kept))
  long <- post(20000)
  one <- small$failed(long)
  expect(is.null(one$body) && one$body_size == 20000 && grepl("longer than", one$body_missing), toString(one$body_missing))
  shows(small$run("failed", long), 0L, "^[(]a body of 20000 bytes: longer than")
  brief <- keeping_server(workers = 1, keep_failed_age = "1s")
  ask(brief$server, "/chance")
  expect(within(function() !length(brief$failed())), "it stays")
}, ways = 1)

test("without keep_failed nothing is kept, and a wrong setting is named", function() {
  runtime <- runtime_folder()
  server <- launch(command_of(chancy_app(), workers = 1), env = runtime)
  ask(server, "/chance")
  shows(command("failed", env = runtime), 4L, NULL, "keeps no failed requests: start it with --keep-failed 100")
  shows(command("failed", "last", "--json", env = runtime), 4L, NULL, "keeps no failed requests")
  wrong <- run_to_end(command_of(chancy_app(), keep_failed = 5, keep_failed_redact = "$.a[x]"))
  expect(wrong$status == 2L && any(grepl("keep_failed_redact.*must be a name such as", wrong$log)), toString(wrong$log))
  shows(command("replay", "zz"), 2L, NULL, "zz is no id of a request")
  shows(command("replay", chancy_app()), 2L, NULL, "has no request: it must be what drover failed ID --json has written")
  shows(command("replay", "last", "--field", "a b"), 2L, NULL, "must be a header field")
}, ways = 1)

test("what clients send gives the terminal of drover failed no orders", function() {
  app <- chancy_app("dr_get(app, '/say/<what>', function(req) stop(req$params$what))")
  kept <- keeping_server(app, workers = 1)
  ask(kept$server, "/say/%1b%5B2J%0Aforged%3Cb%3E", "-H", "X-Odd: \u009b31m<script>", "-d", "\u001b[2Jhere", "-X",
    "GET")
  expect(within(function() grepl("forged", kept$failed("last")$error)), "the error")
  for (ran in list(kept$run("failed"), kept$run("failed", "last"), kept$run("failed", "last", "--json"),
    kept$run("replay", "last"))) {
    said <- paste(c(ran$out, ran$err), collapse = "\n")
    expect(!grepl("[\u0001-\u0008\u000b-\u001f\u007f-\u009f]", said) && !grepl("\nforged", said), encodeString(said))
  }
  expect(length(kept$run("failed")$out) == 2L, "more than one line")
}, ways = 1)

test("at a terminal, drover replay stops where the error is", function() {
  kept <- keeping_server(workers = 1)
  ask(kept$server, "/chance")
  file <- tempfile(fileext = ".json")
  writeLines(kept$run("failed", "last", "--json")$out, file)
  person <- c(file.path(here, "keyboard.py"), "browser()", "cat('seen', x < 2, '\\n')\nc\n", drover_program(), "replay", file,
    "--with", chancy_app())
  ran <- processx::run("python3", person, error_on_status = FALSE, timeout = 120,
    env = c("current", R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep)))
  for (text in c("in check(stats::runif(1)) at app", "seen TRUE", "status: 500", "terminal as before")) {
    expect(grepl(text, ran$stdout, fixed = TRUE), paste0("no '", text, "' in\n", ran$stdout))
  }
}, ways = 1)
