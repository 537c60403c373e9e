#!/bin/sh
# Builds the package from this tree and installs it into .Rlib, inside the tree. Arguments are passed on to R CMD
# INSTALL. BUILD in the environment says how the engine is built:
#   release  as users have it, the default
#   test     without optimisation across crates, which takes half of the time: what `make test` tests, in .Rlib/test
#   dev      within seconds after a change, and slower, in .Rlib/dev

. "$(dirname "$0")/lib.sh"
case $build in
  release) ;;
  test)
    export CARGO_PROFILE_RELEASE_DEBUG=false
    ;;
  dev)
    export CARGO_PROFILE_RELEASE_INCREMENTAL=true CARGO_PROFILE_RELEASE_OPT_LEVEL=1
    set -- --no-docs --no-test-load "$@"
    ;;
  *) fail "BUILD is release, test or dev, not '$build'" ;;
esac
if [ "$build" != release ]; then
  export CARGO_TARGET_DIR="$root/src/rust/target/$build"
  export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
fi
tools/web.sh
# a build that was killed has left it, and R would wait for somebody to remove it
rm -rf "$library"/00LOCK-*
# --preclean: objects are rebuilt when only a header has changed, which make does not see
R CMD INSTALL --preclean --no-multiarch --library="$library" "$@" .
