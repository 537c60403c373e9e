#!/bin/sh
# Builds what is released: tools/release.sh [FOLDER], by default this one.
#   drover_VERSION.tar.gz                           the source package (tarball.sh)
#   drover_VERSION_R_x86_64-pc-linux-gnu.tar.gz     made of it: R CMD INSTALL of it needs no compiler

. "$(dirname "$0")/lib.sh"
to=$(realpath "${1:-.}")
tools/tarball.sh "$to"
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
# as a user's machine builds it, of nothing that is in this tree
(cd "$to" && env -u CARGO_TARGET_DIR MAKEFLAGS="-j$(nproc)" R CMD INSTALL --build --no-multiarch --library="$built" drover_*[0-9].tar.gz)
du -sh "$built/drover"
