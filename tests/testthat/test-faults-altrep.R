# Values whose elements are made by R code while the answer is read (ALTREP). That code may come back to the request, to
# the server or to other requests: each is answered as if it had not.

# The library of altrep/calling.c, compiled once.
calling_library <- local({
  library <- NULL
  function() {
    if (!is.null(library)) return(library)
    source <- testthat::test_path("altrep", "calling.c")
    if (!file.exists(source)) skip("altrep/calling.c is not here")
    folder <- tempfile("altrep-")
    dir.create(folder)
    file.copy(source, folder)
    ran <- processx::run(
      file.path(R.home("bin"), "R"), c("CMD", "SHLIB", "calling.c"), wd = folder, error_on_status = FALSE,
      stderr_to_stdout = TRUE
    )
    if (ran$status != 0L) stop("altrep/calling.c cannot be compiled:\n", ran$stdout)
    library <<- file.path(folder, paste0("calling", .Platform$dynlib.ext))
    library
  }
})

altrep_server <- function(place, frame = parent.frame()) {
  local_server(c(
    sprintf("dyn.load('%s')", calling_library()),
    "calling <- function(f, x = 1:3 + 0L) .Call('calling', f, x, PACKAGE = 'calling')",
    "state <- new.env()",
    "app <- dr_app()",
    "dr_post(app, '/fields', function(req) {",
    "  state$seen <- character()",
    "  look <- function() state$seen <- c(req$query[['a']], req$headers[['x-test']], req$json$b, req$form[], req$path)",
    "  list(before = 'b', x = calling(look), s = calling(look, c('u', 'v')), after = 'a')",
    "})",
    "dr_get(app, '/seen', function(req) state$seen)",
    "dr_get(app, '/plain', function(req) calling(function() NULL, 'text'))",
    "dr_get(app, '/stop', function(req) list(calling(function() stop('no elements'))))",
    "dr_get(app, '/abort', function(req) calling(function() dr_abort(418L, 'teapot'), 'text'))",
    "dr_get(app, '/restart', function(req) list(1, calling(function() invokeRestart('abort'))))",
    "dr_get(app, '/header', function(req) dr_response('body', 200L, list('X-A' = calling(function() req$headers, 'h'))))",
    "dr_get(app, '/wait/:name', function(req) {",
    "  promises::promise(function(resolve, reject) state[[req$params[['name']]]] <- resolve)",
    "})",
    "dr_get(app, '/settle/:name', function(req) {",
    "  resolve <- state[[req$params[['name']]]]",
    "  settle <- function() {",
    "    resolve(list(other = 'answered in between'))",
    "    for (i in 1:5) later::run_now(0)",
    "  }",
    "  list(own = paste(rep('x', 300), collapse = ''), x = calling(settle), last = TRUE)",
    "})",
    "dr_get(app, '/promised', function(req) {",
    "  text <- calling(function() later::run_now(0), 'text')",
    "  promises::promise(function(resolve, reject) later::later(function() resolve(list(a = text, b = 1:2)), 0))",
    "})",
    "dr_get(app, '/change', function(req) {",
    "  change <- function() {",
    "    state$value$b[[1L]] <- 99L",
    "    state$value$c <- NULL",
    "    for (i in 1:3) gc()",
    "  }",
    "  state$value <- list(a = calling(change), b = c(1L, 2L), c = paste0('c', 1:3 + 0))",
    "  state$value",
    "})",
    "dr_get(app, '/kinds', function(req) {",
    "  list(1:10, as.character(1:3), as.character(c(1.5, 2)), rev(1:3), sort(c(3L, 1L, 2L)), wrapped = seq_len(3L))",
    "})",
    "dr_get(app, '/ends', function(req) calling(function() dr_stop(), 'ended'))",
    "dr_get(app, '/alive', function(req) 'alive')"
  ), workers = if (place == "session") 1L else c(1L, 1L), frame = frame)
}

for (place in c("session", "worker process")) test_that(paste("answers are whole whatever their elements do:", place), {
  server <- altrep_server(place)
  get <- function(path, ...) {
    got <- http(server, path, ...)
    expect_identical(http(server, "/alive")$body, "alive", info = path)
    got
  }
  posted <- get("/fields?a=1", "-H", "X-Test: t", "-H", "Content-Type: application/json", "--data", "{\"b\":\"json\"}")
  expect_identical(posted$body, "{\"before\":\"b\",\"x\":[1,2,3],\"s\":[\"u\",\"v\"],\"after\":\"a\"}")
  expect_identical(get("/seen")$body, "[\"1\",\"t\",\"json\",\"/fields\"]")
  expect_identical(get("/plain")$body, "text")
  expect_identical(get("/header")$headers[["x-a"]], "h")
  for (path in c("/stop", "/restart")) expect_identical(get(path)$status, 500L, info = path)
  expect_true(get("/abort")$status %in% c(418L, 500L))
  expect_identical(get("/promised")$body, "{\"a\":\"text\",\"b\":[1,2]}")
  expect_identical(get("/change")$body, "{\"a\":[1,2,3],\"b\":[1,2],\"c\":[\"c1\",\"c2\",\"c3\"]}")
  expect_identical(
    get("/kinds")$body,
    "{\"1\":[1,2,3,4,5,6,7,8,9,10],\"2\":[\"1\",\"2\",\"3\"],\"3\":[\"1.5\",\"2\"],\"4\":[3,2,1],\"5\":[1,2,3],\"wrapped\":[1,2,3]}"
  )
})

for (place in c("session", "worker process")) test_that(paste("an answer is not that of a request settled meanwhile:", place), {
  server <- altrep_server(place)
  url <- paste0(server$url, "/wait/one")
  waiting <- processx::process$new("curl", c("-s", "--max-time", patience(), url), stdout = "|")
  withr::defer(waiting$kill())
  # both wait in the same worker: the first one runs once the second one finds its function
  own <- NULL
  expect_true(within(function() {
    own <<- http(server, "/settle/one")
    own$status == 200L
  }))
  expect_identical(own$body, paste0("{\"own\":\"", strrep("x", 300), "\",\"x\":[1,2,3],\"last\":true}"))
  waiting$wait(1000 * patience())
  expect_identical(waiting$read_all_output(), "{\"other\":\"answered in between\"}")
  expect_identical(http(server, "/alive")$body, "alive")
})

test_that("an element that ends the server ends it in order", {
  server <- altrep_server("session")
  ended <- http(server, "/ends")
  expect_identical(ended$body, "ended")
  server$process$wait(1000 * patience())
  expect_identical(server$process$get_exit_status(), 0L)
})
