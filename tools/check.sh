#!/bin/sh
# R CMD check of the package as it is released, without the manual and the tests: those are for `make test`. And that
# its vignettes are there when it is installed.

. "$(dirname "$0")/lib.sh"
tools/setup.sh test
rm -rf .Rcheck
mkdir .Rcheck
# whether the packages under Suggests are all there does not matter here
export _R_CHECK_FORCE_SUGGESTS_=false
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/src/rust/target}"
tools/tarball.sh .Rcheck
(cd .Rcheck && R CMD check --no-manual --no-tests drover_*.tar.gz)
Rscript tools/vignettes.R --installed .Rcheck/drover.Rcheck
