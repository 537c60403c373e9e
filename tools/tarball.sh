#!/bin/sh
# Builds the source package as it is released, with the pages of docs/ as vignettes: tools/tarball.sh [FOLDER], by
# default this one. R CMD INSTALL of it needs neither knitr nor pandoc, and vignette(package = "drover") lists them.
# Not for a package to try: tools/install.sh.

. "$(dirname "$0")/lib.sh"
tools/setup.sh site
to=$(realpath "${1:-.}")
source=$(mktemp -d)
trap 'rm -rf "$source"' EXIT
# only what git has: R CMD build would copy the engine's build folder before it leaves it out
git ls-files -z | xargs -0 cp --parents --target-directory "$source"
tools/web.sh
cp -r inst/web "$source/inst"
Rscript tools/vignettes.R "$source"
# R builds the package before its vignettes; what is built already need not be built again
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/src/rust/target}"
cd "$to"
R CMD build --no-manual "$source"
