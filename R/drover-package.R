#' @keywords internal
#' @importFrom later run_now
#' @useDynLib drover, .registration = TRUE, .fixes = "C_"
"_PACKAGE"
