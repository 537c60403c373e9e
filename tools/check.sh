#!/bin/sh
# R CMD check of the built package, without the manual and the tests: those are for `make test`.

. "$(dirname "$0")/lib.sh"
tools/setup.sh test
mkdir -p .Rcheck
export _R_CHECK_FORCE_SUGGESTS_=false
R CMD build --no-manual --no-build-vignettes .
mv drover_*.tar.gz .Rcheck/
R CMD check --no-manual --no-tests --output=.Rcheck .Rcheck/drover_*.tar.gz
