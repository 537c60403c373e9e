# What happens when the package comes and goes.

.onLoad <- function(libname, pkgname) {
  watch_session()
  # whoever loads it; this package may have gone by then, and have come again
  when_loaded("later", function() if (isNamespaceLoaded("drover")) asNamespace("drover")$later_has_come())
}

later_has_come <- function() {
  .Call(C_later_loaded)
  fetch_package("later")
}

.onUnload <- function(libpath) {
  if (service_running()) service_stop(0) else if (engine_running()) engine_stop(0, 0)
  library.dynam.unload("drover", libpath)
}
