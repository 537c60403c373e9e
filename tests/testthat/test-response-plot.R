# dr_png(), dr_svg(), dr_pdf().

bytes <- function(response) response$body
is_png <- function(response) identical(bytes(response)[2:4], charToRaw("PNG"))
# width and height are the first fields of a PNG
png_size <- function(response) readBin(bytes(response)[17:24], "integer", 2L, endian = "big")

test_that("what is drawn is sent, with its type and size", {
  before <- grDevices::dev.list()
  picture <- dr_png(plot(1:3), width = 300, height = 200, headers = list("X-A" = "1"))
  expect_s3_class(picture, "dr_response")
  expect_true(is_png(picture))
  expect_identical(png_size(picture), c(300L, 200L))
  expect_identical(picture$headers, list("Content-Type" = "image/png", "X-A" = "1"))
  expect_match(rawToChar(bytes(dr_svg(plot(1:3)))), "<svg", fixed = TRUE)
  pdf <- dr_pdf({
    plot(1:3)
    plot(3:1)
  }, download_as = "two.pdf")
  expect_match(rawToChar(bytes(pdf)[1:5]), "%PDF-", fixed = TRUE)
  expect_true(any(grepl("/Count 2", rawToChar(bytes(pdf)[bytes(pdf) != 0L]), fixed = TRUE, useBytes = TRUE)))
  expect_match(pdf$headers[["Content-Disposition"]], "two.pdf")
  expect_identical(grDevices::dev.list(), before)
  expect_length(list.files(tempdir(), "^drover-plot-"), 0L)
})

test_that("plot objects are printed, and the expression sees where it stands", {
  print.ggplot <- function(x, ...) plot(unclass(x))
  registerS3method("print", "ggplot", print.ggplot)
  expect_true(is_png(dr_png(structure(1:3, class = "ggplot"))))
  draw_it <- function(x) dr_png(plot(x))
  expect_true(is_png(draw_it(1:3)))
  expect_error(as_response(structure(list(1), class = "ggplot")), "send it with dr_png()", fixed = TRUE)
})

test_that("an error within is the handler's, and nothing stays", {
  before <- grDevices::dev.list()
  expect_error(dr_png({
    plot(1:3)
    stop("on purpose")
  }), "on purpose")
  expect_identical(grDevices::dev.list(), before)
  for (draw in list(dr_png, dr_svg, dr_pdf)) {
    expect_error(draw(NULL), "has drawn nothing", class = "drover_error_plot")
  }
  expect_identical(grDevices::dev.list(), before)
  expect_length(list.files(tempdir(), "^drover-plot-"), 0L)
  # a device that was open stays the one in use
  grDevices::pdf(NULL)
  mine <- grDevices::dev.cur()
  dr_png(plot(1))
  expect_identical(grDevices::dev.cur(), mine)
  dr_svg({
    plot(1)
    grDevices::dev.off()
  })
  expect_identical(grDevices::dev.cur(), mine)
  grDevices::dev.off(mine)
})

test_that("wrong arguments are named", {
  expect_argument_error(dr_png(plot(1), width = 0), "`width` must be a single number > 0")
  expect_argument_error(dr_png(plot(1), res = "x"), "`res` must be a single number > 0")
  expect_argument_error(dr_svg(plot(1), widht = 3), "did you mean `width`?", fixed = TRUE)
  expect_argument_error(dr_pdf(plot(1), status = 99), "`status`")
})

test_that("workers draw without a display, and a stray plot is no file", {
  folder <- withr::local_tempdir()
  app <- dr_app()
  local({
    folder <- folder
    dr_on_worker_start(app, function() setwd(folder))
  })
  dr_get(app, "/png", function(req) dr_png(plot(1:3), width = 400, height = 300))
  dr_get(app, "/stray", function(req) plot(1:3))
  withr::local_envvar(DISPLAY = "")
  server <- serve_workers(app)
  answer <- http(sprintf("http://127.0.0.1:%d", server$port), "/png")
  expect_identical(answer$headers[["content-type"]], "image/png")
  expect_identical(answer$raw[2:4], charToRaw("PNG"))
  expect_identical(http(sprintf("http://127.0.0.1:%d", server$port), "/stray")$status, 204L)
  expect_length(list.files(folder), 0L)
})

test_that("a stray plot in a script that serves is no file", {
  folder <- withr::local_tempdir()
  server <- local_server({
    app <- dr_app()
    dr_get(app, "/stray", function(req) graphics::plot(1:3))
  }, setup = sprintf("setwd(%s)", deparse(folder)))
  expect_identical(http(server, "/stray")$status, 204L)
  expect_length(list.files(folder), 0L)
})
