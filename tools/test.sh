#!/bin/bash
# Runs everything that must pass and counts: tools/test.sh [STAGE...]; all stages without arguments. With --quick only
# what finds most mistakes within three minutes, against a build that is made in a hurry. The last line is "N passed, N
# failed" over all stages, and the exit status is 1 when anything failed. A stage that fails does not keep later ones
# from running. Each stage has a time after which it is ended and counts as failed.
#
# Stages stand in lanes, which run side by side: compilers keep one core busy while the tests of processes wait for most
# of their time. What a stage prints is shown when it ends, or as it comes when only one stage was asked for.
#
# Not for what a stage does: that is the stage's own runner. A runner says how it went in one of the forms that
# counts_of() knows; one that says nothing counts as one test, by its exit status.

quick=no
if [ "${1:-}" = --quick ]; then
  shift
  quick=yes
  export BUILD=dev
fi
. "$(dirname "$0")/lib.sh"

# What CI gives the whole run, in seconds: in each lane the limits of the stages are less in sum.
CI_LIMIT=5400

selected="$*"
work=$(mktemp -d)
lanes=()
end_lanes() {
  local lane
  for lane in "${lanes[@]:-}"; do
    # the shell of a lane ends its stage when it is told to end
    if [ -n "$lane" ]; then kill -TERM "$lane" 2> /dev/null || true; fi
  done
  wait
}
trap 'end_lanes; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

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

# The stages, in the order of the summary: names, lanes, times, and commands as the shell reads them.
names=()
lane_of=()
seconds_of=()
command_of=()

# stage LANE NAME SECONDS COMMAND...
stage() {
  lane_of+=("$1")
  names+=("$2")
  seconds_of+=("$3")
  shift 3
  command_of+=("$(printf '%q ' "$@")")
}

# package_stage LANE NAME SECONDS COMMAND...: a stage that tests the installed package, which is this tree's.
package_stage() {
  local lane=$1 name=$2 seconds=$3
  shift 3
  # shellcheck disable=SC2016 # for the shell of the stage
  stage "$lane" "$name" "$seconds" bash -c '
    if [ ! -d "$R_LIBS_DROVER/drover" ]; then echo "not run: the package is not installed"; exit 1; fi
    exec "$@"' "$name" "$@"
}
export R_LIBS_DROVER=$library

# has COMMAND...: whether a tool is there.
has() { "$@" > /dev/null 2>&1; }

# full_stage, full_package_stage: those that --quick leaves out.
full_stage() { if [ "$quick" = no ]; then stage "$@"; fi; }
full_package_stage() { if [ "$quick" = no ]; then package_stage "$@"; fi; }

# skipped LANE NAME REASON: a stage that cannot be run here.
skipped() { stage "$1" "$2" 0 sh -c "echo 'skipped: $3'; echo '0 passed, 0 failed, 1 skipped'"; }

is_selected() { [ -z "$selected" ] || [[ " $selected " == *" $1 "* ]]; }

# Runs stage number $1: its output to a file, its row of the summary to another.
run_stage() {
  local name=${names[$1]} seconds=${seconds_of[$1]} status=0 counts p f s started=$SECONDS output command
  output=$work/$name.output
  eval "command=(${command_of[$1]})"
  : > "$output"
  # `timeout` leads a process group of its own
  timeout --kill-after=10 "$seconds" "${command[@]}" < /dev/null > "$output" 2>&1 &
  running=$!
  if [ "$live" = yes ]; then
    printf '\n== %s\n' "$name"
    # rather than through a pipe, which a process that the stage leaves behind would keep open
    tail --quiet --lines=+1 --follow --sleep-interval=0.2 --pid="$running" "$output" &
  fi
  wait "$running" || status=$?
  end_stage
  wait
  counts=$(counts_of "$output")
  if [ -n "$counts" ]; then
    read -r p f s <<< "$counts"
    if [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then f=1; fi
  elif [ "$status" -eq 0 ]; then
    p=1 f=0 s=0
  else
    p=0 f=1 s=0
  fi
  {
    flock 9
    if [ "$live" = no ]; then
      printf '\n== %s\n' "$name"
      cat "$output"
    fi
    if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then echo "$name: ended after $seconds seconds"; fi
  } 9> "$work/lock"
  echo "$p $f $s $((SECONDS - started))" > "$work/$name.counts"
}

# Ends the stage that a lane runs.
running=""
end_stage() {
  if [ -n "$running" ]; then kill -TERM -- "-$running" 2> /dev/null || true; fi
  running=""
}

# run_lane NAME: its stages, one after the other.
run_lane() {
  local i
  trap 'end_stage; exit 143' TERM
  trap - EXIT INT
  # what is tested is this tree's package, and no other that is installed already
  if [ "$1" != package ] && [ "$1" != engine ] && is_selected install; then
    while [ ! -e "$work/install.counts" ]; do sleep 0.2; done
  fi
  for i in "${!names[@]}"; do
    if [ "${lane_of[$i]}" = "$1" ] && is_selected "${names[$i]}"; then run_stage "$i"; fi
  done
}

manifest=(--manifest-path src/rust/Cargo.toml)

# not a stage: sudo may ask for a password
tools/setup.sh test || {
  echo "0 passed, 1 failed"
  exit 1
}
if [ "$quick" = no ] && is_selected browser; then tools/setup.sh browser || true; fi # the stage says what is missing
# nor is this: stages that read what cargo has fetched run beside those that build. Without the network, they say so.
cargo fetch "${manifest[@]}" --locked --quiet --target "$(rustc -vV | sed -n 's/^host: //p')" || true

# The same for programs that are not in Debian.
tools/python-programs.sh || true

# The lane `engine`: what needs no installed package.
if has cargo fmt --version; then
  stage engine fmt 20 cargo fmt "${manifest[@]}" --all --check
else
  skipped engine fmt "this Rust toolchain has no rustfmt"
fi
stage engine architecture 120 Rscript tests/architecture/run.R
full_stage engine docs 120 tools/docs.sh --check
full_stage engine lint 300 tools/lint.sh
full_stage engine site 400 tools/site.sh "$work/site"
if has cargo clippy --version; then
  stage engine clippy 480 cargo clippy "${manifest[@]}" --workspace --all-targets --locked --quiet -- -D warnings
else
  skipped engine clippy "this Rust toolchain has no clippy"
fi
stage engine cargo-test 1200 cargo test "${manifest[@]}" --workspace --locked --no-fail-fast --quiet
# In a folder of its own: the flag is for all crates, and would have the others built anew each time.
full_stage engine loom 300 env RUSTFLAGS="--cfg loom" CARGO_PROFILE_RELEASE_LTO=off cargo test "${manifest[@]}" \
  --package shm --lib --release --target-dir src/rust/target/loom --locked --quiet
full_stage engine sanitize 600 tools/sanitize.sh
# The corpora of the fuzz targets; looking for more is `make fuzz`. There, as cargo looks for its settings where it is
# run.
full_stage engine fuzz-replay 900 env -C tests/fuzz cargo test --locked --quiet

# The lane `package`. Warnings of the C compiler are errors here, not at the user's.
stage package install 900 env R_MAKEVARS_USER="$root/tools/Makevars.strict" tools/install.sh
# Those of R code wait more than they compute: in a hurry they run in two halves at once, without the longest.
if [ "$quick" = yes ]; then
  short='^(?!faults|json-read|.*-(faults|floods|later|times)$)'
  package_stage package testthat 300 Rscript tests/testthat-run.R "${short}[a-l]"
  package_stage process testthat-m-z 300 Rscript tests/testthat-run.R "${short}[m-z]"
else
  package_stage package testthat 1200 Rscript tests/testthat-run.R
fi
full_package_stage package fuzz-json 120 Rscript tests/fuzz/json.R
full_package_stage package conformance 480 Rscript tests/conformance/run.R
full_package_stage package h2spec 300 tools/h2spec.sh
# Messages and frames of WebSockets, as a client sends them that may break every rule.
full_package_stage package websocket 300 Rscript tests/websocket/run.R
full_package_stage package examples 480 Rscript tests/examples/run.R
full_package_stage package browser 120 tools/browser.sh
# The same requests to plumber or httpuv, and to drover.
full_package_stage package plumber 300 Rscript tests/plumber/run.R

# The lanes `process` and `ways`, which begin when the package is installed: their tests wait more than they compute.
full_package_stage process process 1800 Rscript tests/process/run.R
# Each test once more, in one of the other ways to start a server: all of them are WAYS=all.
full_package_stage ways process-ways 1800 env WAYS=others Rscript tests/process/run.R

for lane in engine package process ways; do
  sum=0
  for i in "${!names[@]}"; do
    # the last two begin when the package is installed
    if [ "${lane_of[$i]}" = "$lane" ] || { [ "${names[$i]}" = install ] && [[ $lane = process || $lane = ways ]]; }; then
      sum=$((sum + seconds_of[i]))
    fi
  done
  if [ "$sum" -ge "$CI_LIMIT" ]; then fail "the limits of the lane $lane are $sum s in sum, and CI's is $CI_LIMIT s"; fi
done

chosen=0
for name in "${names[@]}"; do if is_selected "$name"; then chosen=$((chosen + 1)); fi; done
if [ "$chosen" -eq 0 ]; then fail "no stage is called '$selected'; there are: ${names[*]}"; fi
live=no
if [ "$chosen" -eq 1 ]; then live=yes; fi

for lane in engine package process ways; do
  run_lane "$lane" &
  lanes+=($!)
done
wait
lanes=()

passed=0
failed=0
printf '\n== summary\n'
for name in "${names[@]}"; do
  if ! is_selected "$name"; then continue; fi
  # a stage without counts was never run to its end
  read -r p f s seconds <<< "$(cat "$work/$name.counts" 2> /dev/null || echo 0 1 0 0)"
  printf '%-14s %6d passed %4d failed %4d skipped %5d s\n' "$name" "$p" "$f" "$s" "$seconds"
  passed=$((passed + p))
  failed=$((failed + f))
done
printf '\n%d s\n%d passed, %d failed\n' "$SECONDS" "$passed" "$failed"
[ "$failed" -eq 0 ]
