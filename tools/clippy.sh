#!/bin/bash
# Compiles the tests that `cargo test` with these arguments would run; a warning is an error. With clippy as the
# compiler (RUSTC_WORKSPACE_WRAPPER), its lints are warnings, too, and the tests are compiled for the stage that runs
# them: `cargo clippy` would compile everything a second time. A stage of tools/test.sh.

. "$(dirname "$0")/lib.sh"

output=$(mktemp)
trap 'rm -f "$output"' EXIT
# cargo tells again of warnings in what it has compiled before
cargo test --no-run "$@" --locked --quiet 2>&1 | tee "$output"
[ "${PIPESTATUS[0]}" -eq 0 ]
if grep --quiet '^warning' "$output"; then fail "there are warnings"; fi
