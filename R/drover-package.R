#' @keywords internal
#' @useDynLib drover, .registration = TRUE, .fixes = "C_"
"_PACKAGE"
