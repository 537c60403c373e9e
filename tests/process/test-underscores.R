# Header fields with `_` in their names, which programs that name fields as CGI does take for those with `-`: what
# handlers get of them, by what stands before the server and by the setting.

named_app <- function() write_app(c(
  "app <- dr_app()",
  "dr_get(app, '/own', function(req) paste(req$headers[['api_key']], req$headers[['api-key']], sep = '/'))",
  "dr_mount(app, '/rook', list(call = function(env) {",
  "  list(status = 200L, headers = list(), body = paste0('key=', env$HTTP_API_KEY))",
  "}))",
  "app"
))

# "key=VALUE" as an app for Rook has it, or the status of a refusal, in both versions of HTTP: they must be the same.
seen_of <- function(server, ...) {
  fields <- unlist(lapply(c(...), function(field) c("-H", field)))
  seen <- lapply(c("--http1.1", "--http2-prior-knowledge"), function(version) {
    answer <- ask(server, "/rook", version, fields)
    if (answer$status == "200") answer$body else answer$status
  })
  expect(identical(seen[[1L]], seen[[2L]]), "HTTP/2 has ", seen[[2L]], ", not ", seen[[1L]])
  seen[[1L]]
}

expect_seen <- function(server, expected, ...) {
  seen <- seen_of(server, ...)
  expect(seen == expected, toString(c(...)), ": ", seen, ", not ", expected)
}

test_every_worker("fields such as api_key reach handlers where no proxy stands before the server", function(start) {
  server <- start(named_app())
  expect(ask(server, "/own", "-H", "api_key: 1")$body == "1/", "a handler does not get it")
  expect_seen(server, "key=1", "api_key: 1")
  # a field of the same name with `-` is never shadowed, in whichever order they come
  expect_seen(server, "key=dash", "api-key: dash", "api_key: spoofed")
  expect_seen(server, "key=dash", "api_key: spoofed", "api-key: dash")
  expect_seen(server, "key=dash", "API_KEY: spoofed", "Api-Key: dash")
  expect(logged(server, "header fields dropped: api_key: the same name with `-`"), "the log does not say so")
  # a proxy that nobody has named: it may have taken the field out
  expect_seen(server, "key=", "api_key: spoofed", "X-Forwarded-For: 10.0.0.1")
  expect(logged(server, "dropped: api_key: `underscores_in_headers` is drop for what comes through a proxy"),
    "the log does not name the setting")
}, of = c("the session", "drover serve"))

test("behind a proxy that is trusted they are dropped, and as the setting says otherwise", function() {
  proxied <- serve(named_app(), workers = 1, trusted_proxies = "10.0.0.0/8")
  expect_seen(proxied, "key=", "api_key: spoofed")
  # the setting goes before what stands before the server
  allowed <- serve(named_app(), workers = 1, trusted_proxies = "10.0.0.0/8", underscores_in_headers = "allow")
  expect_seen(allowed, "key=1", "api_key: 1", "Via: 1.1 proxy")
  expect_seen(allowed, "key=dash", "api_key: spoofed", "api-key: dash")
  dropped <- serve(named_app(), workers = 1, underscores_in_headers = "drop")
  expect_seen(dropped, "key=", "api_key: 1")
  expect(logged(dropped, "dropped: api_key: `underscores_in_headers` = drop"), "the log does not name the setting")
  refused <- serve(named_app(), workers = 1, underscores_in_headers = "refuse")
  expect_seen(refused, "400", "api_key: 1")
  expect(logged(refused, "400 header name with an underscore: `underscores_in_headers` = refuse"),
    "the log does not name the setting")
})
