# Run by R CMD INSTALL in src/, in place of its own copying of shared objects: there are the engine's library, a program
# and the notices of the libraries to install, too. What R gives: R_PACKAGE_DIR, R_ARCH, SHLIB_EXT, WINDOWS.

# An earlier one may be in use: it keeps its file, as the name is given to a new one.
install <- function(files, folder) {
  dir.create(folder, recursive = TRUE, showWarnings = FALSE)
  unlink(file.path(folder, basename(files)))
  if (!all(file.copy(files, folder))) stop("cannot copy ", toString(files), " to ", folder)
}

# as in Makevars.in
built <- file.path(
  Sys.getenv("CARGO_TARGET_DIR", file.path("rust", "target")),
  sub("^dev$", "debug", Sys.getenv("ENGINE_PROFILE", "release"))
)
libs <- file.path(R_PACKAGE_DIR, paste0("libs", R_ARCH))
# there when R was asked to look at symbols
symbols <- Filter(file.exists, "symbols.rds")
install(c(Sys.glob(paste0("*", SHLIB_EXT)), symbols, file.path(built, "libdrover_rust.so")), libs)
bin <- file.path(R_PACKAGE_DIR, "bin")
install(file.path(built, "program", "drover"), bin)
Sys.chmod(file.path(bin, "drover"), "755", use_umask = FALSE)

# read seldom, and a third of a megabyte of text (.Rinstignore)
notices <- file.path("..", "inst", "THIRD-PARTY")
packed <- gzfile(file.path(R_PACKAGE_DIR, "THIRD-PARTY.gz"), "wb", compression = 9)
writeBin(readBin(notices, "raw", file.size(notices)), packed)
close(packed)
