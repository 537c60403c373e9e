#!/bin/sh
# Builds the tree quickly and serves an app with it: tools/dev.sh FILE [OPTION...], options as of `drover serve`.
# Not for measuring: the engine is not optimised as it is for users; see install.sh.

export BUILD=test
file=$(realpath "${1:?which file? make dev FILE=app.R}")
shift
. "$(dirname "$0")/lib.sh"
tools/setup.sh run
install_quietly building
exec "$library/drover/bin/drover" serve "$file" "$@"
