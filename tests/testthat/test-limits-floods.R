# The two floods that only R has: strings built to collide in its string cache, and client-chosen names that would
# become symbols for ever. Both are refused or handled at the cost of a benign body of the same size.

server <- local_server({
  app <- dr_app()
  dr_post(app, "/json", function(req) paste("json", length(req$json)))
  dr_post(app, "/form", function(req) paste("form", length(req$form)))
  dr_post(app, "/query-of-form", function(req) paste("query", length(req$query)))
  dr_get(app, "/query", function(req) paste("query", length(req$query)))
  dr_get(app, "/headers", function(req) paste("headers", length(req$headers)))
  dr_get(app, "/cookies", function(req) paste("cookies", length(req$cookies)))
  dr_get(app, "/cells", function(req) {
    gc()
    sprintf("%.0f", gc()[1, 1])
  })
  dr_get(app, "/alive", function(req) paste("alive", Sys.getpid()))
}, max_body = 8e6, max_fields = 200000L, max_request_line = 65000L, max_headers = 5000L, max_header_size = 2000000L,
max_header_field = 400000L, frame = teardown_env())

n <- 16384L
strings <- colliding(n)
harmless <- benign(n, 28)

json_post <- function(text) fetch(server, "/json", "POST", c("Content-Type" = "application/json"), text)
form_post <- function(text, path = "/form") {
  fetch(server, path, "POST", c("Content-Type" = "application/x-www-form-urlencoded"), text)
}

# The seconds of CPU that the server takes for a call, and its value; the floor keeps a quick benign request from being
# an unfair measure. What other programs take meanwhile is not in them, and bounds are ratios to a benign call.
timed <- function(call) {
  before <- process_measure(server$pid)$cpu
  value <- call
  list(value = value, cpu = max(process_measure(server$pid)$cpu - before, 0.05))
}

expect_cheap_refusal <- function(attack, benign, what) {
  normal <- timed(benign)
  expect_identical(normal$value$status, 200L, label = paste("benign", what))
  refused <- timed(attack)
  expect_identical(refused$value$status, 400L, label = what)
  expect_lt(refused$cpu, 20 * normal$cpu, label = paste("CPU seconds for", what))
}

test_that("colliding strings are made as meant", {
  hash <- function(text) Reduce(function(h, c) (h * 33 + c) %% 2^32, utf8ToInt(text), 5381)
  expect_length(unique(strings), n)
  expect_length(unique(vapply(strings[1:200], hash, 0)), 1)
  bucket <- same_bucket(200)
  expect_length(unique(bucket), 200)
  expect_gt(length(unique(vapply(bucket, hash, 0))), 20)
  expect_length(unique(vapply(bucket, hash, 0) %% 65536), 1)
})

test_that("a collision flood is 400 and cheap as JSON values and as JSON keys", {
  expect_cheap_refusal(json_post(json_of_strings(strings)), json_post(json_of_strings(harmless)), "JSON array")
  expect_cheap_refusal(json_post(json_of_names(strings)), json_post(json_of_names(harmless)), "JSON object")
  expect_cheap_refusal(
    json_post(paste0("[", paste0("{\"a\":\"", strings, "\"}", collapse = ","), "]")),
    json_post(paste0("[", paste0("{\"a\":\"", harmless, "\"}", collapse = ","), "]")), "JSON records"
  )
  # the same strings, written with escapes
  first <- as.character(as.hexmode(utf8ToInt(paste(substr(strings, 1, 1), collapse = ""))))
  escaped <- paste0("\\u00", first, substring(strings, 2))
  expect_cheap_refusal(json_post(json_of_strings(escaped)), json_post(json_of_strings(harmless)), "escaped JSON")
})

test_that("a collision flood is 400 and cheap as form and query", {
  pairs <- function(x) paste0(x, "=1", collapse = "&")
  expect_cheap_refusal(form_post(pairs(strings)), form_post(pairs(harmless)), "form names")
  expect_cheap_refusal(form_post(paste0("a=", strings, collapse = "&")), form_post(paste0("a=", harmless, collapse = "&")), "form values")
  expect_cheap_refusal(
    form_post(gsub("A", "%41", pairs(strings)), "/query-of-form"), form_post(pairs(harmless), "/query-of-form"), "escaped form names"
  )
  some <- 1900L
  expect_cheap_refusal(
    fetch(server, paste0("/query?", pairs(strings[1:some]))), fetch(server, paste0("/query?", pairs(harmless[1:some]))), "query names"
  )
})

test_that("a collision flood is 400 and cheap as headers and cookies", {
  some <- 4000L
  values <- function(x) structure(x[1:some], names = paste0("x-", 1:some))
  expect_cheap_refusal(fetch(server, "/headers", headers = values(strings)), fetch(server, "/headers", headers = values(harmless)), "header values")
  cookies <- function(x) c(Cookie = paste0(x[1:some], "=1", collapse = "; "))
  expect_cheap_refusal(fetch(server, "/cookies", headers = cookies(strings)), fetch(server, "/cookies", headers = cookies(harmless)), "cookie names")
  # as names: folded to lower case they no longer collide, so either answer is right, but not a slow one
  named <- function(x) structure(rep("1", some), names = x[1:some])
  normal <- timed(fetch(server, "/headers", headers = named(harmless)))
  attack <- timed(fetch(server, "/headers", headers = named(strings)))
  expect_true(attack$value$status %in% c(200L, 400L))
  expect_lt(attack$cpu, 20 * normal$cpu)
})

test_that("strings that only share a bucket are refused too", {
  bucket <- same_bucket(4000)
  expect_cheap_refusal(json_post(json_of_strings(bucket)), json_post(json_of_strings(benign(4000, 6))), "one bucket")
})

test_that("a few colliding strings are no attack, and repeats are none", {
  expect_identical(json_post(json_of_strings(strings[1:3]))$text, "json 3")
  expect_identical(json_post(json_of_strings(rep("the same string", 50000)))$text, "json 50000")
  expect_identical(json_post(json_of_strings(sprintf("id-%06d", 1:50000)))$text, "json 50000")
  expect_identical(form_post(paste0("f", 1:20000, "=", 1:20000, collapse = "&"))$text, "form 20000")
})

test_that("max_collisions: a smaller setting refuses sooner", {
  strict <- local_server({
    app <- dr_app()
    dr_post(app, "/json", function(req) paste("json", length(req$json)))
  }, max_collisions = 20L)
  post <- function(x) fetch(strict, "/json", "POST", c("Content-Type" = "application/json"), json_of_strings(x))
  expect_identical(post(strings[1:20])$text, "json 20")
  expect_identical(post(strings[1:40])$status, 400L)
})

test_that("a flood over many requests, each of them full of it, is refused", {
  json <- "application/json"
  normal <- spent(server, "/json", rep(json_of_strings(benign(1000, 32)), 40L), type = json)
  attack <- spent(server, "/json", vapply(0:39 * 1000, colliding_json, "", n = 1000L), type = json)
  expect_identical(c(normal[["refused"]], attack[["refused"]]), c(0, 40))
  expect_lt(attack[["cpu"]], 3 * normal[["cpu"]] + 0.3)
})

test_that("a flood over many requests costs little more than harmless strings, and harmless ones are never refused", {
  json <- "application/json"
  form <- "application/x-www-form-urlencoded"
  pairs <- function(x) paste0(x, "=1", collapse = "&")
  cookie <- function(x) paste0(x, "=1", collapse = "; ")
  cases <- list(
    list("one string of a request", "/json", 2000L, 1L, json_of_strings, type = json),
    list("as many as pass", "/json", 1000L, 3L, json_of_strings, type = json),
    list("form", "/form", 1000L, 3L, pairs, type = form),
    list("query", "/query", 1000L, 3L, pairs),
    list("cookies", "/cookies", 1000L, 3L, cookie, header = "Cookie")
  )
  for (case in cases) {
    one <- function(make) {
      do.call(spent, c(list(server, case[[2]], requests_of(make, case[[3]], case[[4]], case[[5]])), case[-(1:5)]))
    }
    normal <- one(function(n) benign(n, 28))
    attack <- one(colliding)
    expect_identical(normal[["refused"]], 0, label = paste("refused, benign", case[[1]]))
    # 1.5 on a machine that does nothing else; wide here
    expect_lt(attack[["cpu"]], 3 * normal[["cpu"]] + 0.3, label = paste("CPU seconds for", case[[1]]))
  }
})

test_that("strings that were harmless for one client are so for the next, however often they come", {
  body <- json_of_strings(c(strings[1:3], "id", "name"))
  again <- spent(server, "/json", rep(body, 3000L), type = "application/json")
  expect_identical(again[["refused"]], 0)
  # after a flood
  spent(server, "/json", requests_of(colliding, 300L, 5L, json_of_strings), type = "application/json")
  expect_identical(spent(server, "/json", rep(body, 100L), type = "application/json")[["refused"]], 0)
})

# Cells in use after gc, once a first round has grown what may grow once.
cells_after <- function(rounds, request) {
  cells <- function() as.numeric(fetch(server, "/cells")$text)
  request(1)
  request(2)
  before <- cells()
  for (i in 2 + seq_len(rounds)) request(i)
  cells() - before
}

test_that("a million unique JSON keys leave no symbol behind", {
  grown <- cells_after(10, function(i) {
    expect_identical(json_post(json_of_names(sprintf("k%02d%06d", i, 1:100000)))$text, "json 100000")
  })
  expect_lt(grown, 5000)
})

test_that("a million unique form fields and query names leave no symbol behind", {
  grown <- cells_after(10, function(i) {
    text <- paste0(sprintf("f%02d%06d", i, 1:100000), "=1", collapse = "&")
    expect_identical(form_post(text)$text, "form 100000")
  })
  expect_lt(grown, 5000)
  grown <- cells_after(10, function(i) {
    expect_identical(fetch(server, paste0("/query?", paste0(sprintf("q%02d%04d", i, 1:6000), "=", collapse = "&")))$text, "query 6000")
  })
  expect_lt(grown, 5000)
})

test_that("unique header, cookie and path names leave no symbol behind", {
  grown <- cells_after(10, function(i) {
    names <- sprintf("x-%02d-%04d", i, 1:2000)
    expect_identical(fetch(server, "/headers", headers = structure(rep("1", 2000), names = names))$text, "headers 2001")
    expect_identical(fetch(server, "/cookies", headers = c(Cookie = paste0(names, "=1", collapse = "; ")))$text, "cookies 2000")
  })
  expect_lt(grown, 5000)
  expect_identical(fetch(server, "/alive")$text, paste("alive", server$pid))
})
