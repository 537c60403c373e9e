# Responses that the server keeps: in every way of starting it, for many clients at once, beside handlers that fail, and
# across reloads. What may be kept, the crate `cache` has as a table (src/rust/crates/cache/tests/cases.rs).

cache_app <- function(..., version = "1") {
  write_app(c(
    "app <- dr_app()",
    # each call leaves a file
    "called <- function(name) file.create(tempfile(paste0(name, '-'), Sys.getenv('MARKS')))",
    "dr_get(app, '/now', function(req) { called('now'); sprintf('%s %.6f', Sys.getpid(), Sys.time()) })",
    "dr_post(app, '/now', function(req) 'changed')",
    "dr_delete(app, '/now', function(req) dr_abort(409, 'no'))",
    "dr_get(app, '/slow', function(req) {",
    "  called('slow')",
    "  if (is.null(req$query$gate)) Sys.sleep(0.5) else stand_at(req$query$gate)",
    "  sprintf('%.6f', Sys.time())",
    "})",
    "dr_get(app, '/said', function(req) {",
    "  called('said')",
    "  dr_text(format(Sys.time(), '%OS6'), headers = as.list(unlist(req$query[])))",
    "})",
    "dr_get(app, '/often', function(req) {",
    "  called('often')",
    "  stand_at(req$headers[['x-gate']])",
    "  dr_text('x', headers = list('Cache-Control' = 'no-store'))",
    "})",
    "dr_get(app, '/greet', function(req) {",
    "  dr_text(paste('hello', req$headers[['accept-language']]), headers = list(Vary = 'Accept-Language'))",
    "})",
    "dr_get(app, '/item/:id', function(req) {",
    "  dr_text(format(Sys.time(), '%OS6'), headers = list('Cache-Tag' = paste('items', req$params$id)))",
    "})",
    "dr_post(app, '/purge', function(req) as.character(do.call(dr_cache_purge, as.list(req$query[]))))",
    "dr_get(app, '/fails', function(req) {",
    "  called('fails')",
    "  if (file.exists(file.path(Sys.getenv('MARKS'), 'down'))) stop('down')",
    "  if (file.exists(file.path(Sys.getenv('MARKS'), 'kill'))) tools::pskill(Sys.getpid(), 9)",
    "  'fine'",
    "})",
    "dr_get(app, '/long/:n', function(req) strrep('x', as.integer(req$params$n)))",
    sprintf("dr_get(app, '/version', function(req) '%s')", version),
    ...
  ))
}

calls <- function(server, name) length(list.files(server$marks, paste0("^", name, "-")))
told <- function(answer) field(answer, "cache-status")

# That a response comes from the cache, or not.
expect_told <- function(answer, says, what) {
  expect(answer$status %in% c("200", "304"), what, " has status ", answer$status)
  got <- sub("; ttl=-?[0-9]+", "", told(answer))
  expect(identical(got, paste0("drover; ", says)), what, " is told as ", told(answer))
}

test_every_worker("a response is kept, and given again without R", function(start) {
  server <- start(cache_app("dr_cache(app, '1h', etag = TRUE)"))
  first <- ask(server, "/now")
  expect_told(first, "fwd=miss; stored", "the first one")
  expect(is.na(field(first, "age")), "what was just made has an age")
  again <- ask(server, "/now")
  expect_told(again, "hit", "the second one")
  expect(identical(again$body, first$body), "the second one is another: ", again$body)
  expect(identical(field(again, "age"), "0") || as.integer(field(again, "age")) < 60, "age ", field(again, "age"))
  expect(calls(server, "now") == 1L, calls(server, "now"), " calls")
  # HEAD, conditions, and the other version of HTTP
  head <- ask(server, "/now", "-I")
  expect_told(head, "hit", "HEAD")
  expect(identical(field(head, "content-length"), as.character(nchar(first$body))), "HEAD has another length")
  tag <- field(first, "etag")
  known <- ask(server, "/now", "-H", paste("If-None-Match:", tag))
  expect(known$status == "304" && !nzchar(known$body), "a condition gets ", known$status)
  expect(ask(server, "/now", "-H", "If-None-Match: \"other\"")$status == "200", "another tag gets no 200")
  expect(identical(ask(server, "/now", "--http2-prior-knowledge")$body, first$body), "HTTP/2 gets another one")
  expect(calls(server, "now") == 1L, calls(server, "now"), " calls in the end")
  # what is another request
  for (other in list("/now?a=1", c("/now", "-H", "Host: other"))) {
    answer <- do.call(ask, c(list(server), as.list(other)))
    expect_told(answer, "fwd=miss; stored", paste(other, collapse = " "))
  }
  # HTTP knows no cache for others, nor for a part
  expect(is.na(told(ask(server, "/now", "-H", "Range: bytes=0-1"))), "a part is from the cache")
})

test_every_worker("what belongs to one client is nobody else's", function(start) {
  server <- start(cache_app("dr_cache(app, '1h')"))
  for (private in c("Set-Cookie=a%3D1", "Cache-Control=private", "Cache-Control=no-store", "Vary=*")) {
    for (i in 1:2) {
      answer <- ask(server, paste0("/said?", private))
      expect_told(answer, "fwd=miss", paste(private, i))
    }
  }
  known <- c("-H", "Cookie: session=me")
  for (i in 1:2) expect_told(ask(server, "/said", known), "fwd=bypass", "a request with a cookie")
  expect_told(ask(server, "/said", "-u", "me:x"), "fwd=bypass", "a request with a password")
  expect_told(ask(server, "/said"), "fwd=miss; stored", "a request from nobody")
  expect_told(ask(server, "/said", known), "fwd=bypass", "a request with a cookie for what is kept")
  public <- "/said?Cache-Control=public"
  expect_told(ask(server, public, known), "fwd=miss; stored", "what is public")
  expect_told(ask(server, public), "hit", "what is public, for others")
  expect_told(ask(server, public, known), "hit", "what is public, for one with a cookie")
})

test_every_worker("many who want the same cost one call", function(start) {
  server <- start(cache_app("dr_cache(app, '1h')"), timeout = 600, metrics = TRUE)
  all <- lapply(1:40, function(i) ask_later(server, "/slow?gate=one"))
  # with the one that asks for it
  expect_figure(server, 41, "drover_requests_open")
  open_gate(server, "one")
  answers <- lapply(all, function(answer) answer())
  expect(all(vapply(answers, function(a) a$status, "") == "200"), "not all are answered")
  expect(length(unique(vapply(answers, function(a) a$body, ""))) == 1L, "they differ")
  expect(calls(server, "slow") == 1L, calls(server, "slow"), " calls")
  expect_account(load(server, "/slow?all", connections = 400, requests = 2000))
  expect(calls(server, "slow") == 2L, calls(server, "slow"), " calls for 400 clients")
  # clients that leave are none that others wait for
  gone <- start_client("curl", c("-s", paste0(server$url, "/slow?gate=gone")))
  expect(marked(server, "gone"), "it does not begin")
  others <- lapply(1:3, function(i) ask_later(server, "/slow?gate=gone"))
  expect_figure(server, 5, "drover_requests_open")
  gone$kill()
  expect_figure(server, 4, "drover_requests_open")
  open_gate(server, "gone")
  statuses <- vapply(others, function(answer) answer()$status, "")
  expect(all(statuses == "200"), "those that waited for one that left got ", toString(statuses))
})

test("what turns out not to be kept holds nobody up", function() {
  server <- serve(cache_app("dr_cache(app, '1h')"), workers = 4L, timeout = 600)
  # eight at once, so many of which stand at the gate until it is opened
  wave <- function(gate, stand) {
    before <- calls(server, "often")
    all <- lapply(1:8, function(i) ask_later(server, "/often", "-H", paste("X-Gate:", gate)))
    came <- function() calls(server, "often") - before
    expect(within(function() came() == stand), came(), " stand at ", gate)
    open_gate(server, gate)
    expect(all(vapply(all, function(answer) answer()$status, "") == "200"), "not all are answered")
    expect(came() == 8L, came(), " calls")
  }
  # one that the others wait for
  wave("first", 1L)
  # now it is known: each worker has one
  wave("second", 4L)
})

test("one that waits for another has a time of its own", function() {
  server <- serve(cache_app("dr_get(app, '/hangs', function(req) Sys.sleep(60))", "dr_cache(app, '1h')"),
    workers = 2L, timeout = 1, queue_timeout = 0.5)
  answers <- lapply(lapply(1:5, function(i) ask_later(server, "/hangs")), function(answer) answer())
  statuses <- vapply(answers, function(a) a$status, "")
  expect(all(statuses %in% c("504", "503")), "statuses ", toString(statuses))
})

test_every_worker("a stale response is given while a new one is made", function(start) {
  server <- start(cache_app("dr_cache(app, 1, stale_while_revalidate = 60)"))
  open_gate(server, "made")
  first <- ask(server, "/slow?gate=made")$body
  unlink(file.path(server$marks, c("made", "made.open")))
  let_pass(1.2)
  for (i in 1:2) {
    stale <- ask(server, "/slow?gate=made")
    expect(identical(stale$body, first) && grepl("ttl=-", told(stale)), "it is told as ", told(stale))
    # the next one comes while the new one is made
    expect(marked(server, "made"), "no new one is made")
  }
  open_gate(server, "made")
  renewed <- function() !identical(ask(server, "/slow?gate=made")$body, first)
  expect(within(renewed), "no new one comes")
})

test("a stale response stands in for an error", function() {
  server <- serve(cache_app("dr_cache(app, 1, stale_if_error = 60)"), workers = 2L)
  expect(ask(server, "/fails")$body == "fine", "it fails at once")
  for (how in c("down", "kill")) {
    file.create(file.path(server$marks, how))
    let_pass(1.2)
    before <- calls(server, "fails")
    answer <- ask(server, "/fails")
    expect(calls(server, "fails") > before, how, ": the handler was not asked")
    expect_told(answer, "hit; detail=error", how)
    expect(identical(answer$body, "fine"), how, ": ", answer$body)
    unlink(file.path(server$marks, how))
  }
  expect(within(function() grepl("stored", told(ask(server, "/fails")))), "it is not made again")
})

test_every_worker("what has changed is not kept any more", function(start) {
  server <- start(cache_app("dr_cache(app, '1h')"))
  is_kept <- function(path) {
    identical(ask(server, path)$body, ask(server, path)$body) && grepl("hit", told(ask(server, path)))
  }
  for (path in c("/now", "/item/1", "/item/2?x=1", "/item/20")) expect(is_kept(path), path, " is not kept")
  ask(server, "/now", "-X", "DELETE")
  expect_told(ask(server, "/now"), "hit", "after what has failed")
  ask(server, "/now", "-d", "x")
  expect_told(ask(server, "/now"), "fwd=miss; stored", "after POST")
  expect(is.na(field(ask(server, "/item/1"), "cache-tag")), "clients see tags")
  purged <- function(query) ask(server, paste0("/purge?", query), "-d", "")$body
  expect(purged("path=/item/1") == "1", "by path")
  expect_told(ask(server, "/item/1"), "fwd=miss; stored", "what was purged")
  expect_told(ask(server, "/item/20"), "hit", "what was not")
  expect(purged("tag=2") == "1", "by tag")
  expect_told(ask(server, "/item/2?x=1"), "fwd=miss; stored", "what was purged by tag")
  expect(purged("tag=items") == "3", "by a tag of many")
  expect(is_kept("/item/1") && is_kept("/item/2"), "they are not kept again")
  expect(purged("prefix=/item") == "2", "by prefix")
  expect_told(ask(server, "/item/1"), "fwd=miss; stored", "what was purged by prefix")
  expect_told(ask(server, "/now"), "hit", "what does not begin so")
})

test("what is being made when it changes is given to those that wait, and not kept", function() {
  server <- serve(cache_app("dr_post(app, '/slow', function(req) 'changed')", "dr_cache(app, '1h')"), workers = 2L,
    timeout = 600, metrics = TRUE)
  path <- "/slow?gate=made"
  old <- ask_later(server, path)
  expect(marked(server, "made"), "the handler does not run")
  waits <- ask_later(server, path)
  # with the one that asks for it
  expect_figure(server, 3, "drover_requests_open")
  expect(ask(server, path, "-d", "x")$body == "changed", "it is not changed")
  expect(!is_over(old) && !is_over(waits), "they did not wait")
  open_gate(server, "made")
  expect(old()$status == "200" && waits()$status == "200", "those that waited have no answer")
  expect_told(ask(server, path), "fwd=miss; stored", "the next one")
})

test_every_worker("requests that differ in what a response varies by have one each", function(start) {
  server <- start(cache_app("dr_cache(app, '1h')"))
  for (language in c("de", "fr", "de", "fr")) {
    answer <- ask(server, "/greet", "-H", paste("Accept-Language:", language))
    expect(answer$body == paste("hello", language), "in ", language, ": ", answer$body)
  }
  expect_told(ask(server, "/greet", "-H", "Accept-Language: de"), "hit", "a known language")
  # a client that makes up values gets no more than its share of memory, and answers
  for (i in 1:40) ask(server, "/greet", "-H", paste0("Accept-Language: x", i))
  expect_told(ask(server, "/greet", "-H", "Accept-Language: x40"), "hit", "the last one")
  expect_told(ask(server, "/greet", "-H", "Accept-Language: de"), "fwd=miss; stored", "one of long ago")
})

test("a cache has a limit, and bodies that are too long are not kept", function() {
  server <- serve(cache_app("dr_cache(app, '1h', max_bytes = '2MB')"), workers = 1L)
  expect_told(ask(server, "/long/100000"), "fwd=miss; stored", "a short one")
  expect_told(ask(server, "/long/1200000"), "fwd=miss", "a long one")
  expect(nchar(ask(server, "/long/1200000")$body) == 1200000L, "the long one is cut")
  ask(server, "/long/20000?warm")
  before <- resident(server$pid)
  account <- load(server, "/long/20000?{n}", connections = 4, requests = 2000)
  expect_account(account)
  grown <- resident(server$pid) - before
  expect(grown < 16e6, "it grew by ", grown, " bytes over ", account[["s200"]], " responses of 20 kB")
})

test("a reload empties the cache", function() {
  file <- cache_app("dr_cache(app, '1h')")
  server <- serve(file, workers = 2L)
  expect(ask(server, "/version")$body == "1" && grepl("hit", told(ask(server, "/version"))), "it is not kept")
  file.copy(cache_app("dr_cache(app, '1h')", version = "2"), file, overwrite = TRUE)
  send_signal(server$pid, tools::SIGHUP)
  expect(within(function() identical(ask(server, "/version")$body, "2")), "the old version stays")
}, ways = 1L)

test("clients are obeyed where the app says so, and nowhere else", function() {
  server <- serve(cache_app("dr_cache(app, '1h')", "dr_cache(app, '1h', routes = '/item', obey_clients = TRUE)"))
  fresh <- c("-H", "Cache-Control: no-cache")
  ask(server, "/now")
  expect_told(ask(server, "/now", fresh), "hit", "what is kept for all")
  ask(server, "/item/1")
  expect_told(ask(server, "/item/1", fresh), "fwd=miss; stored", "what clients may have anew")
  only <- c("-H", "Cache-Control: only-if-cached")
  expect_told(ask(server, "/item/1", only), "hit", "what is there")
  expect(ask(server, "/item/2", only)$status == "504", "what is not there is made")
})

test_every_worker("responses of C handlers are kept as those of R are", function(start) {
  file <- tempfile("app-", fileext = ".R")
  writeLines(c(sprintf("app <- source('%s')$value", c_app()), "dr_cache(app, '1h')", "app"), file)
  server <- start(file)
  for (path in c("/c/text", "/c/inline")) {
    first <- ask(server, path)
    expect_told(first, "fwd=miss; stored", path)
    again <- ask(server, path)
    expect_told(again, "hit", path)
    expect(identical(again$body, first$body), path, " differs")
  }
  for (i in 1:2) expect_told(ask(server, "/c/stream"), "fwd=miss", "a stream")
})

test_every_worker("whoever runs the server has responses forgotten, and nobody else", function(start) {
  server <- start(cache_app("dr_cache(app, '1h')"), admin = "127.0.0.1:0")
  admin <- places_of(server)[[2L]]
  purge <- function(query, ...) ask(admin, paste0("/cache/purge", query), "-X", "POST", ...)
  forgets <- function(query, n) {
    answer <- purge(query)
    expect(answer$status == "200" && answer$body == sprintf("{\"forgotten\":%d}", n), query, ": ", answer$status, " ",
      answer$body)
  }
  targets <- c("/item/1", "/item/2", "/item/2?a=1&b=2", "/now")
  fill <- function() for (target in targets) ask(server, target)
  are_kept <- function(kept) {
    for (target in targets) {
      says <- if (target %in% kept) "hit" else "fwd=miss; stored"
      expect_told(ask(server, target), says, target)
    }
  }
  fill()
  forgets("?path=/item/2", 1L)
  are_kept(targets[-2L])
  forgets("?path=%2Fitem%2F2%3Fa=1%26b=2", 1L)
  are_kept(targets[-3L])
  forgets("?prefix=/item/", 3L)
  are_kept("/now")
  forgets("?tag=items", 3L)
  forgets("?tag=items", 0L)
  are_kept("/now")
  # pages of other sites have a browser send this, which says where it comes from
  evil <- list(c("-H", "Sec-Fetch-Site: cross-site"), c("-H", "Origin: http://evil.example"))
  for (flags in evil) {
    answer <- do.call(purge, c(list("?prefix=/"), flags))
    expect(answer$status == "403", "another site: ", answer$status)
  }
  for (wrong in c("", "?all=/", "?path=item", "?path=/item/2&a=1", "?tag=a%20b")) {
    answer <- purge(wrong)
    expect(answer$status == "400" && grepl("one of ?path=, ?prefix= and ?tag=", answer$body, fixed = TRUE), wrong, ": ",
      answer$status, " ", answer$body)
  }
  answer <- ask(admin, "/cache/purge?prefix=/")
  is_refused <- answer$status == "405" && field(answer, "allow") == "POST"
  expect(is_refused, "GET: ", answer$status, " ", field(answer, "allow"))
  # at the addresses of the app the path is the app's own
  expect(ask(server, "/cache/purge?prefix=/", "-X", "POST")$status == "404", "clients of the app can purge")
  are_kept(targets)
})

# An app that keeps whatever it may, and tells what a handler sees of its request.
attacked_app <- function() write_app(c(
  "app <- dr_app()",
  "seen <- function(req) dr_text(paste(req$method, req$scheme, req$host, req$url, req$remote_addr))",
  "dr_get(app, '/seen', seen)",
  "dr_get(app, '/body', function(req) dr_text(rawToChar(req$raw)))",
  "dr_get(app, '/missing', function(req) dr_abort(404))",
  # what is somebody's, at a path and at all below it
  "own <- function(req) dr_text(paste('of', if (is.null(req$cookies[['user']])) 'nobody' else req$cookies[['user']]))",
  "dr_get(app, '/account', own)",
  "dr_get(app, '/account/*rest', own)",
  "dr_get(app, '/free/:name', own)",
  "dr_cache(app, '1h')",
  "app"
))

test_every_worker("a client cannot poison what others get from the cache", function(start) {
  server <- start(attacked_app())
  host <- sub("http://", "", server$url)
  clean <- function(path) paste("GET http", host, path, "127.0.0.1")
  # fields that tell a server behind a proxy of another request than this one: each by a path of its own
  sent <- c("X-Forwarded-Host: evil.example", "X-Forwarded-Proto: https", "X-Forwarded-Scheme: https",
    "X-Forwarded-For: 6.6.6.6", "X-Forwarded-Port: 1", "X-Real-IP: 6.6.6.6", "X-Host: evil.example",
    "Forwarded: for=6.6.6.6;host=evil.example;proto=https", "X-Original-URL: /account", "X-Rewrite-URL: /account",
    "X-HTTP-Method-Override: DELETE", "X-HTTP-Method: DELETE", "X-Method-Override: DELETE")
  for (i in seq_along(sent)) {
    path <- paste0("/seen?n=", i)
    expect_told(ask(server, path, "-H", sent[[i]]), "fwd=miss; stored", sent[[i]])
    answer <- ask(server, path)
    expect_told(answer, "hit", sent[[i]])
    expect(answer$body == clean(path), sent[[i]], " has poisoned it: ", answer$body)
  }
  # another host, scheme or target is another response
  other <- ask(server, "/seen", "-H", "Host: evil.example")$body
  expect(other == "GET http evil.example /seen 127.0.0.1", "no other host: ", other)
  expect(ask(server, "/seen", "--request-target", "http://evil.example/seen")$status %in% c("200", "400"), "no target")
  expect(ask(server, "/seen")$body == clean("/seen"), "a host has poisoned it: ", ask(server, "/seen")$body)
  for (path in c("/seen?a=1;b=2", "/seen?a=1%26b=2", "/seen?a=1&a=2", "/seen?A=1", "/seen?")) {
    expect(ask(server, path)$body == clean(path), path, " is another's: ", ask(server, path)$body)
  }
  # a body that no cache looks at
  ask(server, "/body", "-X", "GET", "-d", "evil")
  expect(ask(server, "/body")$body == "", "the body of another client has poisoned it")
  # what is refused for one client is not refused for others
  long <- paste0("X-Long: ", strrep("x", 70000))
  for (sent in c(long, "X-Meta: a\001b", "Host: a b", "Transfer-Encoding: evil")) {
    path <- paste0("/seen?refused=", nchar(sent))
    refused <- ask(server, path, "-H", sent)$status
    expect(refused %in% c("400", "431", "501"), substr(sent, 1L, 30L), " is not refused: ", refused)
    expect(ask(server, path)$body == clean(path), "an error is kept for ", path)
  }
  expect(is.na(field(ask(server, "/missing"), "age")), "the first 404")
  expect(is.na(field(ask(server, "/missing"), "age")), "a 404 is kept")
})

test_every_worker("a client cannot be led to put what is its own into the cache", function(start) {
  server <- start(attacked_app())
  paths <- c("/account", "/account/style.css", "/account/a/../style.css", "/account%2Fstyle.css", "/account;style.css",
    "/account/%2e%2e/style.css", "/account%23style.css", "/account%3Fstyle.css", "/account%0Astyle.css", "/account.css",
    "/account/style.css?cb=1", "/free/..%2Faccount", "/free/..%2Faccount%3Fx.css", "//account/style.css", "/account/")
  for (path in paths) {
    for (victim in list(c("-H", "Cookie: user=ada"), c("-u", "ada:x", "-H", "Cookie: user=ada"))) {
      got <- do.call(ask, c(list(server, path, "--path-as-is"), victim))
      expect(got$body == "of ada" || got$status %in% c("400", "404"), path, ": ", got$status, " ", got$body)
      attacker <- ask(server, path, "--path-as-is")
      expect(!grepl("ada", attacker$body), path, " gives what is ada's to others")
      # and the other way round: what nobody got is not ada's
      again <- do.call(ask, c(list(server, path, "--path-as-is"), victim))
      expect(identical(again$body, got$body), path, ": then ", again$body)
    }
  }
  kept <- ask(server, "/account/style.css")
  expect_told(kept, "hit", "the cache is not on")
})
