#!/bin/sh
# Sets up and runs the soak for some minutes: tools/soak.sh [MINUTES]; tests/process/soak.R says of what.

. "$(dirname "$0")/lib.sh"
tools/setup.sh test
tools/install.sh
exec Rscript tests/process/soak.R "$@"
