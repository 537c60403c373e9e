# Plots as responses: drawn into a temporary file, which is sent and removed. Neighbour: response-file.R.

#' Answer with a plot
#'
#' Evaluates an expression that draws, with a graphics device open, and makes a response of the picture. A value that is
#' a plot (of 'ggplot2' or 'lattice', or recorded by [grDevices::recordPlot()]) is printed, as at the console. The
#' device is closed in any case, also when the expression fails; then the error is the handler's.
#'
#' No display is needed: bitmaps are drawn by cairo where this R has it. Of several pages, `dr_png()` and `dr_svg()`
#' send the last one, `dr_pdf()` all.
#'
#' A plot that is drawn outside of these functions goes nowhere: in worker processes, and in a script that serves, R's
#' default device is one without a file. A handler that returns a plot object fails with an error that names these
#' functions.
#'
#' @param expr What draws, such as `plot(x)`, or several expressions in braces. It is evaluated once, where it stands.
#' @param width,height The size of the picture: single numbers > 0, in pixels for `dr_png()`, in inches for the others.
#' @param res Pixels per inch, which text and lines scale with: a single number > 0.
#' @param ... Further arguments of [grDevices::png()], [grDevices::svg()] or [grDevices::pdf()], such as `bg` or
#'   `pointsize`, by name.
#' @inheritParams dr_file
#' @returns A `dr_response` as of [dr_file()], with the Content-Type `image/png`, `image/svg+xml` or `application/pdf`.
#' @section Errors: `drover_error_plot` when nothing was drawn or there is no such device; `drover_error_argument` when
#'   an argument is not as described; those of the expression.
#' @examples
#' app <- dr_app()
#' dr_get(app, "/cars.png", function(req) dr_png(plot(cars), width = 400, height = 300))
#' dr_get(app, "/cars.pdf", function(req) dr_pdf({
#'   plot(cars)
#'   abline(lm(dist ~ speed, cars))
#' }, download_as = "cars.pdf"))
#' @export
dr_png <- function(expr, width = 800, height = 600, res = 96, ..., status = 200L, headers = list(),
                   download_as = NULL) {
  check_extent(res, "res")
  bitmap <- if (capabilities("cairo")) "cairo" else getOption("bitmapType")
  open <- function(file, ...) grDevices::png(file, units = "px", res = res, ...)
  arguments <- utils::modifyList(list(width = width, height = height, type = bitmap), list(...))
  draw(open, grDevices::png, expr, arguments, sys.call(), ".png", "image/png", status, headers, download_as)
}

#' @rdname dr_png
#' @export
dr_svg <- function(expr, width = 8, height = 6, ..., status = 200L, headers = list(), download_as = NULL) {
  arguments <- list(width = width, height = height, ...)
  draw(
    grDevices::svg, grDevices::svg, expr, arguments, sys.call(), ".svg", "image/svg+xml", status, headers, download_as
  )
}

#' @rdname dr_png
#' @export
dr_pdf <- function(expr, width = 8, height = 6, ..., status = 200L, headers = list(), download_as = NULL) {
  arguments <- list(width = width, height = height, ...)
  draw(
    grDevices::pdf, grDevices::pdf, expr, arguments, sys.call(), ".pdf", "application/pdf", status, headers, download_as
  )
}

# `open` opens the device of `device` on a file; `expr` is a promise, which draws when it is looked at.
draw <- function(open, device, expr, arguments, call, extension, type, status, headers, download_as) {
  check_extent(arguments$width, "width", call)
  check_extent(arguments$height, "height", call)
  own <- names(formals(sys.function(-1L)))
  theirs <- setdiff(names(formals(device)), c("file", "filename"))
  wrong <- setdiff(names(call)[-1L], c("", own, theirs))
  if (length(wrong)) stop_name(wrong[[1L]], setdiff(c(own, theirs), "..."), call)
  file <- tempfile("drover-plot-", fileext = extension)
  before <- grDevices::dev.cur()
  plot <- NULL
  on.exit({
    if (!is.null(plot)) close_device(plot, before)
    unlink(file)
  })
  tryCatch(do.call(open, c(list(file), arguments)), error = function(error) {
    stop_drover("plot", paste("there is no device to draw with:", conditionMessage(error)), call = call, parent = error)
  })
  plot <- grDevices::dev.cur()
  drawn <- withVisible(expr)
  if (drawn$visible && is_plot(drawn$value)) print(drawn$value)
  close_device(plot, before)
  plot <- NULL
  if (!file.exists(file) || is_blank(file, type)) stop_drover("plot", "the expression has drawn nothing", call = call)
  dr_file(file, type, status = status, headers = headers, download_as = download_as, delete = TRUE)
}

# The expression may have closed it, or opened others.
close_device <- function(device, before) {
  if (device %in% grDevices::dev.list()) grDevices::dev.off(device)
  if (before %in% grDevices::dev.list()) grDevices::dev.set(before)
}

# What these devices leave in their file when nothing was drawn: no page, no element. png() makes no file then.
is_blank <- function(file, type) {
  if (type == "image/png" || file.size(file) > 1e4) return(FALSE)
  text <- paste(readLines(file, warn = FALSE), collapse = "\n")
  if (type == "application/pdf") return(grepl("/Count 0", text, fixed = TRUE, useBytes = TRUE))
  !grepl("<(rect|path|use|image)\\b", text, useBytes = TRUE)
}

check_extent <- function(x, arg, call = sys.call(-1L)) {
  if (is.numeric(x) && length(x) == 1L && is.finite(x) && x > 0) return(invisible())
  stop_argument(arg, "a single number > 0", x, call)
}

# What R opens when something draws and no device is open: by default a file Rplots.pdf in the working directory.
null_device <- function(...) grDevices::pdf(NULL)
