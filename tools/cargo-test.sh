#!/bin/bash
# `cargo test` with the arguments it is given, and none behind `--`; what fails is written down, and only that is run
# again, as tests/lib/failures.R says for the runners in R. With --no-run among them the tests are only compiled, and a
# warning is an error; with clippy as the compiler (RUSTC_WORKSPACE_WRAPPER) its lints are warnings, too: `cargo clippy`
# would compile everything a second time. Stages of tools/test.sh.

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
# cargo tells again of warnings in what it has compiled before
if [[ " $* " == *" --no-run "* ]] && grep --quiet '^warning' "$output"; then fail "there are warnings"; fi
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
