#!/bin/sh
# Builds the source package as it is released, with the sources of the engine's libraries, and the pages of docs/ as
# vignettes: tools/tarball.sh [FOLDER], by default this one. R CMD INSTALL of it needs neither a network nor knitr nor
# pandoc, and vignette(package = "drover") lists the pages. Not for a package to try: tools/install.sh.

. "$(dirname "$0")/lib.sh"
tools/setup.sh site
to=$(realpath "${1:-.}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/source"
# only what git has: R CMD build would copy the engine's build folder before it leaves it out
git ls-files -z | xargs -0 cp --parents --target-directory "$work/source"
tools/web.sh
cp -r inst/web "$work/source/inst"
Rscript tools/vignettes.R "$work/source"
# R builds the package before its vignettes: as the tests have it, which is quick, and partly there already
(cd "$work" && ENGINE_PROFILE=dev CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/src/rust/target}" R CMD build --no-manual source)
# packed afterwards, so that this build could do without
tar -C "$work" -xzf "$work"/drover_*.tar.gz
Rscript tools/vendor.R "$work/drover/src/rust/vendor.tar.xz"
for package in "$work"/drover_*.tar.gz; do
  tar -C "$work" --owner=0 --group=0 --numeric-owner -czf "$to/${package##*/}" drover
  ls -l "$to/${package##*/}"
done
