#!/bin/sh
# Builds the package from this tree and installs it into .Rlib, inside the tree.
# Arguments are passed on to R CMD INSTALL. With BUILD=dev in the environment the engine is built within seconds after a
# change, and is slower: without optimisation across crates, in a folder of its own, for the library .Rlib/dev.

. "$(dirname "$0")/lib.sh"
if [ "${BUILD:-release}" = dev ]; then
  export CARGO_TARGET_DIR="$root/src/rust/target/dev" CARGO_PROFILE_RELEASE_INCREMENTAL=true
  export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_OPT_LEVEL=1
  set -- --no-docs --no-test-load "$@"
fi
tools/web.sh
# a build that was killed has left it, and R would wait for somebody to remove it
rm -rf "$library"/00LOCK-*
# --preclean: objects are rebuilt when only a header has changed, which make does not see
R CMD INSTALL --preclean --no-multiarch --library="$library" "$@" .
