# Run by R CMD INSTALL in src/, in place of its own copying of shared objects: there is a program to install, too.
# What R gives: R_PACKAGE_DIR, R_ARCH, SHLIB_EXT, WINDOWS.

libs <- file.path(R_PACKAGE_DIR, paste0("libs", R_ARCH))
dir.create(libs, recursive = TRUE, showWarnings = FALSE)
objects <- Sys.glob(paste0("*", SHLIB_EXT))
# there when R was asked to look at symbols
symbols <- Filter(file.exists, "symbols.rds")
if (!all(file.copy(c(objects, symbols), libs, overwrite = TRUE))) stop("cannot copy the shared object to ", libs)

# as in Makevars.in
target <- Sys.getenv("CARGO_TARGET_DIR", file.path("rust", "target"))
folder <- sub("^dev$", "debug", Sys.getenv("ENGINE_PROFILE", "release"))
bin <- file.path(R_PACKAGE_DIR, "bin")
dir.create(bin, showWarnings = FALSE)
program <- file.path(bin, "drover")
# an earlier one may be running: it keeps its file, as the name is given to a new one
unlink(program)
if (!file.copy(file.path(target, folder, "drover"), program)) stop("cannot copy the program to ", bin)
Sys.chmod(program, "755", use_umask = FALSE)
