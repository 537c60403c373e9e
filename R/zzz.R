# What happens when the package goes.

.onUnload <- function(libpath) {
  if (service_running()) service_stop(0) else if (engine_running()) engine_stop(0, 0)
  library.dynam.unload("drover", libpath)
}
