#!/bin/sh
# Builds the tree quickly and serves an app with it: tools/dev.sh FILE [OPTION...], options as of `drover serve`.
# Not for measuring: the engine is not optimised as it is for users; see install.sh.

export BUILD=dev
file=$(realpath "${1:?which file? make dev FILE=app.R}")
shift
. "$(dirname "$0")/lib.sh"
tools/setup.sh run
log="$library/install.log"
echo "building (details: $log)" >&2
tools/install.sh > "$log" 2>&1 || {
  cat "$log" >&2
  fail "the package could not be built"
}
exec "$library/drover/bin/drover" serve "$file" "$@"
