#!/bin/sh
# R CMD check of the package as it would be released, with its vignettes, and without the manual and the tests: those
# are for `make test`.

. "$(dirname "$0")/lib.sh"
tools/setup.sh test
tools/setup.sh site
rm -rf .Rcheck
mkdir -p .Rcheck/source
# only what git has: R CMD build would copy the engine's build folder before it leaves it out
git ls-files -z | xargs -0 cp --parents --target-directory .Rcheck/source
tools/web.sh
cp -r inst/web .Rcheck/source/inst
Rscript tools/vignettes.R .Rcheck/source
# what is built already need not be built again
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/src/rust/target}"
cd .Rcheck
# whether the packages under Suggests are all there does not matter here
export _R_CHECK_FORCE_SUGGESTS_=false
R CMD build --no-manual source
R CMD check --no-manual --no-tests drover_*.tar.gz
