#!/bin/sh
# Sets up and runs the benchmark; see benchmarks/ for what is measured, and how.

. "$(dirname "$0")/lib.sh"
tools/setup.sh bench
tools/install.sh
exec benchmarks/run "$@"
