#!/bin/sh
# Builds the package from this tree and installs it into .Rlib, inside the tree. Arguments are passed on to R CMD
# INSTALL. BUILD in the environment says how the engine is built:
#   release  as users have it, the default
#   test     as the engine's own tests are, beside them: within seconds after a change, and slower; in .Rlib/test

. "$(dirname "$0")/lib.sh"
if [ "$build" = test ]; then export ENGINE_PROFILE=dev; fi
tools/web.sh
# a build that was killed has left it, and R would wait for somebody to remove it
rm -rf "$library"/00LOCK-*
# --preclean: objects are rebuilt when only a header has changed, which make does not see
R CMD INSTALL --preclean --no-multiarch --library="$library" "$@" .
