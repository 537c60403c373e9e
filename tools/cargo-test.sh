#!/bin/bash
# `cargo test` with the arguments it is given, and none behind `--`; what fails is written down, and only that is run
# again, as tests/lib/failures.R says for the runners in R. A stage of tools/test.sh.

. "$(dirname "$0")/lib.sh"

again=()
if [ -n "${TEST_AGAIN:-}" ]; then
  mapfile -t again < <(head --quiet --lines=1 "$TEST_AGAIN"/* | sort --unique)
  again=(-- --exact "${again[@]}")
fi
output=$(mktemp)
trap 'rm -f "$output"' EXIT
cargo test "$@" --locked --no-fail-fast --quiet "${again[@]}" 2>&1 | tee "$output"
status=${PIPESTATUS[0]}
if [ -n "${TEST_FAILURES:-}" ]; then
  # libtest tells at the end of each program what every failed test has printed, under its name
  awk -v folder="$TEST_FAILURES" '
    /^---- .* stdout ----$/ {
      file = folder "/failure-" ++count
      sub(/^---- /, "")
      sub(/ stdout ----$/, "")
    }
    /^failures:$/ { file = "" }
    file { print > file }
  ' "$output"
fi
exit "$status"
