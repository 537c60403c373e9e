# shellcheck shell=bash
# What tools/test.sh does when all stages are through: what failed beside others is run once more, by itself. A test
# that passes then is told apart from the others, as it hides a race or has too little patience, and what it said the
# first time is shown. Not a program: test.sh sources it.
#
# Runners write down by name what failed, and run what such a folder names (tests/lib/failures.R, tools/cargo-test.sh).
# A stage whose failures are not all written down, as it was ended or has no tests of its own, is not run again.

# More failures than this, in all stages, are no accident.
AGAIN_MOST=10

# How many seconds the second pass may take.
AGAIN_LIMIT=600

# Folder $1: what it says has failed, each name once.
failed_names() { find "$1" -type f -exec head --quiet --lines=1 {} + | sort --unique; }

# Whether there is something to be run again: the failures of all stages are few.
are_few() {
  local name failed=0 f _
  for name in "${names[@]}"; do
    read -r _ f _ < <(cat "$work/$name.counts" 2> /dev/null || echo 0 0 0)
    failed=$((failed + f))
  done
  if [ "$failed" -gt "$AGAIN_MOST" ]; then
    printf '\n%d failed, more than %d: they are not run again\n' "$failed" "$AGAIN_MOST"
  fi
  [ "$failed" -gt 0 ] && [ "$failed" -le "$AGAIN_MOST" ]
}

# Runs again what failed of stage number $1, for $2 seconds at most, and changes its row of the summary.
run_again() {
  local name=${names[$1]} first=$work/${names[$1]}.failures second=$work/${names[$1]}.second output=$work/again.output
  local passed failed skipped seconds cpu status p f s wanted
  read -r passed failed skipped seconds cpu < "$work/$name.counts"
  if [ "$failed" -eq 0 ] || [ "$(find "$first" -type f | wc -l)" -ne "$failed" ]; then return; fi
  wanted=$(failed_names "$first" | wc -l)
  printf '\n== %s, what failed, alone. It had said:\n' "$name"
  head --lines=60 "$first"/*
  mkdir "$second"
  echo "-- and now:"
  TEST_FAILURES=$second TEST_AGAIN=$first run_command "$1" "$2" "$output"
  if [ "$live" = no ]; then cat "$output"; fi
  # what has not been run has not passed
  if [ "$status" -ne 0 ] || [ -z "$(counts_of "$output")" ] || [ "$p" -lt "$wanted" ]; then
    echo "$name: failed again"
    return
  fi
  failed_names "$first" | sed "s/^/$name: /" >> "$work/alone"
  if [ "${STRICT:-0}" = 1 ]; then return; fi
  echo "$((passed + failed)) 0 $skipped $seconds $cpu" > "$work/$name.counts"
}

second_pass() {
  local i end=$((SECONDS + AGAIN_LIMIT))
  if ! are_few; then return; fi
  for i in "${!names[@]}"; do
    if [ -e "$work/${names[$i]}.failures" ] && [ "$SECONDS" -lt "$end" ]; then run_again "$i" "$((end - SECONDS))"; fi
  done
}
