# Types that routes declare, over sockets: who is refused without R, in every way of starting a server, and that what is
# said of hostile values stays text. Which values fit, the crate `schema` tests; what handlers get, tests/testthat.

types_app <- function(...) {
  write_app(c(
    "app <- dr_app()",
    "called <- function() file.create(tempfile('called-', Sys.getenv('MARKS')))",
    "dr_get(app, '/roll/<id>', function(id, n, sides) {",
    "  called()",
    "  paste(typeof(id), typeof(n), typeof(sides), id, n, sides)",
    "}, params = list(id = dr_int(), n = dr_dbl(min = 1, max = 100), sides = dr_int(default = 6)))",
    "dr_post(app, '/rows', function(body) {",
    "  called()",
    "  paste(nrow(body), paste(vapply(body, function(x) class(x)[[1L]], ''), collapse = ' '), sum(body$n))",
    "}, body = dr_data_frame(n = dr_int(min = 0), f = dr_factor(c('a', 'b')), day = dr_date()))",
    "dr_post(app, '/strict', function(body) called(), body = dr_schema(a = dr_int(), .extra = 'refuse'))",
    "dr_get(app, '/held', function() stand_at('held'), timeout = 600)",
    ...
  ))
}

called <- function(server) length(list.files(server$marks, "^called-"))
problem <- function(answer) jsonlite::fromJSON(answer$body, simplifyDataFrame = FALSE)
send <- function(server, path, body, type = "application/json", ...) {
  file <- tempfile("body-")
  writeLines(body, file, sep = "", useBytes = TRUE)
  ask(server, path, "-H", paste0("Content-Type: ", type), "--data-binary", paste0("@", file), ...)
}
rows <- function(n, bad = character()) {
  paste0("[", paste(c(rep("{\"n\":1,\"f\":\"b\",\"day\":\"2026-02-28\"}", n), bad), collapse = ","), "]")
}

test_every_worker("what fits comes with its types, and what does not is refused without R", function(start) {
  server <- start(types_app())
  rolled <- ask(server, "/roll/7?n=3")
  expect(rolled$body == "integer double integer 7 3 6", "got ", rolled$status, " ", rolled$body)
  answer <- send(server, "/rows", rows(3))
  expect(answer$body == "3 integer factor Date 3", "got ", answer$status, " ", answer$body)
  before <- called(server)
  refused <- ask(server, "/roll/x?n=101&sides=1.5")
  expect(refused$status == "422", "status ", refused$status)
  expect(field(refused, "content-type") == "application/problem+json", field(refused, "content-type"))
  fields <- vapply(problem(refused)$errors, `[[`, "", "field")
  expect(identical(fields, c("path.id", "query.n", "query.sides")), paste(fields, collapse = " "))
  rules <- vapply(problem(refused)$errors, `[[`, "", "rule")
  expect(identical(rules[[2L]], "must be at most 100"), paste(rules, collapse = ", "))
  wrong <- send(server, "/rows", rows(1, "{\"n\":-1,\"f\":\"c\",\"day\":\"2026-02-30\"}"))
  fields <- sort(vapply(problem(wrong)$errors, `[[`, "", "field"))
  expect(wrong$status == "422" && identical(fields, c("/1/day", "/1/f", "/1/n")), wrong$body)
  expect(send(server, "/rows", "[{\"n\":1,\"n\":2}]")$status == "400", "a name twice is taken")
  expect(send(server, "/rows", "[{\"n\":")$status == "400", "half of a text is taken")
  other <- send(server, "/rows", "n=1", "application/x-www-form-urlencoded")
  expect(other$status == "415" && field(other, "accept") == "application/json", other$status, field(other, "accept"))
  expect(ask(server, "/rows", "-X", "POST")$status == "422", "no body is taken")
  # by the other version of HTTP, too
  expect(ask(server, "/roll/x?n=1", "--http2-prior-knowledge")$status == "422", "HTTP/2 is let through")
  expect(called(server) == before, "R was called ", called(server) - before, " times")
})

test("long bodies are looked at as well, in memory and in files", function() {
  server <- serve(types_app(), spool_above = "256kB")
  for (n in c(2000, 10000)) {
    answer <- send(server, "/rows", rows(n))
    expect(answer$body == paste(n, "integer factor Date", n), n, " rows: ", answer$status, " ", answer$body)
    before <- called(server)
    answer <- send(server, "/rows", rows(n, "{\"n\":1.5,\"f\":\"a\",\"day\":\"2026-02-28\"}"))
    expect(answer$status == "422", n, " rows and a wrong one: ", answer$status)
    expect(problem(answer)$errors[[1L]]$field == paste0("/", n, "/n"), answer$body)
    expect(send(server, "/rows", paste0(rows(n), "]"))$status == "400", "what is no JSON is taken")
    expect(called(server) == before, "R was called")
  }
  # as much as is wrong is not said
  answer <- send(server, "/rows", paste0("[", paste(rep("1", 1e5), collapse = ","), "]"))
  expect(answer$status == "422" && nchar(answer$body) < 4000, answer$status, ": ", nchar(answer$body), " characters")
  expect(length(problem(answer)$errors) == 20L, length(problem(answer)$errors), " errors")
})

test("who is refused does not wait for a worker", function() {
  server <- serve(types_app(), workers = "1")
  held <- ask_later(server, "/held")
  expect(marked(server, "held"), "the worker is not busy")
  refused <- ask(server, "/roll/x?n=1")
  expect(refused$status == "422" && !is_over(held), "status ", refused$status, " while the worker is busy")
})

test("hostile values stay text, in the answer and in the log", function() {
  server <- serve(types_app())
  nasty <- "<script>alert(1)</script>\\r\\nX-Evil: 1\\u001b[31m\\u202e\\\"'"
  answer <- send(server, "/strict", paste0("{\"a\":\"", nasty, "\",\"", nasty, "/~\":1}"))
  expect(answer$status == "422", answer$status)
  expect(field(answer, "x-content-type-options") == "nosniff", "it may be taken for HTML")
  errors <- problem(answer)$errors
  values <- unlist(lapply(errors, `[[`, "value"))
  expect(any(startsWith(values, "<script>alert(1)</script>\r\n")), answer$body)
  fields <- vapply(errors, `[[`, "", "field")
  expect(any(grepl("X-Evil: 1", fields)) && any(endsWith(fields, "~1~0")), paste(fields, collapse = " "))
  expect(is.na(field(answer, "x-evil")), "a header field was injected")
  expect(!grepl("[\r\n\x1b]", answer$body), "a control character is in the body")
  line <- function() grep(" 422 ", server$log(), value = TRUE)
  expect(within(function() length(line()) > 0L), "no line of the log")
  expect(!any(grepl("^X-Evil|\x1b\\[31m", server$log())), "a line was injected: ", line())
  text <- send(server, "/strict", "{\"a\":\"x\"}", "application/json", "-H", "Accept: text/plain")
  expect(text$status == "422" && grepl("/a must be a whole number", text$body), text$body)
  long <- strrep("a", 5000)
  answer <- ask(server, paste0("/roll/", long, "?n=1"))
  expect(answer$status == "422" && nchar(answer$body) < 1000, nchar(answer$body), " characters")
})

test("an app whose types are wrong or hostile is not served, and it is said why", function() {
  deep <- "Reduce(function(x, i) dr_array(x), 1:70, dr_int())"
  refuses <- function(line, says) {
    server <- launch(command_of(types_app(line)))
    expect(is.null(server$url), "it is served: ", line)
    expect(any(grepl(says, server$log())), paste(server$log(), collapse = "\n"))
  }
  refuses("dr_post(app, '/x', function(body) 1, body = '{\"$ref\": \"http://127.0.0.1/x\"}')", "nothing is fetched")
  refuses(paste0("dr_post(app, '/x', function(body) 1, body = ", deep, ")"), "deeper than 64 schemas")
})
