#' @keywords internal
#' @importFrom later next_op_secs run_now
#' @useDynLib drover, .registration = TRUE, .fixes = "C_"
"_PACKAGE"
