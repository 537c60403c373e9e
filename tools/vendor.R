# Packs the sources of the libraries that the engine is built of: Rscript tools/vendor.R FILE writes FILE, a .tar.xz
# with one folder `vendor`, from which src/Makevars.in builds without a network. Run by tools/tarball.sh.
#
# Of libraries for other systems only the manifests are packed: cargo looks at them, and builds none of them.

systems <- c("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "x86_64-unknown-linux-musl")

source("tools/cargo.R")

# Leaves a library's manifest, and what cargo needs to take it for a library that nothing has been changed in.
empty <- function(folder) {
  checksum <- file.path(folder, ".cargo-checksum.json")
  package <- jsonlite::fromJSON(checksum)$package
  files <- list.files(folder, all.files = TRUE, no.. = TRUE, full.names = TRUE)
  unlink(files[!basename(files) %in% "Cargo.toml"], recursive = TRUE)
  dir.create(file.path(folder, "src"))
  file.create(file.path(folder, "src", "lib.rs"))
  writeLines(sprintf("{\"files\":{},\"package\":\"%s\"}", package), checksum)
}

to <- commandArgs(trailingOnly = TRUE)
folder <- tempfile("vendor-")
vendor <- file.path(folder, "vendor")
dir.create(folder)
invisible(cargo("vendor", "--versioned-dirs", vendor))
libraries <- list.files(vendor)
# as folders of `cargo vendor` are called
built <- unlist(lapply(systems, crates_built, "normal,build", "-"))
for (library in setdiff(libraries, built)) empty(file.path(vendor, library))
# GNU's format has no bound on the length of names, and R reads it; the same sources make the same file
options <- c("--format=gnu", "--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--mode=go=rX,u+rw")
status <- system2("tar", c("-C", folder, options, "-cf", "-", "vendor", "|", "xz", "-9", "-T0", ">", shQuote(to)))
unlink(folder, recursive = TRUE)
if (status != 0L) stop("the sources could not be packed")
