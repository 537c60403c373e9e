#!/bin/bash
# What tools/test.sh makes of stages that fail, and what runners share for that: tests/lib/run.sh, from the root. Each
# case of tools/test.sh has stages of its own, whose tests are one line of shell each; failures.* and the limit of a
# test in wait.* are tried by themselves, and curl.R beside the program. Ends with "N passed, N failed". Not for the
# runners themselves.

set -eu
cd "$(dirname "$0")/../.."
# this may be a stage itself
unset TEST_FAILURES TEST_AGAIN STRICT
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
. tests/lib/report.sh

# A runner of tests that are told how each ends: NAME=pass, NAME=fail, or NAME=alone, which fails the first time.
cat > "$folder/runner" << 'EOF'
#!/bin/bash
p=0 f=0
for test in "$@"; do
  name=${test%=*} how=${test#*=}
  if [ -n "${TEST_AGAIN:-}" ]; then
    grep --quiet --line-regexp "$name" "$TEST_AGAIN"/* || continue
    if [ "$how" = alone ]; then how=pass; fi
  fi
  echo "ran $name"
  if [ "$how" = pass ]; then
    p=$((p + 1))
  else
    f=$((f + 1))
    printf '%s\nit was slow\n' "$name" > "$TEST_FAILURES/$name"
  fi
done
echo "$p passed, $f failed"
[ "$f" -eq 0 ]
EOF
chmod +x "$folder/runner"
export RUNNER=$folder/runner

# says TITLE STATUS PATTERN STAGES: what the run of these stages ends with and prints, the patterns one below the other.
# One that begins with "!" must not be there.
says() {
  local status=0 wrong="" pattern
  printf '%s\n' "$4" > "$folder/stages"
  TEST_STAGES=$folder/stages tools/test.sh > "$folder/output" 2>&1 || status=$?
  if [ "$status" -ne "$2" ]; then wrong="its exit status is $status"; fi
  while read -r pattern; do
    case $pattern in
      !*) if grep --quiet -E "${pattern#!}" "$folder/output"; then wrong="$wrong; there is '${pattern#!}'"; fi ;;
      *) if ! grep --quiet -E "$pattern" "$folder/output"; then wrong="$wrong; there is no '$pattern'"; fi ;;
    esac
  done <<< "$3"
  report "$1" "$wrong" "$folder/output"
}

# shellcheck disable=SC2016 # for the shell that reads the stages
{
  says "what passes is not run again" 0 '^3 passed, 0 failed$
!alone' 'stage engine one 20 "$RUNNER" a=pass b=pass
stage package two 20 "$RUNNER" c=pass'
  says "what passes alone has passed, and is named with what it said" 0 '^4 passed, 0 failed$
^2 passed only alone:$
^  one: b$
^  two: c$
it was slow' 'stage engine one 20 "$RUNNER" a=pass b=alone
stage package two 20 "$RUNNER" c=alone d=pass'
  STRICT=1 says "STRICT=1 makes that a failure" 1 '^1 passed, 1 failed$
^1 passed only alone:$' 'stage engine one 20 "$RUNNER" a=pass b=alone'
  says "what fails again has failed" 1 '^one: failed again$
^2 passed, 1 failed$
!only alone' 'stage engine one 20 "$RUNNER" a=pass b=fail c=pass'
  says "more than ten are not run again" 1 '^11 failed, more than 10
^0 passed, 11 failed$' 'stage engine one 20 "$RUNNER" a=alone b=alone c=alone d=alone e=alone f=alone
stage package two 20 "$RUNNER" g=alone h=alone i=alone j=alone k=alone'
  says "a stage that says no names is not run again" 1 '^0 passed, 1 failed$
!alone' 'stage engine one 20 false'
  says "nor is one that is ended at its limit" 1 'one: ended after 1 seconds
^0 passed, 1 failed$
!alone' 'CI_LIMIT=661
stage engine one 1 sleep 30'
  says "a stage takes what there is, but for what those after it are sure of" 1 'two: ended after [1-6] seconds
!(one|three): ended
^2 passed, 1 failed$' 'CI_LIMIT=670
stage engine one 1 sleep 2
stage engine two 1 sleep 30
stage engine three 2 true'
  says "so does install, and those that wait for it" 1 'install: ended after [2-4] seconds
!two: ended
^1 passed, 1 failed$' 'CI_LIMIT=666
stage install install 1 sleep 30
stage package two 2 true'
  says "stages that are sure of more than there is are refused" 1 'from the lane install on are sure of 120 s, and have 100
!passed' 'CI_LIMIT=760
stage install install 60 true
stage package two 60 true'
  says "a second run that runs nothing is no pass" 1 '^one: failed again$
^0 passed, 1 failed$' \
    'stage engine one 20 sh -c "if [ -z \"\$TEST_AGAIN\" ]; then echo a > \$TEST_FAILURES/a; echo \"0 passed, 1 failed\"; fi"'
}

# writes_down TITLE COMMAND...: a program that has two tests, writes down that the first has failed, and runs it again.
writes_down() {
  local title=$1 wrong=""
  shift
  rm -rf "$folder/first"
  mkdir "$folder/first"
  TEST_FAILURES=$folder/first "$@" note > "$folder/output" 2>&1 || wrong="nothing is written down"
  if [ "$(cat "$folder/first"/*)" != $'ä test | of two\nwhat it said' ]; then wrong="something else is written down"; fi
  if [ "$("$@" asked)" != "TRUE TRUE" ]; then wrong="not all is run without TEST_AGAIN"; fi
  if [ "$(TEST_AGAIN=$folder/first "$@" asked)" != "TRUE FALSE" ]; then wrong="something else is run again"; fi
  report "$title" "$wrong" "$folder/output"
}

writes_down "failures.R writes failures down" Rscript -e '
  source("tests/lib/failures.R")
  if (commandArgs(TRUE) == "note") note_failure("\u00e4 test | of two", "what it said")
  if (commandArgs(TRUE) == "asked") cat(to_be_run(c("\u00e4 test | of two", "another")))'
writes_down "failures.py writes failures down" python3 -B -c '
import sys; sys.path.insert(0, "tests/lib")
import failures
if sys.argv[1] == "note": failures.note("\u00e4 test | of two", "what it said")
if sys.argv[1] == "asked":
  print(*(str(failures.to_be_run(name)).upper() for name in ["\u00e4 test | of two", "another"]))'

# has_limit TITLE COMMAND...: a program of five tests, two of which do not end; one of these takes the end for an error
# of its own. One has an error, and one says that it may take longer than the limit, which is short here.
has_limit() {
  local title=$1 wrong=""
  shift
  timeout 60 "$@" > "$folder/output" 2>&1 || wrong="its exit status is $?"
  if ! diff <(sed -E 's/its [0-9.]+ s \([0-9]+ s on this machine\)/its limit/' "$folder/output") - > "$folder/differs" << 'EOF'; then
passed
it took longer than its limit
it took longer than its limit
an error
passed
EOF
    wrong="$wrong; something else is said"
  fi
  report "$title" "$wrong" "$folder/output"
}

has_limit "wait.R ends a test at its limit" Rscript -e '
  source("tests/lib/wait.R")
  slack <- function() 1
  try_one <- function(test) cat(tryCatch({
    limited(function() {
      may_take(0.1)
      test()
    })
    "passed"
  }, error = conditionMessage), "\n", sep = "")
  try_one(function() 1)
  try_one(function() repeat NULL)
  try_one(function() tryCatch(repeat NULL, error = function(e) NULL))
  try_one(function() stop("an error"))
  try_one(function() {
    may_take(60)
    let_pass(1)
  })'
has_limit "wait.py ends a test at its limit" python3 -B -c '
import sys; sys.path.insert(0, "tests/lib")
import wait
wait.slack = lambda: 1
def endless():
  while True: pass
def deaf():
  try: endless()
  except Exception: pass
def wrong(): raise ValueError("an error")
def long():
  wait.may_take(60)
  wait.let_pass(2)
for test in (lambda: 1, endless, deaf, wrong, long):
  try:
    with wait.Limit():
      wait.may_take(1)
      test()
    print("passed", flush=True)
  except Exception as error:
    print(error, flush=True)'

wrong=""
python3 -B tests/lib/curl-cases.py > "$folder/output" 2>&1 || wrong="its exit status is $?"
report "curl.R sends what the program sends" "$wrong" "$folder/output"

summary
