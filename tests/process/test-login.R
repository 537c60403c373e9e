# Logins at an identity provider, in every way of starting a server. What is forged, the tests of the engine have
# (src/rust/crates/engine/tests/login.rs); what a person sees, tests/browser.

client_secret <- strrep("0123456789abcdef", 4)

provider <- function() {
  command <- command_of(file.path(root, "tests/lib/provider.R"), workers = 1L)
  server <- launch(command, c(PROVIDER_SECRET = client_secret))
  expect(!is.null(server$url), "the provider does not listen")
  server
}

login_app <- function(issuer, ...) {
  folder <- tempfile("secrets-")
  dir.create(folder)
  writeLines(client_secret, file.path(folder, "client"))
  write_app(c(
    "app <- dr_app()",
    "dr_get(app, '/who', function(req) c(list(pid = Sys.getpid()), req$auth))",
    "dr_ws(app, '/ws', function(conn, msg) NULL, on_connect = function(conn) dr_text(conn$request$auth$user, 418L))",
    sprintf("dr_auth_oidc(app, '%s', 'app', '%s', name = 'login', secure = FALSE%s)", issuer,
      file.path(folder, "client"), paste0(", ", c(...), recycle0 = TRUE, collapse = "")),
    "outer <- dr_app()",
    "dr_get(outer, '/', function(req) 'for all')",
    "dr_mount(outer, '/app', app)",
    "outer"
  ))
}

# A browser without a window: curl, which keeps cookies in a file and follows where it is led. visit(path, flags...).
browser_of <- function(server) {
  jar <- tempfile("jar-")
  function(path, ...) ask(server, path, "-b", jar, "-c", jar, "-L", "-H", "Accept: text/html", ...)
}

# Fills in the form of the provider, which the browser is led to from this path.
log_in <- function(visit, provider, path, name = "ada", password = "open-sesame", how = "in") {
  form <- visit(path)
  expect(grepl("<title>Provider", form$body, fixed = TRUE), "no form of the provider: ", form$body)
  fields <- regmatches(form$body, gregexpr("name=[a-z_]+ value=\"[^\"]*\"", form$body))[[1L]]
  fields <- sub("^name=([a-z_]+) value=\"([^\"]*)\"$", "\\1=\\2", fields)
  sent <- c(fields, paste0("name=", name), paste0("password=", password), paste0("how=", how))
  jar <- environment(visit)$jar
  # what follows is opened, and not posted to
  ask(provider, "/authorize", "-b", jar, "-c", jar, "-L", "-H", "Accept: text/html",
    unlist(lapply(sent, function(field) c("--data-urlencode", field))))
}

test_every_worker("a user logs in at a provider, and handlers read who it is", function(start) {
  provider <- provider()
  server <- start(login_app(provider$url, "userinfo = TRUE"))
  visit <- browser_of(server)
  expect(visit("/")$body == "for all", "a path that is not covered is")
  entered <- log_in(visit, provider, "/app/who?page=1")
  who <- json(entered$body)
  expect(identical(c(who$scheme, who$user, who$claims$name), c("oidc", "ada", "User ada")), "who: ", entered$body)
  expect(identical(who$claims$groups, c("staff", "ada")), "userinfo: ", entered$body)
  for (i in 1:4) expect(json(visit("/app/who")$body)$user == "ada", "the login is not kept")
  upgrade <- c("-H", "Connection: Upgrade", "-H", "Upgrade: websocket", "-H", "Sec-WebSocket-Version: 13", "-H",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
  expect(visit("/app/ws", upgrade)$body == "ada", "a WebSocket does not know who it is")
  expect(ask(server, "/app/ws", upgrade)$status == "401", "a WebSocket is for all")
  expect(ask(server, "/app/who")$status == "401", "a script without a login gets an answer")
  # another browser is another user
  other <- browser_of(server)
  expect(json(log_in(other, provider, "/app/who", "bob")$body)$user == "bob", "bob is not let in")
  expect(json(visit("/app/who")$body)$user == "ada", "two browsers share a login")
  # step by step: curl reads its file of cookies again wherever it is led
  jar <- environment(visit)$jar
  out <- field(ask(server, "/app/login/logout", "-b", jar, "-c", jar), "location")
  expect(startsWith(out, paste0(provider$url, "/out?")), "logged out: ", out)
  back <- ask(provider, substring(out, nchar(provider$url) + 1L))
  expect(grepl(paste0("<a href=\"", server$url, "/app/\">"), back$body, fixed = TRUE), "back: ", back$body)
  expect(grepl("<title>Provider", visit("/app/who")$body, fixed = TRUE), "the login is there after the logout")
  expect(json(other("/app/who")$body)$user == "bob", "a logout is for others as well")
})

test("a login leads back below the base path", function() {
  provider <- provider()
  server <- serve(login_app(provider$url), workers = 1L, base_path = "/hub")
  visit <- browser_of(server)
  entered <- log_in(visit, provider, "/app/who?page=1")
  expect(json(entered$body)$user == "ada", "who: ", entered$body)
  jar <- readLines(environment(visit)$jar)
  expect(any(grepl("\t/hub\t.*\tlogin\t", jar)), "cookies: ", toString(jar))
  back <- field(ask(server, "/app/login?to=/app/who", "-H", "Accept: text/html"), "location")
  expect(grepl("%2Fhub%2Fapp%2Flogin%2Fcallback", back, ignore.case = TRUE), "the provider is told another way back: ", back)
})

test("a login outlives its worker and a reload, and needs no provider then", function() {
  provider <- provider()
  server <- serve(login_app(provider$url))
  visit <- browser_of(server)
  first <- json(log_in(visit, provider, "/app/who")$body)
  expect(first$user == "ada", "nobody is let in")
  provider$process$kill()
  tools::pskill(first$pid, tools::SIGKILL)
  expect(within(function() json(visit("/app/who")$body)$pid != first$pid), "no other worker answers")
  send_signal(server$pid, tools::SIGHUP)
  expect(logged(server, "generation 2 serves"), "it does not reload")
  expect(json(visit("/app/who")$body)$user == "ada", "a reload ends logins")
}, ways = 1L)

test("whoever is refused, or comes from elsewhere, is not let in", function() {
  provider <- provider()
  server <- serve(login_app(provider$url), workers = 1L)
  visit <- browser_of(server)
  for (how in list(list("ada", "wrong", "in"), list("ada", "open-sesame", "not"))) {
    refused <- log_in(visit, provider, "/app/who", how[[1L]], how[[2L]], how[[3L]])
    expect(refused$status == "403" && grepl("refused or cancelled", refused$body), toString(how), ": ", refused$body)
  }
  expect(logged(server, "the identity provider says \"access_denied\""), "the log does not say why")
  forged <- visit("/app/login/callback?code=x&state=x")
  expect(forged$status == "400" && grepl("begun elsewhere", forged$body), "forged: ", forged$body)
  expect(grepl("<title>Provider", visit("/app/who")$body, fixed = TRUE), "somebody is logged in")
})

test("a provider that cannot be used is told before the server listens", function() {
  provider <- provider()
  for (case in list(
    list(login_app(paste0(provider$url, "/realm")), "dr_auth_oidc\\(\\): http.*/realm/.well-known/openid"),
    list(login_app(provider$url, "userinfo = 7"), "`userinfo` must be"),
    list(login_app(provider$url, "algorithms = 'ES256'"), "none of its 1 keys is for these algorithms")
  )) {
    ran <- run_to_end(command_of(case[[1L]]))
    expect(!identical(ran$status, 0L) && any(grepl(case[[2L]], ran$log)), case[[2L]], ": ", toString(ran$log))
  }
}, ways = 1L)
