# Who asks, in every way of starting a server: what is refused before R, and what handlers read. What is said to whom in
# which words, the tests of the engine have (src/rust/crates/engine/tests/auth.rs); forgeries of tokens and cookies byte
# by byte, those of the crate identity.

auth_secrets <- function() {
  folder <- tempfile("secrets-")
  dir.create(folder)
  writeLines(strrep("0123456789abcdef", 4), file.path(folder, "jwt"))
  writeLines(c("# tokens", "ci:token-of-the-ci-0123456789"), file.path(folder, "tokens"))
  writeLines(paste0("ada:", drover::dr_password_hash("correct horse")), file.path(folder, "users"))
  writeLines(strrep("k", 40), file.path(folder, "session"))
  folder
}

auth_app <- function(folder, version = "1", max_failures = 10) {
  file <- function(name) encodeString(file.path(folder, name), quote = "'")
  write_app(c(
    "app <- dr_app()",
    sprintf("dr_get(app, '/version', function(req) '%s')", version),
    "dr_get(app, '/held/:name', function(req) { stand_at(req$params$name); 'let go' })",
    "who <- function(req) {",
    "  file.create(file.path(Sys.getenv('MARKS'), 'ran'))",
    "  c(list(pid = Sys.getpid()), req$auth)",
    "}",
    "for (prefix in c('/basic', '/bearer', '/key', '/jwt', '/free')) dr_get(app, paste0(prefix, '/who'), who)",
    "told <- function(conn) dr_text(conn$request$auth$user, 418L)",
    "dr_ws(app, '/bearer/ws', function(conn, msg) NULL, on_connect = told)",
    sprintf("dr_static(app, '/bearer/files', %s)", encodeString(here, quote = "'")),
    "dr_ws(app, '/basic/ws', function(conn, msg) NULL, on_connect = told)",
    sprintf("dr_auth_basic(app, file = %s, routes = '/basic', max_failures = %s)", file("users"), max_failures),
    sprintf("dr_auth_bearer(app, file = %s, routes = '/bearer')", file("tokens")),
    "partners <- c(partner = 'key-of-the-partner-0123', other = 'key-of-the-other-4567')",
    "dr_auth_key(app, partners, routes = '/key', scopes = list(partner = c('read', 'all')), scope = 'all')",
    "dr_auth_key(app, c(partner = 'key-of-the-partner-0123'), routes = '/free', optional = TRUE)",
    "dr_auth_jwt(app, 'HS256', issuer = 'me', audience = 'app', scope = 'read', routes = '/jwt',",
    sprintf("  file = %s)", file("jwt")),
    sprintf("dr_session(app, file = %s)", file("session")),
    "dr_get(app, '/count', function(req) {",
    "  n <- if (is.null(req$session)) 1 else req$session$n + 1",
    "  dr_session_set(list(n = n, pid = Sys.getpid()), list(n = n, text = '\u00fc\\n\"'))",
    "})",
    "dr_get(app, '/session', function(req) list(session = req$session))",
    "dr_get(app, '/leave', function(req) dr_session_set('bye', NULL))",
    "dr_get(app, '/long', function(req) dr_session_set('x', list(text = strrep('x', 3000))))",
    "other <- dr_app()",
    "dr_get(other, '/set', function(req) dr_session_set('x', list(n = 1)))",
    "outer <- dr_app()",
    "dr_mount(outer, '/app', app)",
    "dr_mount(outer, '/other', other)",
    "outer"
  ))
}

b64url <- function(bytes) {
  text <- paste(readLines(textConnection(jsonlite::base64_enc(bytes))), collapse = "")
  gsub("=", "", chartr("+/", "-_", text), fixed = TRUE)
}

# A token that is signed by HMAC, by openssl.
hs256 <- function(claims, header = "{\"alg\":\"HS256\"}", secret = strrep("0123456789abcdef", 4)) {
  message <- paste(b64url(charToRaw(header)), b64url(charToRaw(claims)), sep = ".")
  input <- tempfile()
  writeBin(charToRaw(message), input)
  output <- tempfile()
  processx::run("openssl", c("dgst", "-sha256", "-hmac", secret, "-binary", "-out", output, input))
  paste(message, b64url(readBin(output, "raw", 100)), sep = ".")
}

bearer <- function(token) c("-H", paste("Authorization: Bearer", token))

# What opens a WebSocket.
upgrade <- c("-H", "Connection: Upgrade", "-H", "Upgrade: websocket", "-H", "Sec-WebSocket-Version: 13", "-H",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")

right_claims <- "{\"iss\":\"me\",\"aud\":\"app\",\"sub\":\"ann\",\"exp\":9999999999,\"scope\":\"read\",\"n\":[1,2]}"

test_every_worker("only those who may get to a handler, which reads who it is", function(start) {
  server <- start(auth_app(auth_secrets()))
  ran <- file.path(server$marks, "ran")
  for (case in list(
    list("basic", c("-u", "ada:correct horse"), c("-u", "ada:correct hors"), "ada"),
    list("basic", c("-u", "ada:correct horse"), c("-u", "bob:correct horse"), "ada"),
    list("bearer", bearer("token-of-the-ci-0123456789"), bearer("token-of-the-ci-012345678"), "ci"),
    list("key", c("-H", "X-Api-Key: key-of-the-partner-0123"), c("-H", "X-Api-Key: x"), "partner"),
    list("jwt", bearer(hs256(right_claims)), bearer(hs256(right_claims, secret = strrep("x", 64))), "ann")
  )) {
    scheme <- case[[1L]]
    path <- paste0("/app/", scheme, "/who")
    for (flags in list(character(), case[[3L]])) {
      unlink(ran)
      refused <- ask(server, path, flags)
      expect(refused$status == "401", scheme, " ", toString(flags), ": ", refused$status)
      expect(!is.na(field(refused, "www-authenticate")), scheme, " is not told how")
      expect(!file.exists(ran), scheme, ": R has heard of it")
    }
    for (i in 1:2) {
      passed <- ask(server, path, case[[2L]])
      said <- json(passed$body)
      expect(passed$status == "200" && said$scheme == scheme && said$user == case[[4L]], scheme, ": ", passed$body)
    }
  }
  expect(identical(json(passed$body)$scopes, "read"), "scopes of a token: ", passed$body)
  passed <- ask(server, "/app/key/who", "-H", "X-Api-Key: key-of-the-partner-0123")
  expect(identical(json(passed$body)$scopes, c("read", "all")), "scopes of a key: ", passed$body)
  unlink(ran)
  refused <- ask(server, "/app/key/who", "-H", "X-Api-Key: key-of-the-other-4567")
  expect(refused$status == "403" && !file.exists(ran), "without the scope: ", refused$status)
  claims <- json(ask(server, "/app/jwt/who", bearer(hs256(right_claims)))$body)$claims
  expect(identical(claims$n, 1:2) && claims$sub == "ann", "claims: ", claims)
  nobody <- ask(server, "/app/free/who")
  expect(nobody$status == "200" && is.null(json(nobody$body)$user), "nobody: ", nobody$body)
  expect(ask(server, "/app/free/who", "-H", "X-Api-Key: x")$status == "401", "a wrong key passes")
  # of two, what stands behind the server could read the other one
  right <- bearer("token-of-the-ci-0123456789")
  for (twice in list(c(right, bearer("x")), c(bearer("x"), right), c(right, right))) {
    expect(ask(server, "/app/bearer/who", twice)$status == "400", "Authorization passes twice")
  }
})

test_every_worker("files and WebSockets are for those who may as well", function(start) {
  server <- start(auth_app(auth_secrets()))
  right <- bearer("token-of-the-ci-0123456789")
  for (case in list(list("/app/bearer/files/run.R", character(), "200"), list("/app/bearer/ws", upgrade, "418"))) {
    expect(ask(server, case[[1L]], case[[2L]])$status == "401", case[[1L]], " is for all")
    answer <- ask(server, case[[1L]], case[[2L]], right)
    expect(answer$status == case[[3L]], case[[1L]], ": ", answer$status)
  }
  expect(ask(server, "/app/bearer/ws", upgrade, right)$body == "ci", "on_connect() does not know who it is")
})

test_every_worker("forged tokens are refused", function(start) {
  server <- start(auth_app(auth_secrets()))
  status <- function(token) ask(server, "/app/jwt/who", bearer(token))$status
  right <- hs256(right_claims)
  parts <- strsplit(right, ".", fixed = TRUE)[[1L]]
  changed <- function(from, to) hs256(sub(from, to, right_claims, fixed = TRUE))
  none <- paste0(b64url(charToRaw("{\"alg\":\"none\"}")), ".", parts[[2L]], ".")
  admin <- b64url(charToRaw(sub("ann", "root", right_claims, fixed = TRUE)))
  for (token in c(
    none, paste0(parts[[1L]], ".", admin, ".", parts[[3L]]), paste0(parts[[1L]], ".", parts[[2L]], "."),
    hs256(right_claims, "{\"alg\":\"HS256\",\"crit\":[\"x\"]}"), changed("9999999999", "1"),
    changed("9999999999", "\"9999999999\""), changed("\"me\"", "\"you\""), changed("\"app\"", "\"other\""),
    changed("\"ann\"", "7"), changed("\"exp\"", "\"exq\"")
  )) {
    expect(status(token) == "401", "taken: ", token)
  }
  expect(status(changed("\"read\"", "\"write\"")) == "403", "a token without the scope: ", status(changed("read", "w")))
  expect(status(right) == "200", "the right one is refused")
})

cookie_of <- function(answer) sub("^(__Host-session=[^;]*);.*", "\\1", field(answer, "set-cookie"))

# A pair of keys by openssl: what signs, and the public half in PEM.
key_pair <- function(..., algorithm) {
  private <- tempfile(fileext = ".pem")
  public <- tempfile(fileext = ".pem")
  processx::run("openssl", c("genpkey", "-algorithm", algorithm, ..., "-out", private))
  processx::run("openssl", c("pkey", "-in", private, "-pubout", "-out", public))
  list(private = private, public = public)
}

# A token that is signed with a private key, by openssl.
signed <- function(pair, header, claims = right_claims, how = c("dgst", "-sha256", "-sign")) {
  message <- paste(b64url(charToRaw(header)), b64url(charToRaw(claims)), sep = ".")
  input <- tempfile()
  writeBin(charToRaw(message), input)
  output <- tempfile()
  processx::run("openssl", c(how, pair$private, "-out", output, if (how[[1L]] == "pkeyutl") "-in", input))
  paste(message, b64url(readBin(output, "raw", 1000)), sep = ".")
}

jwt_app <- function(keys, algorithms) {
  write_app(c(
    "app <- dr_app()",
    "dr_get(app, '/who', function(req) req$auth)",
    sprintf("dr_auth_jwt(app, %s, 'me', 'app', %s)", deparse1(algorithms), keys),
    "app"
  ))
}

test("a public key in a file checks tokens, and is no secret that makes them", function() {
  pair <- key_pair("-pkeyopt", "rsa_keygen_bits:2048", algorithm = "RSA")
  server <- serve(jwt_app(sprintf("file = '%s'", pair$public), c("RS256", "PS256")), workers = 1L)
  status <- function(token) ask(server, "/who", bearer(token))$status
  expect(status(signed(pair, "{\"alg\":\"RS256\"}")) == "200", "a right one is refused")
  # signed with the public key as if it were a secret that both know
  pem <- paste(readLines(pair$public), collapse = "\n")
  for (secret in c(pem, paste0(pem, "\n"))) {
    expect(status(hs256(right_claims, secret = secret)) == "401", "the public key was taken for a secret")
  }
  other <- key_pair("-pkeyopt", "rsa_keygen_bits:2048", algorithm = "RSA")
  expect(status(signed(other, "{\"alg\":\"RS256\"}")) == "401", "another key's token is taken")
  ran <- run_to_end(command_of(jwt_app(sprintf("file = '%s'", pair$private), "RS256")))
  expect(any(grepl("it is a private key", ran$log)), toString(ran$log))
}, ways = 1L)

test("keys at an address are fetched over TLS, before a server listens", function() {
  pair <- key_pair(algorithm = "ed25519")
  der <- tempfile()
  processx::run("openssl", c("pkey", "-pubin", "-in", pair$public, "-outform", "DER", "-out", der))
  x <- b64url(utils::tail(readBin(der, "raw", 1000), 32L))
  set <- sprintf("{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"1\",\"x\":\"%s\"}]}", x)
  provider <- serve_tls(workers = 1L, app = write_app(c(
    "app <- dr_app()", sprintf("dr_get(app, '/keys', function(req) '%s')", set), "app"
  )))
  keys <- function(...) sprintf("jwks = '%s/keys'%s", provider$url, paste0(..., ""))
  trusting <- keys(sprintf(", ca = '%s', refresh = 0.2", pem("ca.pem")))
  token <- signed(pair, "{\"alg\":\"EdDSA\",\"kid\":\"1\"}", how = c("pkeyutl", "-sign", "-rawin", "-inkey"))
  server <- serve(jwt_app(trusting, "EdDSA"), workers = 1L)
  answer <- ask(server, "/who", bearer(token))
  expect(answer$status == "200" && json(answer$body)$user == "ann", "the right one: ", answer$body)
  # by an authority that nobody trusts
  ran <- run_to_end(command_of(jwt_app(keys(), "EdDSA")))
  expect(any(grepl("dr_auth_jwt\\(\\): https://localhost:[0-9]+/keys: .*certificate", ran$log)), toString(ran$log))
  provider$process$kill()
  expect(logged(server, "the keys from before are kept: https://localhost"), "it is not said that they cannot be had")
  expect(ask(server, "/who", bearer(token))$status == "200", "the keys are lost with their server")
  ran <- run_to_end(command_of(jwt_app(trusting, "EdDSA")))
  expect(!identical(ran$status, 0L) && any(grepl("dr_auth_jwt", ran$log)), toString(ran$log))
}, ways = 1L)

test("passwords are looked at in the memory of two, however many come", function() {
  server <- serve(write_app(c(
    "app <- dr_app()",
    "dr_get(app, '/', function(req) 'x')",
    "dr_auth_basic(app, c(ada = dr_password_hash('correct horse')), max_failures = Inf)"
  )), workers = 1L)
  most <- function() memory_field(server$pid, "VmHWM")
  before <- most()
  waiting <- lapply(1:24, function(i) ask_later(server, "/", "-u", paste0("ada:wrong", i)))
  for (answer in waiting) expect(answer()$status == "401", "a wrong one is right")
  # 19 MiB each, and what 24 connections take
  expect(most() - before < (19 * 2 + 12) * 2^20, "it took ", most() - before, " bytes")
}, ways = 1L)

test("apps of httpuv and plumber know who asks", function() {
  server <- serve(write_app(c(
    "rook <- list(call = function(req) {",
    "  list(status = 200L, headers = list(), body = paste(req$REMOTE_USER, req$HTTP_REMOTE_USER, req$auth$scheme))",
    "})",
    "app <- dr_rook(rook)",
    "if (requireNamespace('plumber', quietly = TRUE)) {",
    "  dr_mount(app, '/pr', plumber::pr_get(plumber::pr(), '/who', function(req) req$auth$user))",
    "}",
    "dr_auth_key(app, c(partner = 'key-of-the-partner-0123'), optional = TRUE)"
  )), workers = 1L)
  who <- function(path, ...) ask(server, path, "-H", "Remote-User: root", ...)$body
  key <- c("-H", "X-Api-Key: key-of-the-partner-0123")
  expect(identical(who("/", key), "partner root key"), "httpuv: ", who("/", key))
  expect(identical(who("/"), " root "), "nobody: ", who("/"))
  if (requireNamespace("plumber", quietly = TRUE)) {
    expect(grepl("partner", who("/pr/who", key)), "plumber: ", who("/pr/who", key))
    expect(!grepl("partner|root", who("/pr/who")), "plumber, nobody: ", who("/pr/who"))
  }
}, ways = 1L)

test_every_worker("a session that is used is renewed, by handlers only", function(start) {
  folder <- auth_secrets()
  server <- start(write_app(c(
    "app <- dr_app()",
    "dr_get(app, '/in', function(req) dr_session_set('in', list(user = 'ada')))",
    "dr_get(app, '/who', function(req) c('user', req$session$user))",
    "dr_get(app, '/out', function(req) dr_session_set('out', NULL))",
    sprintf("dr_static(app, '/files', %s)", encodeString(here, quote = "'")),
    sprintf("dr_session(app, file = '%s', name = 's', secure = FALSE, idle = 10)", file.path(folder, "session")),
    "app"
  )))
  cookie <- cookie_of(ask(server, "/in"))
  with_cookie <- function(path) ask(server, path, "-H", paste("Cookie:", cookie))
  # a tenth of the ten seconds
  expect(within(function() !is.na(field(with_cookie("/who"), "set-cookie"))), "it is not renewed")
  answer <- with_cookie("/who")
  told <- field(answer, "set-cookie")
  lasts <- as.numeric(sub(".*Max-Age=([0-9]+);.*", "\\1", told))
  expect(lasts < 43200 && lasts > 40000, "its end moves: ", told)
  expect(is.na(field(with_cookie("/files/run.R"), "set-cookie")), "a file renews it")
  expect(is.na(field(with_cookie("/none"), "set-cookie")), "a refusal renews it")
  expect(startsWith(field(with_cookie("/out"), "set-cookie"), "s=; Max-Age=0"), "it is renewed where it ends")
  cookie <- cookie_of(answer)
  expect(identical(json(with_cookie("/who")$body), c("user", "ada")), "the renewed one is another: ", answer$body)
})

test_every_worker("a session is kept with the client, and nobody can make one", function(start) {
  server <- start(auth_app(auth_secrets()))
  count <- function(cookie) ask(server, "/app/count", "-H", paste("Cookie: other=1;", cookie))
  first <- count("")
  told <- field(first, "set-cookie")
  expect(grepl("; Max-Age=43200; Path=/; Secure; HttpOnly; SameSite=Lax$", told), told)
  cookie <- cookie_of(first)
  for (n in 2:4) {
    answer <- count(cookie)
    expect(json(answer$body)$n == n, "the ", n, ". time: ", answer$body)
    cookie <- cookie_of(answer)
  }
  read <- function(cookie) json(ask(server, "/app/session", "-H", paste("Cookie:", cookie))$body)$session
  expect(identical(read(cookie)$text, "\u00fc\n\""), "text: ", read(cookie)$text)
  value <- sub("^[^=]*=", "", cookie)
  flip <- function(at) {
    substr(value, at, at) <- if (substr(value, at, at) == "A") "B" else "A"
    value
  }
  for (forged in c(flip(1L), flip(20L), flip(40L), substr(value, 1L, 40L), paste0(value, "AAAA"), "", "*", "{\"n\":7}",
    b64url(charToRaw("{\"n\":7}")))) {
    got <- ask(server, "/app/session", "-H", paste0("Cookie: __Host-session=", forged))
    expect(got$status == "200" && length(json(got$body)$session) == 0L, "forged: ", forged, ": ", got$body)
  }
  left <- field(ask(server, "/app/leave", "-H", paste("Cookie:", cookie)), "set-cookie")
  expect(startsWith(left, "__Host-session=; Max-Age=0; "), left)
  expect(ask(server, "/app/long")$status == "500", "a long one is sent")
  expect(logged(server, "`session` must not be longer than 2900 bytes as JSON, not 3011"), "it is not said why")
  expect(ask(server, "/other/set")$status == "500", "a session is set where there is none")
  expect(logged(server, "no dr_session\\(\\) covers this path"), "it is not said why")
})

test("sessions hold in all workers, and outlive a reload and a change of keys", function() {
  folder <- auth_secrets()
  app <- auth_app(folder)
  server <- serve(app, workers = 2L)
  cookie <- cookie_of(ask(server, "/app/count"))
  n <- 1
  # holds a worker that is free
  hold <- function(name) {
    held <- ask_later(server, paste0("/app/held/", name))
    expect(marked(server, name), "it does not begin")
    held
  }
  # lets one go while the other is held: that one counts
  count_after <- function(name, held) {
    open_gate(server, name)
    expect(held()$body == "let go", "another answer")
    answer <- ask(server, "/app/count", "-H", paste("Cookie:", cookie))
    cookie <<- cookie_of(answer)
    n <<- n + 1
    expect(json(answer$body)$n == n, "the ", n, ". time: ", answer$body)
    json(answer$body)$pid
  }
  one <- hold("one")
  two <- hold("two")
  first <- count_after("one", one)
  again <- hold("again")
  expect(count_after("two", two) != first, "only one worker has answered")
  open_gate(server, "again")
  expect(again()$body == "let go", "another answer")
  reload <- function(version) {
    file.copy(auth_app(folder, version), app, overwrite = TRUE)
    send_signal(server$pid, tools::SIGHUP)
    expect(within(function() ask(server, "/app/version")$body == version), "it does not reload")
  }
  read <- function() json(ask(server, "/app/session", "-H", paste("Cookie:", cookie))$body)$session$n
  # a new key before the old one
  writeLines(c(strrep("n", 40), strrep("k", 40)), file.path(folder, "session"))
  reload("2")
  expect(identical(as.numeric(read()), as.numeric(n)), "the session is lost")
  cookie <- cookie_of(ask(server, "/app/count", "-H", paste("Cookie:", cookie)))
  writeLines(strrep("n", 40), file.path(folder, "session"))
  reload("3")
  expect(identical(as.numeric(read()), n + 1), "what the new key has sealed is lost")
  writeLines(strrep("z", 40), file.path(folder, "session"))
  reload("4")
  expect(is.null(read()), "another key opens it")
}, ways = 1:2)

test_every_worker("a cache keeps nothing of somebody known for others", function(start) {
  server <- start(write_app(c(
    "app <- dr_app()",
    "said <- function(req) list(user = req$auth$user, n = stats::runif(1))",
    "dr_get(app, '/who', said)",
    "dr_get(app, '/free/who', said)",
    "dr_get(app, '/set', function(req) dr_session_set('x', list(n = stats::runif(1))))",
    "dr_cache(app, '1h')",
    "dr_auth_key(app, c(one = strrep('1', 16), two = strrep('2', 16)), routes = '/who')",
    "dr_auth_key(app, c(one = strrep('1', 16)), routes = '/free', optional = TRUE)",
    "dr_session(app, strrep('k', 32))",
    "app"
  )))
  key <- function(n) c("-H", paste0("X-Api-Key: ", strrep(n, 16)))
  for (n in c(1, 2, 1, 2)) {
    answer <- ask(server, "/who", key(n))
    expect(json(answer$body)$user == c("one", "two")[[n]], n, " is told of somebody else: ", answer$body)
  }
  expect(ask(server, "/who")$status == "401", "what is kept is for all")
  expect(json(ask(server, "/free/who", key(1))$body)$user == "one", "it is not known who asks")
  # of nobody known it keeps what it can, and gives that to those only
  nobody <- function() ask(server, "/free/who")$body
  expect(identical(nobody(), nobody()), "nothing is kept of nobody: the cache is not on")
  expect(!length(json(nobody())$user), "nobody is told of somebody: ", nobody())
  expect(json(ask(server, "/free/who", key(1))$body)$user == "one", "somebody is told of nobody")
  cookies <- vapply(1:3, function(i) cookie_of(ask(server, "/set")), "")
  expect(!anyNA(cookies) && !anyDuplicated(cookies), "a session is given to several: ", toString(cookies))
})

test("guesses of passwords keep nobody else waiting, and few may wait", function() {
  server <- serve(auth_app(auth_secrets(), max_failures = Inf), workers = 1L, threads = 1L)
  # one client with many connections: each waits for its answer
  guesses <- start_client("curl", c("-sZ", "--parallel-immediate", "--parallel-max", "120", "-u", "ada:guess", "-o",
    "/dev/null", "-w", "%{http_code}\\n", paste0(server$url, "/app/basic/who?[1-120]")), stdout = "|")
  answered <- 0
  while (guesses$is_alive()) {
    answer <- ask(server, "/app/bearer/files/run.R", bearer("token-of-the-ci-0123456789"))
    expect(answer$status == "200", "somebody else got ", answer$status)
    answered <- answered + guesses$is_alive()
  }
  statuses <- table(strsplit(trimws(guesses$read_all_output()), "\n")[[1L]])
  expect(identical(sort(names(statuses)), c("401", "503")), "guesses got ", toString(names(statuses)))
  # two are looked at and 64 wait when the others come
  expect(statuses[["401"]] >= 64, "only ", statuses[["401"]], " were looked at")
  expect(answered > 1, answered, " others were answered before the last guess")
})

test_every_worker("wrong passwords of an address are looked at up to a bound, on whatever path", function(start) {
  server <- start(auth_app(auth_secrets(), max_failures = 2))
  ran <- file.path(server$marks, "ran")
  guess <- function(path, ...) ask(server, paste0("/app/basic/", path), "-u", "ada:guess", ...)
  expect(ask(server, "/app/basic/who", "-u", "ada:correct horse")$status == "200", "the right one is refused")
  unlink(ran)
  expect(guess("ws", upgrade)$status == "401", "a guess opens a WebSocket")
  expect(guess("nothing")$status == "401", "a guess learns of a path")
  for (refused in list(guess("who"), guess("ws", upgrade), guess("nothing", "--http2-prior-knowledge"))) {
    expect(refused$status == "429", "a third guess: ", refused$status)
    expect(field(refused, "retry-after") %in% 1:30, "it is told to come back after ", field(refused, "retry-after"))
  }
  expect(!file.exists(ran), "R has heard of a guess")
  expect(ask(server, "/app/basic/who", "-u", "ada:correct horse")$status == "200", "whoever is known is kept out")
  expect(ask(server, "/app/key/who", "-H", "X-Api-Key: x")$status == "401", "a key is no password")
})

test("what is wrong with secrets is told before a server listens, and an app that was right goes on", function() {
  folder <- auth_secrets()
  app <- auth_app(folder)
  users <- readLines(file.path(folder, "users"))
  writeLines("ada:secret", file.path(folder, "users"))
  ran <- run_to_end(command_of(app))
  expect(!identical(ran$status, 0L), "it serves")
  why <- "dr_auth_basic(): the password of \"ada\": it must be a hash"
  expect(any(grepl(why, ran$log, fixed = TRUE)), toString(ran$log))
  expect(!any(grepl("listening", ran$log)), "it has listened")
  writeLines(users, file.path(folder, "users"))
  server <- serve(app, workers = 1L)
  writeLines("short", file.path(folder, "jwt"))
  send_signal(server$pid, tools::SIGHUP)
  expect(logged(server, "a secret for these algorithms must have at least 32 bytes"), "it is not said why")
  expect(ask(server, "/app/basic/who", "-u", "ada:correct horse")$status == "200", "the app from before is gone")
}, ways = 1L)

test_every_worker("C handlers know who asks, and how", function(start) {
  c_app()
  lines <- c(
    "app <- dr_app()",
    "for (inline in c(TRUE, FALSE)) {",
    "  path <- if (inline) '/inline' else '/pool'",
    "  for (at in paste0(path, c('/key/:id', '/jwt/:id', '/free/:id'))) {",
    "    dr_get_cpp(app, at, 'drover.handlers', 'h_echo', inline = inline)",
    "  }",
    "  dr_auth_key(app, c(partner = 'key-of-the-partner-0123'), routes = paste0(path, '/key'))",
    sprintf("  dr_auth_jwt(app, 'HS256', 'me', 'app', file = %s, routes = paste0(path, '/jwt'))",
      encodeString(file.path(auth_secrets(), "jwt"), quote = "'")),
    "}",
    "app"
  )
  files <- pem("server.pem", "server.key")
  ca <- pem("ca.pem")
  server <- if (identical(start, starts[["drover serve"]])) {
    start(write_app(lines), tls_cert = files[[1L]], tls_key = files[[2L]], tls_client_ca = ca,
      tls_client_auth = "optional")
  } else {
    tls <- bquote(dr_tls(.(files[[1L]]), .(files[[2L]]), client_ca = .(ca), client_auth = "optional"))
    start(write_app(lines), tls = tls)
  }
  server$url <- sub("127.0.0.1", "localhost", server$url, fixed = TRUE)
  for (place in c("/inline", "/pool")) {
    of <- function(path, ...) json(curl_tls(server, paste0(place, path, "/1"), ...)$body)
    seen <- of("/key", "-H", "X-Api-Key: key-of-the-partner-0123")
    expect(identical(seen$auth, list(scheme = "key", user = "partner")), place, ": ", unlist(seen$auth))
    expect(isTRUE(seen$https) && grepl("^TLSv1[.]", seen$tls_protocol), place, ": ", seen$tls_protocol)
    expect(is.null(seen$tls_missing) && is.null(seen$tls_client_subject), place, ": there is a certificate")
    claims <- of("/jwt", bearer(hs256(right_claims)))$auth$claims
    expect(claims$sub == "ann" && identical(claims$n, 1:2), place, ": ", unlist(claims))
    nobody <- of("/free", "--cert", pem("alice.pem"), "--key", pem("alice.key"))
    expect(is.null(nobody$auth), place, ": nobody is ", unlist(nobody$auth))
    expect(identical(nobody$tls_client_subject, "O=Test, CN=alice"), place, ": ", nobody$tls_client_subject)
  }
}, of = c("the session", "drover serve"))

test("a C handler in cleartext knows of no TLS", function() {
  c_app()
  server <- serve(write_app(c("app <- dr_app()", "dr_get_cpp(app, '/echo/:id', 'drover.handlers', 'h_echo')", "app")),
    trusted_proxies = "127.0.0.1", workers = 1L)
  seen <- json(ask(server, "/echo/1")$body)
  expect(isFALSE(seen$https) && is.null(seen$tls_protocol) && is.null(seen$auth), unlist(seen))
  # a proxy that is trusted has the client's TLS
  seen <- json(ask(server, "/echo/1", "-H", "X-Forwarded-Proto: https")$body)
  expect(isTRUE(seen$https) && is.null(seen$tls_protocol), "behind a proxy: ", unlist(seen))
}, ways = 1)

test_every_worker("what is assigned to req$session is kept, whatever the handler returns", function(start) {
  server <- start(write_app(c(
    "api <- dr_app()",
    "dr_get(api, '/count', function(req) {",
    "  req$session$n <- sum(req$session$n, 1)",
    "  req$session$text <- '\u00fc'",
    "  list(n = req$session$n)",
    "})",
    "dr_get(api, '/read', function(req) list(session = req$session))",
    "dr_get(api, '/whole', function(req) { req$session <- list(user = 'ada'); dr_redirect('/count') })",
    "dr_get(api, '/later', function(req) promises::promise(function(resolve, reject) {",
    "  later::later(function() { req$session$later <- TRUE; resolve('x') }, 0.05)",
    "}))",
    "dr_get(api, '/file', function(req) { req$session$file <- 'sent'; dr_file(file) })",
    "file <- tempfile()",
    "writeLines('a file', file)",
    "dr_get(api, '/end', function(req) { req$session <- NULL; 'bye' })",
    "dr_get(api, '/both', function(req) { req$session$n <- 1; dr_session_set('x', list(n = 2)) })",
    "dr_get(api, '/fails', function(req) { req$session$n <- 100; dr_abort(409) })",
    "dr_get(api, '/wrong', function(req) { req$session <- 1; 'x' })",
    "dr_get(api, '/long', function(req) { req$session$x <- strrep('x', 3000); 'x' })",
    "dr_use(api, function(req, nxt) {",
    "  if (!is.null(req$query$seen)) req$session$seen <- req$query$seen",
    "  nxt()",
    "})",
    "app <- dr_app()",
    "dr_session(app, strrep('k', 32), name = 's', secure = FALSE)",
    "dr_get(app, '/plain', function(req) 'x')",
    "dr_mount(app, '/api', api)"
  )))
  cookie <- NULL
  # of a client that keeps its cookies
  visit <- function(path) {
    answer <- ask(server, path, if (!is.null(cookie)) c("-H", paste0("Cookie: ", cookie)))
    set <- field(answer, "set-cookie")
    if (!is.na(set)) cookie <<- if (grepl("Max-Age=0", set)) NULL else sub(";.*", "", set)
    answer
  }
  session <- function() json(visit("/api/read")$body)$session
  for (n in 1:3) expect(identical(json(visit("/api/count")$body)$n, n), "visit ", n)
  expect(identical(session(), list(n = 3L, text = "\u00fc")), "the session is ", session())
  kept <- cookie
  for (path in c("/api/read", "/plain")) {
    expect(is.na(field(visit(path), "set-cookie")), path, " sets a session that it has only read")
  }
  expect(visit("/api/whole")$status == "302" && identical(session(), list(user = "ada")), "the session is ", session())
  visit("/api/later")
  expect(isTRUE(session()$later), "a promise keeps none")
  expect(startsWith(visit("/api/file")$body, "a file") && identical(session()$file, "sent"), "a file keeps none")
  visit("/api/read?seen=here")
  expect(identical(session()$seen, "here") && identical(session()$user, "ada"), "middleware keeps none: ", session())
  visit("/api/both")
  expect(identical(session(), list(n = 2L)), "dr_session_set() does not go first: ", session())
  expect(visit("/api/fails")$status == "409" && identical(session(), list(n = 2L)), "an error keeps ", session())
  for (path in c("/api/wrong", "/api/long")) expect(visit(path)$status == "500", path, " is taken")
  expect(logged(server, "session. must be a named list"), "the log does not say what is wrong")
  visit("/api/end")
  expect(is.null(cookie) && !length(session()), "it is not over: ", session())
  # nothing of it is left for the next client of the same worker
  cookie <- kept
  expect(identical(session()$n, 3L), "the session is another client's: ", session())
})
