basic_of <- function(app) drover:::compile_app(app)$policies[[1L]]$rule$auth$by$basic

test_that("what is registered is what the engine is given", {
  hash <- dr_password_hash("secret")
  file <- tempfile()
  file.create(file)
  app <- dr_auth_basic(dr_app(), c(ann = hash), file)
  expect_identical(basic_of(app), list(
    users = list(list(name = "ann", value = hash)), file = normalizePath(file), max_failures = 10
  ))
  expect_identical(basic_of(dr_auth_basic(dr_app(), c(ann = hash), max_failures = 3L))$max_failures, 3L)
  expect_null(basic_of(dr_auth_basic(dr_app(), c(ann = hash), max_failures = Inf))$max_failures)
})

test_that("wrong users are refused, and no password is shown", {
  app <- dr_app()
  hash <- dr_password_hash("secret")
  wrongs <- list(c(ann = "hunter2"), hash, c(hash, ann = hash), c("a:b" = hash), list(ann = hash), character(), 7)
  for (wrong in wrongs) {
    pattern <- "`users` must be NULL or a named character vector: hashes of"
    error <- expect_argument_error(dr_auth_basic(app, wrong), pattern)
    expect_false(grepl("hunter2", conditionMessage(error)))
  }
  expect_argument_error(dr_auth_basic(app), "one of `users`, `file` must be given")
  for (wrong in list(0, 1.5, -Inf, NA, NULL, "10", c(1, 2), 1e9)) {
    pattern <- "`max_failures` must be a single integer in 1..100000000, or Inf"
    expect_argument_error(dr_auth_basic(app, c(ann = hash), max_failures = wrong), pattern)
  }
})

test_that("a server asks for names and passwords", {
  server <- local_server({
    app <- dr_app()
    dr_get(app, "/who", function(req) req$auth$user)
    dr_auth_basic(app, c("z\u00f6e" = dr_password_hash("p\u00e4ss")))
  })
  status <- function(userpwd) {
    handle <- curl::new_handle()
    if (nzchar(userpwd)) curl::handle_setopt(handle, userpwd = enc2utf8(userpwd), httpauth = 1)
    answer <- curl::curl_fetch_memory(paste0(server$url, "/who"), handle)
    c(answer$status_code, rawToChar(answer$content))
  }
  expect_identical(status("")[[1L]], "401")
  expect_identical(status("z\u00f6e:pass")[[1L]], "401")
  expect_identical(enc2utf8(status("z\u00f6e:p\u00e4ss")), c("200", "z\u00f6e"))
})

# Users with one password, whose hash is made once. `more`: further arguments, as code.
guarded_app <- function(users, more) {
  c(
    sprintf("users <- stats::setNames(rep(dr_password_hash('right'), %d), paste0('u', seq_len(%d)))", users, users),
    "app <- dr_get(dr_app(), '/who', function(req) req$auth$user)",
    sprintf("dr_auth_basic(app, users, %s)", more)
  )
}

# The status of an answer to a user, from a client with one of the addresses of this machine.
status_of <- function(server, user, password, ...) http(server, "/who", "-u", paste0(user, ":", password), ...)$status

test_that("wrong passwords of an address are 401 up to the bound, and 429 then", {
  server <- local_server(guarded_app(2L, "max_failures = 2"))
  expect_identical(status_of(server, "u1", "right"), 200L)
  expect_identical(status_of(server, "u1", "wrong"), 401L)
  expect_identical(status_of(server, "nobody", "right"), 401L)
  refused <- http(server, "/who", "-u", "u1:wrong", "-H", "Accept: application/json")
  expect_identical(refused$status, 429L)
  expect_true(as.integer(refused$headers[["retry-after"]]) %in% 1:30)
  expect_identical(refused$headers[["content-type"]], "application/problem+json")
  expect_identical(jsonlite::fromJSON(refused$body)$status, 429L)
  server$wait_log("GET /who 429 over `max_failures` = 2 of dr_auth_basic\\(\\)")
  # one that is remembered passes; another right one is not looked at
  expect_identical(status_of(server, "u1", "right"), 200L)
  expect_identical(status_of(server, "u2", "right"), 429L)
  # what has no password to be looked at is as it was
  expect_identical(http(server, "/who")$status, 401L)
  expect_identical(http(server, "/who", "-H", "Authorization: Basic *")$status, 401L)
  # another address has a bound of its own
  expect_identical(status_of(server, "u1", "wrong", "--interface", "127.0.0.2"), 401L)
  expect_identical(status_of(server, "u2", "right", "--interface", "127.0.0.2"), 200L)
  expect_identical(status_of(server, "u2", "right"), 200L)
})

test_that("behind a trusted proxy the address is the client's, of IPv6 its network", {
  server <- local_server(guarded_app(1L, "max_failures = 1"), trusted_proxies = "127.0.0.1")
  wrong <- function(address) status_of(server, "u1", "wrong", "-H", paste("X-Forwarded-For:", address))
  addresses <- c("192.0.2.1", "192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2", "2001:db8:0:1::1")
  expect_identical(vapply(addresses, wrong, 0L, USE.NAMES = FALSE), c(401L, 429L, 401L, 401L, 429L, 401L))
})

test_that("right passwords use up nothing", {
  server <- local_server(guarded_app(30L, "max_failures = 2"))
  statuses <- vapply(paste0("u", 1:30), status_of, 0L, server = server, password = "right")
  expect_identical(unname(statuses), rep(200L, 30L))
  expect_identical(vapply(1:3, function(n) status_of(server, "u1", "wrong"), 0L), c(401L, 401L, 429L))
})

test_that("guesses that are sent at once are no more than one after the other", {
  server <- local_server(guarded_app(1L, "max_failures = 3"))
  clients <- raw_clients(64L, server$port)
  guess <- request_bytes("/who", headers = c(Authorization = paste("Basic", jsonlite::base64_enc("u1:wrong"))))
  for (client in clients) client_send(client, guess)
  statuses <- vapply(clients, function(client) client_response(client)$status, 0L)
  expect_identical(c(sum(statuses == 401L), sum(statuses == 429L)), c(3L, 61L))
})

test_that("without a bound there is none", {
  server <- local_server(guarded_app(1L, "max_failures = Inf"))
  expect_identical(vapply(1:12, function(n) status_of(server, "u1", "wrong"), 0L), rep(401L, 12L))
})
