# What is done once in the zygote, so that no worker has to do it for itself.

kind_of_code <- function(f) typeof(.Internal(bodyCode(f)))

test_that("handlers are byte code when the first request comes, also behind middleware and as not-found handlers", {
  app <- dr_app()
  dr_get(app, "/own", function(req) typeof(.Internal(bodyCode(sys.function()))))
  dr_not_found(app, function(req) typeof(.Internal(bodyCode(sys.function()))))
  dr_use(app, function(req, forward) {
    response <- forward()
    dr_set_header(response, "X-Middleware", typeof(.Internal(bodyCode(sys.function()))))
  })
  server <- serve_workers(app, 2L)
  for (path in c("/own", "/none")) {
    answer <- fetch(server, path)
    expect_identical(answer$text, "bytecode", label = path)
    expect_identical(answer$headers[["x-middleware"]], "bytecode", label = path)
  }
})

test_that("an app with very many handlers does not wait for all of them", {
  # not by the parser, which would make it byte code together with this test
  plain <- as.function(alist(req = , paste("x")))
  late <- drover:::warm_up(list(handlers = list(plain), on_error = list(NULL)), seconds = 0)
  expect_identical(kind_of_code(late$handlers[[1L]]), "language")
})

test_that("what cannot be compiled stays as it is", {
  expect_identical(drover:::byte_compiled(sum), sum)
  plain <- function(req) "x"
  expect_identical(kind_of_code(drover:::byte_compiled(plain)), "bytecode")
  expect_identical(drover:::byte_compiled(plain)(1), "x")
})

test_that("without R's compiler at run time there is none here either", {
  before <- compiler::enableJIT(0L)
  withr::defer(compiler::enableJIT(before))
  plain <- function(req) paste("x")
  warmed <- drover:::warm_up(list(handlers = list(plain), on_error = list(NULL)))
  expect_identical(kind_of_code(warmed$handlers[[1]]), "language")
})
