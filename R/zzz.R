# What happens when the package goes.

.onUnload <- function(libpath) {
  if (engine_running()) engine_stop(0)
  library.dynam.unload("drover", libpath)
}
