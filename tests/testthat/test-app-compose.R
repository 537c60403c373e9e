# Errors further in, as middleware sees them: as conditions first, then as responses.

app <- c(
  "app <- dr_app()",
  "dr_use(app, function(req, nxt) {",
  "  response <- nxt()",
  "  error <- attr(response, 'condition')",
  "  dr_set_header(response, 'X-Outer', if (is.null(error)) 'fine' else class(error)[[1L]])",
  "})",
  "dr_use(app, function(req, nxt) {",
  "  answer <- function(error) dr_text(paste('taken:', conditionMessage(error)), status = 503L)",
  "  way <- dr_header(req, 'x-way')",
  "  switch(if (is.null(way)) '' else way,",
  "    all = tryCatch(nxt(), error = answer),",
  "    own = tryCatch(nxt(), special = answer),",
  "    http = tryCatch(nxt(), drover_error_http = function(error) dr_text(paste('was', error$status), status = 503L)),",
  "    try = {",
  "      response <- try(nxt(), silent = TRUE)",
  "      if (inherits(response, 'try-error')) answer(attr(response, 'condition')) else response",
  "    },",
  "    look = withCallingHandlers(nxt(), error = function(error) warning('seen: ', conditionMessage(error))),",
  "    again = tryCatch(nxt(), error = function(error) stop('again')),",
  "    late = promises::then(promises::promise_resolve(1), function(value) dr_set_header(nxt(), 'X-Late', 'yes')),",
  "    nxt()",
  "  )",
  "})",
  "inner <- dr_app()",
  "dr_use(inner, function(req, nxt) dr_set_header(nxt(), 'X-Inner', 'yes'))",
  "dr_get(inner, '/stop', function(req) stop('no'))",
  "dr_get(inner, '/special', function(req) stop(errorCondition('so', class = 'special')))",
  "dr_get(inner, '/abort', function(req) dr_abort(409, 'taken'))",
  "dr_get(inner, '/odd', function(req) dr_text(mean))",
  "down <- function(n) down(n + 1)",
  "dr_get(inner, '/deep', function(req) down(0))",
  "dr_get(inner, '/c-stack', function(req) {",
  "  options(expressions = 500000L)",
  "  one <- function(n) sapply(n, one)",
  "  one(1)",
  "})",
  "dr_mount(app, '/in', inner)",
  "dr_on_error(app, function(req, err) {",
  "  dr_json(list(error = conditionMessage(err)), status = if (is.null(err$status)) 500L else err$status)",
  "})"
)

for (workers in 1:2) local({
  server <- local_server(app, workers = workers)
  ask <- function(path, way) {
    answer <- http(server, paste0("/in", path), "-H", paste("X-Way:", way))
    list(answer$status, answer$body, answer$headers[["x-outer"]], "x-inner" %in% names(answer$headers))
  }

  test_that(paste("a handler of conditions in middleware takes errors further in, workers =", workers), {
    expect_identical(ask("/stop", "all"), list(503L, "taken: no", "fine", FALSE))
    expect_identical(ask("/stop", "try"), list(503L, "taken: no", "fine", FALSE))
    expect_identical(ask("/special", "own"), list(503L, "taken: so", "fine", FALSE))
    expect_identical(ask("/abort", "http"), list(503L, "was 409", "fine", FALSE))
    expect_identical(ask("/odd", "all")[[1L]], 503L)
    # what was taken is nobody's error: the first in the log is one that was not
    expect_identical(ask("/stop", "")[[1L]], 500L)
    expect_length(server$wait_log("ERROR"), 1L)
  })

  test_that(paste("what it does not take is a response to all middleware around it, workers =", workers), {
    expect_identical(ask("/stop", ""), list(500L, "{\"error\":\"no\"}", "simpleError", TRUE))
    expect_identical(ask("/stop", "own"), list(500L, "{\"error\":\"no\"}", "simpleError", TRUE))
    expect_identical(ask("/abort", "own"), list(409L, "{\"error\":\"taken\"}", "drover_error_http", TRUE))
    expect_match(server$wait_log("ERROR .* GET /in/stop 500 no"), "trace=`GET /in/stop`(req) > stop(\"no\")", fixed = TRUE)
  })

  test_that(paste("middleware looks at an error and lets it go on, or has one of its own, workers =", workers), {
    expect_identical(ask("/stop", "look"), list(500L, "{\"error\":\"no\"}", "simpleError", TRUE))
    server$wait_log("WARN .*seen: no")
    expect_identical(ask("/stop", "again"), list(500L, "{\"error\":\"again\"}", "simpleError", FALSE))
  })

  test_that(paste("endless recursion is an error as others are, workers =", workers), {
    for (path in c("/deep", "/c-stack")) {
      taken <- ask(path, "all")
      expect_identical(taken[c(1L, 3L, 4L)], list(503L, "fine", FALSE))
      left <- ask(path, "")
      expect_identical(left[c(1L, 4L)], list(500L, TRUE))
    }
    expect_match(server$wait_log("ERROR .* GET /in/c-stack 500"), "trace=`GET /in/c-stack`(req) > ", fixed = TRUE)
  })

  test_that(paste("an error in a step of a promise is a response to nxt() at once, workers =", workers), {
    skip_if_not_installed("promises")
    answer <- http(server, "/in/stop", "-H", "X-Way: late")
    expect_identical(answer$status, 500L)
    expect_identical(answer$headers[c("x-inner", "x-late")], c("x-inner" = "yes", "x-late" = "yes"))
    expect_identical(answer$body, "{\"error\":\"no\"}")
  })
})
