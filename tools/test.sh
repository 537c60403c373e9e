#!/bin/bash
# Runs everything that must pass and counts: tools/test.sh [STAGE...]; all stages without arguments. With --quick only
# what finds most mistakes within three minutes. BUILD=release tests the build that users have, which takes longer to
# make (install.sh). The last line is "N passed, N failed" over all stages, and the exit status is 1 when anything
# failed. A stage that fails does not keep later ones from running. Each stage has a time that it is sure of, and may
# take longer, as long as those after it in its lane keep theirs: then it is ended, and counts as failed. What failed is
# run once more when all else is through (second-pass.sh); with STRICT=1 in the environment it counts as failed if it
# passes then, too.
#
# Stages stand in lanes, which run side by side: compilers keep one core busy while the tests of processes wait for most
# of their time. Compilers stand back for these, by a lower priority. What a stage prints is shown when it ends, or as
# it comes when only one stage was asked for.
#
# Not for which stages there are (stages.sh; TEST_STAGES in the environment names another file), nor for what one does:
# that is the stage's own runner. A runner says how it went in one of the forms that counts_of() knows; one that says
# nothing counts as one test, by its exit status.

quick=no
export BUILD=${BUILD:-test}
if [ "${1:-}" = --quick ]; then
  shift
  quick=yes
fi
. "$(dirname "$0")/lib.sh"

# What is built for all tests is built whole, which takes a quarter less time without what would help to build it again
# after a change: `make dev` and --quick have that.
if [ "$quick" = no ]; then export CARGO_INCREMENTAL=0; fi

# What CI gives the whole run, in seconds: no lane takes as long.
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
  end_stage
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

is_selected() { [ -z "$selected" ] || [[ " $selected " == *" $1 "* ]]; }

# How many seconds of CPU the stages of this lane have used: the children that its shell has waited for, and theirs.
cpu_time() {
  awk -v ticks="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print int(($14 + $15) / ticks) }' "/proc/$lane/stat"
}

# run_command NUMBER SECONDS OUTPUT: the command of a stage, for so long at most. Sets `status`, and what the output
# says: p, f and s.
run_command() {
  local counts command
  eval "command=(${command_of[$1]})"
  : > "$3"
  # `timeout` leads a process group of its own
  timeout --kill-after=10 "$2" "${command[@]}" < /dev/null > "$3" 2>&1 &
  running=$!
  if [ "$live" = yes ]; then
    # rather than through a pipe, which a process that the stage leaves behind would keep open
    tail --quiet --lines=+1 --follow --sleep-interval=0.2 --pid="$running" "$3" &
  fi
  status=0
  wait "$running" || status=$?
  end_stage
  wait
  counts=$(counts_of "$3")
  if [ -n "$counts" ]; then
    read -r p f s <<< "$counts"
    if [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then f=1; fi
  elif [ "$status" -eq 0 ]; then
    p=1 f=0 s=0
  else
    p=0 f=1 s=0
  fi
}

# Runs stage number $1, for $2 seconds at most: its output to a file, what failed to a folder, its row of the summary to
# another file.
run_stage() {
  local name=${names[$1]} limit=$2 started=$SECONDS output=$work/${names[$1]}.output cpu status p f s
  cpu=$(cpu_time)
  if [ "$live" = yes ]; then printf '\n== %s\n' "$name"; fi
  mkdir "$work/$name.failures"
  TEST_FAILURES=$work/$name.failures run_command "$1" "$limit" "$output"
  {
    flock 9
    if [ "$live" = no ]; then
      printf '\n== %s\n' "$name"
      cat "$output"
    fi
    if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then echo "$name: ended after $limit seconds"; fi
  } 9> "$work/lock"
  echo "$p $f $s $((SECONDS - started)) $(($(cpu_time) - cpu))" > "$work/$name.counts"
}

# Ends the stage that a lane runs.
running=""
end_stage() {
  if [ -n "$running" ]; then kill -TERM -- "-$running" 2> /dev/null || true; fi
  running=""
}

# Whether the stages of a lane test the installed package.
needs_package() { [ "$1" = package ] || [ "$1" = process ]; }

# run_lane NAME: its stages, one after the other. `left` is what is sure for those that come after one.
run_lane() {
  local i lane=$BASHPID left limit
  trap 'end_stage; exit 143' TERM
  trap - EXIT INT
  # A test that has to wait for a compiler fails sooner than one that has to wait for another test. At 3 a compiler has
  # a third of a core that something else wants whole; at 5, a quarter, and this lane ends last; at 15, a thirtieth:
  # beside other work it would never end.
  if [ "$1" = engine ]; then renice -n 3 -p "$lane" > /dev/null; fi
  # what is tested is this tree's package, and no other that is installed already
  if needs_package "$1" && [ -n "${sum[install]:-}" ] && is_selected install; then
    while [ ! -e "$work/install.counts" ]; do sleep 0.2; done
  fi
  left=${sum[$1]}
  for i in "${!names[@]}"; do
    if [ "${lane_of[$i]}" != "$1" ]; then continue; fi
    left=$((left - seconds_of[i]))
    if ! is_selected "${names[$i]}"; then continue; fi
    limit=$((END - left - SECONDS))
    run_stage "$i" $((limit > seconds_of[i] ? limit : seconds_of[i]))
  done
}

# shellcheck source=second-pass.sh
. tools/second-pass.sh

# shellcheck source=stages.sh
. "${TEST_STAGES:-tools/stages.sh}"

# When all lanes are through, in seconds since the start: a minute is for what takes a moment longer to end. What is
# sure from the begin of each lane: the times of its stages, and behind `install` the longest lane that waits for it.
END=$((CI_LIMIT - AGAIN_LIMIT - 60))
declare -A sum
for i in "${!names[@]}"; do
  sum[${lane_of[i]}]=$((${sum[${lane_of[i]}]:-0} + seconds_of[i]))
done
longest=0
for lane in "${!sum[@]}"; do
  if needs_package "$lane" && [ "${sum[$lane]}" -gt "$longest" ]; then longest=${sum[$lane]}; fi
done
if [ -n "${sum[install]:-}" ]; then sum[install]=$((sum[install] + longest)); fi
for lane in "${!sum[@]}"; do
  if [ "${sum[$lane]}" -gt "$END" ]; then
    fail "the stages from the lane $lane on are sure of ${sum[$lane]} s, and have $END s: CI's limit, less the second pass"
  fi
done

chosen=0
for name in "${names[@]}"; do if is_selected "$name"; then chosen=$((chosen + 1)); fi; done
if [ "$chosen" -eq 0 ]; then fail "no stage is called '$selected'; there are: ${names[*]}"; fi
live=no
if [ "$chosen" -eq 1 ]; then live=yes; fi

for lane in "${!sum[@]}"; do
  run_lane "$lane" &
  lanes+=($!)
done
wait
lanes=()
second_pass

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
    what=$(grep -E '^(failed|error|test .* FAILED)' "$work/$name.output" | head -n 20 || true)
    read -r _ f _ < "$work/$name.counts"
    if [ "$f" -gt 0 ] && [ -z "$what" ]; then what=$(tail -n 12 "$work/$name.output"); fi
    if [ -n "$what" ]; then printf '\n%s:\n%s\n' "$name" "$what"; fi
  fi
done
printf '\n%d s, %d s of CPU\n' "$SECONDS" "$whole_cpu"
if [ -s "$work/alone" ]; then
  printf '%d passed only alone:\n' "$(wc -l < "$work/alone")"
  sed 's/^/  /' "$work/alone"
fi
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
