# Code that runs beside handlers: middleware, dr_on_error(), not-found handlers, promises and callbacks of 'later'. When
# it fails, in whatever way, that costs what it was about and not the server. Not here: handlers
# (test-faults-handlers.R).

server <- local_server({
  app <- dr_app()
  faults <- list(
    stop = function() stop("secret-7"), abort = function() invokeRestart("abort"), quit = function() q("no"),
    odd = function() stop(structure(class = c("odd", "condition"), list(message = "secret-7", call = NULL))),
    recursion = function() {
      f <- function(n) f(n + 1)
      f(1)
    },
    warning = function() {
      warning("a warning")
      "fine"
    },
    value = function() function() "secret_source", null = function() NULL,
    response = function() structure(list(status = "x"), class = "dr_response")
  )
  fault <- function(req) faults[[dr_header(req, "x-fault")]]()
  dr_get(app, "/names", function(req) names(faults))
  dr_get(app, "/alive", function(req) paste("alive", Sys.getpid()))
  inner <- dr_app()
  dr_use(inner, function(req, nxt) if (req$path == "/m/before") fault(req) else nxt())
  dr_use(inner, function(req, nxt) {
    out <- nxt()
    if (req$path == "/m/after") fault(req) else out
  })
  dr_use(inner, function(req, nxt) {
    if (req$path == "/m/twice") nxt()
    nxt()
  })
  dr_get(inner, "/<where>", function(req) "handled")
  dr_mount(app, "/m", inner)
  failing <- dr_app()
  dr_on_error(failing, function(req, err) fault(req))
  dr_get(failing, "/stop", function(req) stop("first"))
  dr_get(failing, "/abort", function(req) invokeRestart("abort"))
  dr_mount(app, "/e", failing)
  dr_not_found(app, function(req) fault(req))
  then <- function(req) promises::then(promises::promise_resolve(1), function(x) fault(req))
  later <- function(req) {
    promises::then(promises::promise(function(resolve, reject) later::later(function() resolve(1), 0.01)), function(x) fault(req))
  }
  dr_get(app, "/p/then", then)
  dr_get(app, "/p/later", later)
  dr_get(app, "/short/p/then", then, timeout = 0.5)
  dr_get(app, "/short/p/later", later, timeout = 0.5)
  dr_get(app, "/later", function(req) {
    what <- dr_header(req, "x-fault")
    later::later(function() faults[[what]](), 0.01)
    "scheduled"
  })
}, frame = teardown_env())

names <- jsonlite::fromJSON(fetch(server, "/names")$text)

expect_alive <- function(server, label) {
  expect_true(identical(tryCatch(fetch(server, "/alive")$text, error = function(e) "no connection"), paste("alive", server$pid)), label = paste("alive after", label))
}

# what is none: those of "/e/abort" never come to dr_on_error()
fine <- list(
  "/m/before" = c(warning = 200L, null = 204L), "/m/after" = c(warning = 200L, null = 204L),
  "/e/stop" = c(warning = 200L, null = 204L), "/e/abort" = integer(), "/none" = c(warning = 404L, null = 404L)
)
for (path in names(fine)) local({
  path <- path
  test_that(paste("faults beside the handler of", path, "cost one request"), {
    for (name in names) {
      response <- fetch(server, path, headers = c("X-Fault" = name))
      status <- if (name %in% names(fine[[path]])) fine[[path]][[name]] else 500L
      expect_identical(response$status, status, label = paste(path, name))
      expect_false(grepl("secret", response$text))
      expect_alive(server, paste(path, name))
    }
  })
})

test_that("middleware that calls the rest twice answers once", {
  client <- raw_client(server$port)
  client_send(client, c(request_bytes("/m/twice"), request_bytes("/alive")))
  expect_identical(client_response(client)$text, "handled")
  expect_identical(client_response(client)$text, paste("alive", server$pid))
})

for (path in c("/p/then", "/p/later")) local({
  path <- path
  test_that(paste("faults in a promise cost one request:", path), {
    skip_if_not_installed("promises")
    for (name in names) {
      # a jump out of a callback of 'later' leaves the promise open: then its time runs out
      jumps <- name %in% c("abort", "odd")
      response <- fetch(server, paste0(if (jumps) "/short", path), headers = c("X-Fault" = name))
      status <- if (jumps) 504L else switch(name, warning = 200L, null = 204L, 500L)
      expect_identical(response$status, status, label = paste(path, name))
      expect_alive(server, paste(path, name))
    }
  })
})

test_that("faults in callbacks of 'later' end no server that blocks", {
  for (name in setdiff(names, "quit")) {
    expect_identical(fetch(server, "/later", headers = c("X-Fault" = name))$text, "scheduled")
    expect_alive(server, paste("later", name))
  }
  expect_true(within(function() any(grepl("callback.*secret-7", server$log()))))
  expect_alive(server, "all")
})
