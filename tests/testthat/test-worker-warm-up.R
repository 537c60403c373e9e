# What is done once in the zygote, so that no worker has to do it for itself.

kind_of_code <- function(f) typeof(.Internal(bodyCode(f)))

# Functions written here are the package's, as tests are evaluated below its namespace.
as_of_app <- function(f) {
  environment(f) <- globalenv()
  f
}

test_that("handlers are byte code when the first request comes, also behind middleware and as not-found handlers", {
  app <- dr_app()
  dr_get(app, "/own", as_of_app(function(req) typeof(.Internal(bodyCode(sys.function())))))
  dr_not_found(app, as_of_app(function(req) typeof(.Internal(bodyCode(sys.function())))))
  dr_use(app, as_of_app(function(req, forward) {
    response <- forward()
    drover::dr_set_header(response, "X-Middleware", typeof(.Internal(bodyCode(sys.function()))))
  }))
  server <- serve_workers(app, 2L)
  for (path in c("/own", "/none")) {
    answer <- fetch(server, path)
    expect_identical(answer$text, "bytecode", label = path)
    expect_identical(answer$headers[["x-middleware"]], "bytecode", label = path)
  }
})

test_that("an app with very many handlers does not wait for all of them", {
  # not by the parser, which would make it byte code together with this test
  plain <- as_of_app(as.function(alist(req = , paste("x"))))
  late <- drover:::warm_up(list(handlers = list(plain), on_error = list(NULL)), seconds = 0)
  expect_identical(kind_of_code(late$handlers[[1L]]), "language")
})

test_that("what cannot be compiled stays as it is", {
  expect_identical(drover:::byte_compiled(sum, identity), sum)
  plain <- as_of_app(function(req) "x")
  expect_identical(kind_of_code(drover:::byte_compiled(plain, identity)), "bytecode")
  expect_identical(drover:::byte_compiled(plain, identity)(1), "x")
})

test_that("without R's compiler at run time there is none here either", {
  before <- compiler::enableJIT(0L)
  withr::defer(compiler::enableJIT(before))
  plain <- as_of_app(function(req) paste("x"))
  warmed <- drover:::warm_up(list(handlers = list(plain), on_error = list(NULL)))
  expect_identical(kind_of_code(warmed$handlers[[1]]), "language")
})

test_that("what handlers call in the file of the app is byte code too", {
  server <- run_workers(c(
    "kind <- function(f) typeof(.Internal(bodyCode(f)))",
    "helper <- function(x) paste(x)", "lockBinding('helper', globalenv())", "other <- function(x) paste(x)",
    "delayedAssign('costly', stop('looked at'))", "makeActiveBinding('active', function() stop('looked at'), globalenv())",
    "dr_get(app, '/', function(req) paste(kind(helper), kind(other)))", "app"
  ), 2L)
  expect_identical(fetch(server, "/")$text, "language bytecode")
})

test_that("endpoints of plumber are byte code", {
  skip_if_not_installed("plumber")
  server <- run_workers(c(
    "router <- plumber::pr()", "here <- new.env()", "local({",
    "  kind <- function(f) typeof(.Internal(bodyCode(f)))",
    "  text <- plumber::serializer_text()",
    "  router$handle('GET', '/plain', function() paste(kind(sys.function()), kind(kind)), serializer = text)",
    "  router$handle('GET', '/query', function(x) paste(kind(sys.function()), kind(kind)), serializer = text)",
    "}, here)", "router"
  ), 2L)
  expect_identical(fetch(server, "/plain")$text, "bytecode bytecode")
  expect_identical(fetch(server, "/query?x=1")$text, "bytecode bytecode")
})
