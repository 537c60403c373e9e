# What happens when the package comes and goes.

.onLoad <- function(libname, pkgname) watch_session()

.onUnload <- function(libpath) {
  if (service_running()) service_stop(0) else if (engine_running()) engine_stop(0, 0)
  library.dynam.unload("drover", libpath)
}
