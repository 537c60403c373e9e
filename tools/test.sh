#!/bin/bash
# Runs everything that must pass, stage by stage, and counts: tools/test.sh [STAGE...]; all stages without arguments.
# The last line is "N passed, N failed" over all stages, and the exit status is 1 when anything failed. A stage that
# fails does not keep later ones from running. Each stage has a time after which it is ended and counts as failed.
#
# Not for what a stage does: that is the stage's own runner. A runner says how it went in one of the forms that
# counts_of() knows; one that says nothing counts as one test, by its exit status.

. "$(dirname "$0")/lib.sh"

work=$(mktemp -d)
running=""
end_running() {
  if [ -n "$running" ]; then kill -TERM -- "-$running" 2> /dev/null || true; fi
  running=""
}
trap 'end_running; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
passed=0
failed=0
skipped=0
summary=""
selected="$*"

# Adds up what a stage's output says: "passed failed skipped", or nothing when it has no counts.
counts_of() {
  awk '
    # cargo test, one line for each test program
    /^test result:/ {
      for (i = 1; i <= NF; i++) {
        if ($i == "passed;") passed += $(i - 1)
        if ($i == "failed;") failed += $(i - 1)
        if ($i == "ignored;") skipped += $(i - 1)
      }
      seen = 1
    }
    # the runners of this repository
    /^[0-9]+ passed, [0-9]+ failed/ { passed += $1; failed += $3; if ($6 == "skipped") skipped += $5; seen = 1 }
    END { if (seen) print passed + 0, failed + 0, skipped + 0 }
  ' "$1"
}

# stage NAME SECONDS COMMAND...: runs the command, shows its output, and adds its counts.
stage() {
  local name=$1 seconds=$2 status=0 counts p f s started=$SECONDS
  shift 2
  if [ -n "$selected" ] && [[ " $selected " != *" $name "* ]]; then return; fi
  printf '\n== %s\n' "$name"
  # In the background, and shown by tail rather than through a pipe: a process that a stage leaves behind would keep a
  # pipe open, and the shell would not act on Ctrl-C. `timeout` leads a process group of its own.
  : > "$work/output"
  timeout --kill-after=10 "$seconds" "$@" < /dev/null > "$work/output" 2>&1 &
  running=$!
  tail --quiet --lines=+1 --follow --sleep-interval=0.2 --pid="$running" "$work/output" &
  wait "$running" || status=$?
  wait $!
  end_running
  counts=$(counts_of "$work/output")
  if [ -n "$counts" ]; then
    read -r p f s <<< "$counts"
    if [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then f=1; fi
  elif [ "$status" -eq 0 ]; then
    p=1 f=0 s=0
  else
    p=0 f=1 s=0
  fi
  if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then echo "$name: ended after $seconds seconds"; fi
  passed=$((passed + p))
  failed=$((failed + f))
  skipped=$((skipped + s))
  summary+=$(printf '%-14s %6d passed %4d failed %4d skipped %5d s' "$name" "$p" "$f" "$s" $((SECONDS - started)))$'\n'
}

skip() {
  if [ -n "$selected" ] && [[ " $selected " != *" $1 "* ]]; then return; fi
  printf '\n== %s\nskipped: %s\n' "$1" "$2"
  summary+=$(printf '%-14s skipped: %s' "$1" "$2")$'\n'
}

# A stage that tests the installed package: this tree's, and not one that is installed elsewhere.
package_stage() {
  if [ -d "$library/drover" ]; then
    stage "$@"
  else
    stage "$1" 5 sh -c 'echo "not run: the package is not installed"; exit 1'
  fi
}

manifest=(--manifest-path src/rust/Cargo.toml)

# not a stage: sudo may ask for a password
tools/setup.sh test || {
  echo "0 passed, 1 failed"
  exit 1
}

if cargo fmt --version > /dev/null 2>&1; then
  stage fmt 60 cargo fmt "${manifest[@]}" --all --check
else
  skip fmt "this Rust toolchain has no rustfmt"
fi

# First the package: what it compiles is what everything after it tests.
# Warnings of the C compiler are errors here, not at the user's.
stage install 900 env R_MAKEVARS_USER="$root/tools/Makevars.strict" tools/install.sh

if cargo clippy --version > /dev/null 2>&1; then
  stage clippy 600 cargo clippy "${manifest[@]}" --workspace --all-targets --locked --quiet -- -D warnings
else
  skip clippy "this Rust toolchain has no clippy"
fi

stage cargo-test 900 cargo test "${manifest[@]}" --workspace --locked --no-fail-fast --quiet
# In a folder of its own: the flag is for all crates, and would have the others built anew each time.
stage loom 600 env RUSTFLAGS="--cfg loom" CARGO_PROFILE_RELEASE_LTO=off cargo test "${manifest[@]}" --package shm --lib --release \
  --target-dir src/rust/target/loom --locked --quiet
stage sanitize 600 tools/sanitize.sh
# The corpora of the fuzz targets; looking for more is `make fuzz`. There, as cargo looks for its settings where it is run.
stage fuzz-replay 900 env -C tests/fuzz cargo test --locked --quiet
stage architecture 60 Rscript tests/architecture/run.R
package_stage testthat 900 Rscript tests/testthat-run.R
package_stage fuzz-json 120 Rscript tests/fuzz/json.R
package_stage conformance 600 Rscript tests/conformance/run.R
package_stage h2spec 300 tools/h2spec.sh
package_stage examples 300 Rscript tests/examples/run.R
package_stage process 900 Rscript tests/process/run.R
# Each test once more, in one of the other ways to start a server: all of them are WAYS=all.
package_stage process-ways 900 env WAYS=others Rscript tests/process/run.R

if [ -z "$summary" ]; then fail "no stage is called '$selected'"; fi
printf '\n== summary\n%s\n%d passed, %d failed\n' "$summary" "$passed" "$failed"
[ "$failed" -eq 0 ]
