#!/bin/sh
# Builds the package from this tree and installs it into .Rlib, inside the tree.
# Arguments are passed on to R CMD INSTALL.

. "$(dirname "$0")/lib.sh"
# --preclean: objects are rebuilt when only a header has changed, which make does not see
R CMD INSTALL --preclean --no-multiarch --library="$library" "$@" .
