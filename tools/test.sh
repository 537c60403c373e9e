#!/bin/bash
# Runs everything that must pass and counts: tools/test.sh [STAGE...]; all stages without arguments. With --quick only
# what finds most mistakes within three minutes, against a build that is made in a hurry. The last line is "N passed, N
# failed" over all stages, and the exit status is 1 when anything failed. A stage that fails does not keep later ones
# from running. Each stage has a time after which it is ended and counts as failed.
#
# Stages stand in lanes, which run side by side: compilers keep one core busy while the tests of processes wait for most
# of their time. Several lanes share those that test the installed package, and each takes the next one when it is free.
# What a stage prints is shown when it ends, or as it comes when only one stage was asked for.
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

# What CI gives the whole run, in seconds: no lane can take as long, as each stage is ended at its limit.
CI_LIMIT=5400

# How many lanes share the stages that test the package.
PACKAGE_LANES=2

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

# How many seconds of CPU the stages of this lane have used: the children that its shell has waited for, and theirs.
cpu_time() {
  awk -v ticks="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print int(($14 + $15) / ticks) }' "/proc/$lane/stat"
}

# Runs stage number $1: its output to a file, its row of the summary to another.
run_stage() {
  local name=${names[$1]} seconds=${seconds_of[$1]} status=0 counts p f s started=$SECONDS output command cpu
  cpu=$(cpu_time)
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
  echo "$p $f $s $((SECONDS - started)) $(($(cpu_time) - cpu))" > "$work/$name.counts"
}

# Ends the stage that a lane runs.
running=""
end_stage() {
  if [ -n "$running" ]; then kill -TERM -- "-$running" 2> /dev/null || true; fi
  running=""
}

# run_lane NAME: its stages, one after the other, without those that another lane of this name has begun.
run_lane() {
  local i lane=$BASHPID
  trap 'end_stage; exit 143' TERM
  trap - EXIT INT
  # what is tested is this tree's package, and no other that is installed already
  if [ "$1" = package ] && is_selected install; then
    while [ ! -e "$work/install.counts" ]; do sleep 0.2; done
  fi
  for i in "${!names[@]}"; do
    if [ "${lane_of[$i]}" = "$1" ] && is_selected "${names[$i]}" && mkdir "$work/${names[$i]}.begun" 2> /dev/null; then
      run_stage "$i"
    fi
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
# The corpora of the fuzz targets; looking for more is `make fuzz`. Built where the engine's tests are: most of what it
# takes is there already.
full_stage engine fuzz-replay 600 cargo test --manifest-path tests/fuzz/Cargo.toml --locked --quiet \
  --target-dir src/rust/target

# The lane `install`. Warnings of the C compiler are errors here, not at the user's.
stage install install 1300 env R_MAKEVARS_USER="$root/tools/Makevars.strict" tools/install.sh

# The lanes `package`, which begin when the package is installed: the longest stages first. Tests of R code wait more
# than they compute; JOBS is how many are run at once. In a hurry the longest are left out.
full_package_stage package process 2300 env JOBS=2 Rscript tests/process/run.R
if [ "$quick" = yes ]; then
  package_stage package testthat 300 env JOBS=2 \
    Rscript tests/testthat-run.R '^(?!faults|json-read|.*-(faults|floods|later|times)$)'
else
  package_stage package testthat 1100 Rscript tests/testthat-run.R
fi
# Each test of processes once more, in one of the other ways to start a server: all of them are WAYS=all.
full_package_stage package process-ways 800 env WAYS=others JOBS=2 Rscript tests/process/run.R
full_package_stage package examples 260 Rscript tests/examples/run.R
full_package_stage package conformance 400 Rscript tests/conformance/run.R
# Messages and frames of WebSockets, as a client sends them that may break every rule.
full_package_stage package websocket 120 Rscript tests/websocket/run.R
full_package_stage package h2spec 120 tools/h2spec.sh
# The same requests to plumber or httpuv, and to drover.
full_package_stage package plumber 240 Rscript tests/plumber/run.R
# Public programs judge and use the descriptions of the examples.
full_package_stage package openapi 220 tools/openapi.sh
full_package_stage package browser 200 tools/browser.sh
full_package_stage package fuzz-json 60 Rscript tests/fuzz/json.R

# The longest that each lane can take. Where several share stages, one of them has begun the last when all were busy.
declare -A sum=([engine]=0 [install]=0 [package]=0)
longest=0
for i in "${!names[@]}"; do
  lane=${lane_of[$i]}
  if [ -z "${sum[$lane]:-}" ]; then fail "${names[$i]}: there is no lane '$lane', but ${!sum[*]}"; fi
  sum[$lane]=$((sum[$lane] + seconds_of[i]))
  if [ "$lane" = package ] && [ "${seconds_of[$i]}" -gt "$longest" ]; then longest=${seconds_of[$i]}; fi
done
sum[package]=$((sum[install] + (sum[package] - longest) / PACKAGE_LANES + longest))
for lane in "${!sum[@]}"; do
  if [ "${sum[$lane]}" -ge "$CI_LIMIT" ]; then
    fail "the stages of the lane $lane may take ${sum[$lane]} s until their limits, and CI's is $CI_LIMIT s"
  fi
done

chosen=0
for name in "${names[@]}"; do if is_selected "$name"; then chosen=$((chosen + 1)); fi; done
if [ "$chosen" -eq 0 ]; then fail "no stage is called '$selected'; there are: ${names[*]}"; fi
live=no
if [ "$chosen" -eq 1 ]; then live=yes; fi

for lane in engine install $(for ((i = 0; i < PACKAGE_LANES; i++)); do echo package; done); do
  run_lane "$lane" &
  lanes+=($!)
done
wait
lanes=()

passed=0
failed=0
whole_cpu=0
printf '\n== summary\n'
for name in "${names[@]}"; do
  if ! is_selected "$name"; then continue; fi
  # a stage without counts was never run to its end
  read -r p f s seconds cpu <<< "$(cat "$work/$name.counts" 2> /dev/null || echo 0 1 0 0 0)"
  printf '%-14s %6d passed %4d failed %4d skipped %5d s, %4d s of CPU\n' "$name" "$p" "$f" "$s" "$seconds" "$cpu"
  whole_cpu=$((whole_cpu + cpu))
  passed=$((passed + p))
  failed=$((failed + f))
done
# What failed once more, as what the stages said of it stands far above.
for name in "${names[@]}"; do
  if [ -e "$work/$name.output" ]; then
    what=$(grep -E '^(failed|only the second time|error|test .* FAILED)' "$work/$name.output" | head -n 20 || true)
    read -r _ f _ < "$work/$name.counts"
    if [ "$f" -gt 0 ] && [ -z "$what" ]; then what=$(tail -n 12 "$work/$name.output"); fi
    if [ -n "$what" ]; then printf '\n%s:\n%s\n' "$name" "$what"; fi
  fi
done
printf '\n%d s, %d s of CPU\n%d passed, %d failed\n' "$SECONDS" "$whole_cpu" "$passed" "$failed"
[ "$failed" -eq 0 ]
