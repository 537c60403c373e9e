#!/bin/sh
# Sets up and runs the benchmark; see benchmarks/ for what is measured, and how. With PROFILE in the environment, the
# profile of one route instead: PROFILE=/ping, and APP for the file of another app.

. "$(dirname "$0")/lib.sh"
tools/setup.sh bench
if [ -n "${PROFILE:-}" ]; then
  tools/setup.sh profile
  # names of functions, which users do without
  export CARGO_PROFILE_RELEASE_STRIP=debuginfo
  set -- --profile "$PROFILE" ${APP:+--app "$APP"} "$@"
fi
tools/install.sh
exec benchmarks/run "$@"
